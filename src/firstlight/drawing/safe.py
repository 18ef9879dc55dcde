"""Text of strangers, made safe to show: object names and messages may carry escape sequences, and URLs passwords."""

import re
from typing import Any

import msgspec

from firstlight.model import remote_url

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    # What turns the direction of writing, ends a line, or is not seen: a name would read as another one.
    r"\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff\ud800-\udfff]"
)


_UNSEEN = re.compile(f"{_CONTROL.pattern}|[\\u200c\\u200d]")
"""The same with joiners, which some languages write: text keeps them, and JSON loses nothing by an escape."""


def text(value: str) -> str:
    """The text with control characters shown, not obeyed, and URLs without credentials; tabs and line ends stay."""
    return _CONTROL.sub(lambda match: _shown(ord(match.group())), remote_url.without_credentials(value))


def name(value: str) -> str:
    """The name of something, which is on one line: line ends and tabs are shown as well."""
    return text(value).replace("\n", "\\n").replace("\t", "\\t")


def _shown(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json(value: Any, *, indent: int = 0) -> str:
    """Data as JSON that says what it says and does nothing to a terminal: what is not seen is escaped.

    Args:
        value: What ``msgspec`` can encode.
        indent: Spaces for each level; 0 for everything on one line.
    """
    encoded = msgspec.json.encode(data(msgspec.to_builtins(value)))
    return escaped(msgspec.json.format(encoded, indent=indent) if indent else encoded)


def escaped(encoded: bytes) -> str:
    """JSON with escapes for what is not seen, or turns the direction of writing; a program reads the same in it."""
    # Such letters are only ever within strings, where an escape stands for them.
    return _UNSEEN.sub(lambda match: _units(match.group()), encoded.decode())


def _units(letter: str) -> str:
    """A letter as JSON escapes it: in units of UTF-16. A line's end within JSON is its layout."""
    if ord(letter) < 0x20:
        return letter
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def data(value: Any) -> Any:
    """The same data, for JSON, with no credentials in URLs, and in letters that UTF-8 has."""
    match value:
        case str():
            shown = remote_url.without_credentials(value) if "@" in value else value
            return shown if shown.isprintable() else shown.encode("utf-8", "replace").decode()
        case dict():
            return {data(key): data(each) for key, each in value.items()}
        case list() | tuple():
            return [data(each) for each in value]
        case _:
            return value
