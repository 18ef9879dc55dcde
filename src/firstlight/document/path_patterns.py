"""The patterns of rules: ways to fields, kinds, names and paths of files, each as a regular expression."""

import re
from collections.abc import Iterable

_END = "\x1f"
"""Stands behind every step of a way."""
_STEP = re.compile(r'"(?P<quoted>[^"]*)"|(?P<item>\[[^\]]*\])|(?P<plain>[^."\[\]]+)')


def joined(steps: Iterable[str]) -> str:
    """A way to a field as one text, which ``way`` makes expressions for."""
    return "".join(f"{each}{_END}" for each in steps)


def split(text: str) -> tuple[str, ...]:
    """A way as people write it, in steps: ``a.b[name=x]."c.d"``.

    Raises:
        ValueError: It cannot be read; the message says why.
    """
    steps: list[str] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"{text[position:]!r} begins with no step")
        steps.append(match["quoted"] if match["quoted"] is not None else match[0])
        position = match.end()
        if position < len(text) and text[position] == ".":
            position += 1
            if position == len(text):
                raise ValueError("it ends with a dot")
        elif position < len(text) and text[position] != "[":
            raise ValueError(f"there is no dot before {text[position:]!r}")
    if not steps:
        raise ValueError("it is empty")
    return tuple(steps)


def ways(texts: Iterable[str]) -> re.Pattern[str] | None:
    """One expression for several ways: ``*`` is one step, ``**`` any number of them; None where there is none.

    Raises:
        ValueError: One of them cannot be read.
    """
    return _either(_way(split(text)) for text in texts)


def kinds(texts: Iterable[str]) -> re.Pattern[str] | None:
    """One expression for ``group/Kind`` with stars."""
    return _either(_glob(text, "[^/]*") for text in texts)


def names(texts: Iterable[str]) -> re.Pattern[str] | None:
    """One expression for names with stars."""
    return _either(_glob(text, ".*") for text in texts)


def files(texts: Iterable[str]) -> re.Pattern[str] | None:
    """One expression for paths of files: ``*`` stays in a directory, ``**`` does not."""
    return _either(_file(text) for text in texts)


def _either(expressions: Iterable[str]) -> re.Pattern[str] | None:
    found = [f"(?:{each})" for each in expressions]
    return re.compile("|".join(found), re.DOTALL) if found else None


def _way(steps: Iterable[str]) -> str:
    anything = f"(?:[^{_END}]*{_END})*"
    found = [anything if each == "**" else _glob(each, f"[^{_END}]*") + _END for each in steps]
    # Two in a row mean no more than one, and would take far longer.
    return "".join(
        each for number, each in enumerate(found) if each != anything or found[number - 1 : number] != [each]
    )


def _glob(text: str, star: str) -> str:
    return star.join(re.escape(each) for each in re.sub(r"\*+", "*", text).split("*"))


def _file(text: str) -> str:
    parts = re.split(r"(\*\*/|\*+)", text)
    meaning = {"**/": "(?:[^/]*/)*", "*": "[^/]*"}
    return "".join(meaning.get(each, ".*" if each.startswith("**") else re.escape(each)) for each in parts)
