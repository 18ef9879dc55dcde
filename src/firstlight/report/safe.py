"""Text of strangers, made safe to show: object names and messages may carry escape sequences, and URLs passwords."""

import re
from typing import Any

from firstlight.model import remote_url

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def text(value: str) -> str:
    """The text with control characters shown, not obeyed, and URLs without credentials; tabs and line ends stay."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", remote_url.without_credentials(value))


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
