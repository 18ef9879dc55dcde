"""What talosctl says, without what it must not repeat.

It quotes machine configs in its messages: keys that it does not know come with their values, and a change that needs
a reboot comes with a diff of the whole. So its standard error is masked before anybody sees it: by the look of keys
and tokens, and by the values that it was given.
"""

import re
from collections.abc import Iterable

from firstlight.model.secret import MASK, Secret

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b")
_DIFF = re.compile(r"\n(?:diff:|--- a\b).*", re.DOTALL)
_UNKNOWN_KEYS = re.compile(r"(unknown keys found during decoding:\n)(.*?)(?=\n\s*\n|\Z)", re.DOTALL)
_WRONG_TYPE = re.compile(r"(cannot (?:unmarshal|decode|construct) \S+) `.*?`(?= into |\n|\Z)", re.DOTALL)
"""go-yaml quotes a value of a wrong type, shortened to its first seven letters, so that it is not found as a whole."""
_KEY_AND_VALUE = re.compile(r"^(?P<indent>\s*)(?P<before>(?:- )?[^\s:\"'][^:\n]*:|- )\s*(?P<value>\S.*)$")
_SENSITIVE = re.compile(
    r"""(?i)^[\s-]*["']?[\w.-]*(?:key|token|secret|password|passphrase|auth|identity)\w*["']?:\s*(\S.*)$"""
)
_SHORTEST = 4
"""Values that are shorter are parts of too many words."""
_HARMLESS = re.compile(r"true|false|null|~|[0-9]+")


def text(said: str, *, given: Iterable[Secret] = ()) -> str:
    """A message in which secrets are masked.

    Args:
        said: What the program printed.
        given: What it was fed, whose sensitive values must not come back.
    """
    said = _DIFF.sub(f"\n{MASK}", said)
    said = _UNKNOWN_KEYS.sub(lambda match: match[1] + _keys_only(match[2]), said)
    said = _WRONG_TYPE.sub(lambda match: f"{match[1]} {MASK}", said)
    said = _PEM.sub(MASK, said)
    said = _TOKEN.sub(MASK, said)
    said = _BASE64.sub(lambda match: MASK if _is_random(match[0]) else match[0], said)
    for value in sorted(_values(given), key=len, reverse=True):
        said = said.replace(value, MASK)
    return said


def _is_random(run: str) -> bool:
    """Whether a run of letters looks like a key: paths and digests lack capitals, words lack digits."""
    return any(c.islower() for c in run) and any(c.isupper() for c in run) and any(c.isdigit() for c in run)


def _keys_only(block: str) -> str:
    """A block of YAML whose keys stay and whose values do not."""
    lines = []
    for line in block.split("\n"):
        match = _KEY_AND_VALUE.match(line)
        if match is not None:
            lines.append(f"{match['indent']}{match['before'].rstrip()} {MASK}")
        elif line.rstrip().endswith(":") or not line.strip():
            lines.append(line)
        else:
            lines.append(MASK)
    return "\n".join(lines)


def _values(given: Iterable[Secret]) -> set[str]:
    found = set()
    for secret in given:
        for line in secret.reveal().decode(errors="replace").splitlines():
            match = _SENSITIVE.match(line)
            value = match[1].strip().strip("\"'") if match else ""
            if len(value) >= _SHORTEST and not _HARMLESS.fullmatch(value):
                found.add(value)
    return found
