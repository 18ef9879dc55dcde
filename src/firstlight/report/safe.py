"""Text of strangers, made safe for a terminal: object names, log lines and messages may carry escape sequences."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def text(value: str) -> str:
    """The same text with control characters shown, not obeyed; tabs and line ends stay."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", value)
