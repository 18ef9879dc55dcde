"""Lines of Terraform whose values are secret by what stands around them: whose variable it is, a name beside it."""

import re
from collections.abc import Iterable, Sequence

from firstlight.repo.changing import secret_names
from firstlight.repo.changing.lines import Line

SUFFIXES = (".tf", ".tfvars", ".tofu", ".hcl")
_HEADER = re.compile(r"\b(?:variable|output)\s+\"?(?P<label>[\w.-]+)\"?\s*\{|(?P<name>[\w.-]+)\"?\s*[=:]\s*\{")
"""What a block is of."""
_NAMED = re.compile(r"\b(?:name|key)\"?\s*[=:]\s*\"(?P<name>[^\"]*)\"")
"""What tells in a block what its value is of."""
_SENSITIVE = re.compile(r"\bsensitive\s*=\s*true\b")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"")
_BRACE = re.compile(r"[{}]")


def hidden(found: Sequence[Line]) -> list[Line]:
    """Lines, with those marked that are part of a block which is about a secret."""
    secret: set[int] = set()
    blocks: list[list[int]] = []
    for at, line in enumerate(found):
        if blocks:
            blocks[-1].append(at)
        for brace in _BRACE.findall(_QUOTED.sub('""', line.text)):
            if brace == "{":
                blocks.append([at])
            elif blocks:
                secret |= _hidden(blocks.pop(), found, at + 1)
    for block in blocks:  # those that are never closed
        secret |= _hidden(block, found, len(found))
    return [each._replace(is_hidden=True) if at in secret else each for at, each in enumerate(found)]


def _hidden(block: Sequence[int], found: Sequence[Line], end: int) -> set[int]:
    return set(range(block[0], end)) if _is_secret(found[each] for each in block) else set()


def _is_secret(lines: Iterable[Line]) -> bool:
    """Whether a block is about a secret, by its own lines, of which the first has what it is of."""
    first, *rest = (each.text for each in lines)
    headers = [match["label"] or match["name"] for match in _HEADER.finditer(first)]
    names = [match["name"] for text in (first, *rest) for match in _NAMED.finditer(text)]
    is_told = any(secret_names.is_secret(each) for each in (*headers, *names))
    return is_told or any(_SENSITIVE.search(text) for text in (first, *rest))
