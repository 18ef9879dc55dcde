"""Names of values that hold secrets, and texts that stand where a secret is to be put in."""

import re
from typing import Any

_SECRET = re.compile(
    r"pass(word|phrase|wd)?$|token$|secret(key)?$|api[-_]?key$|private[-_]?key$|access[-_]?key|credentials?$", re.I
)
_PLACEHOLDER = re.compile(
    r"\s*(?:<[\w .:/-]{1,80}>|[-_ \w]*\b(?:replace[-_ ]?(?:me|this)|change[-_ ]?(?:me|this|it)|placeholder)\b[-_ \w]*"
    r"|placeholder[-_\w]*|(?:please[-_])?replace[-_](?:with|me|by)[-_\w]*|your[-_](?:[^\W_]+[-_])*(?:token|password|secret|key)(?:[-_]here)?"
    r"|(?:insert|put|fill)[-_]\w+[-_]here|todo|tbd|x{4,})\s*",
    re.I,
)
_LONGEST = 200
"""Characters; what is longer is no placeholder, and would keep the expression busy."""


def is_secret(name: str) -> bool:
    """Whether a key of this name holds a secret."""
    return bool(_SECRET.search(name))


def is_placeholder(value: Any) -> bool:
    """Whether a text only says that something has to be put in its place."""
    return isinstance(value, str) and len(value) <= _LONGEST and bool(_PLACEHOLDER.fullmatch(value))
