"""Text of strangers, made safe to show: object names and messages may carry escape sequences, and URLs passwords."""

import re
from typing import Any

from firstlight.model import remote_url

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    # What turns the direction of writing, ends a line, or is not seen: a name would read as another one.
    r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def text(value: str) -> str:
    """The text with control characters shown, not obeyed, and URLs without credentials; tabs and line ends stay."""
    return _CONTROL.sub(lambda match: _shown(ord(match.group())), remote_url.without_credentials(value))


def name(value: str) -> str:
    """The name of something, which is on one line: line ends and tabs are shown as well."""
    return text(value).replace("\n", "\\n").replace("\t", "\\t")


def _shown(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def data(value: Any) -> Any:
    """The same data, for JSON, with no credentials in URLs; JSON escapes control characters itself."""
    match value:
        case str():
            return remote_url.without_credentials(value) if "@" in value else value
        case dict():
            return {data(key): data(each) for key, each in value.items()}
        case list() | tuple():
            return [data(each) for each in value]
        case _:
            return value
