"""YAML that strangers wrote: read as Kubernetes reads it or refused, but never the end of this process."""

import re
from typing import Any

from firstlight.document import reading
from firstlight.model.remark import Grade, Remark

_PLAIN_SIZE = 1 << 20
_ALIAS = re.compile(rb"(?:^|[\s\[{,:])\*[^\s*]")
_BRACKETS = 1000
_INDENTED = (b" " * 200, b"- " * 100)


class Unreadable(ValueError):
    """A text that is not YAML, or means something that only its author knows."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(f"it is not YAML: {remark.message}")
        self.remark = remark


def load_all(text: str | bytes) -> list[Any]:
    """Every document of a text, empty ones as None.

    Raises:
        ValueError: It cannot be read; ``problem_of`` says where.
    """
    data = text.encode("utf-8", errors="surrogatepass") if isinstance(text, str) else text
    contents = reading.read(data, "")
    for remark in contents.remarks:
        if remark.grade is not Grade.WARNING:
            raise Unreadable(remark)
    values: list[Any] = [None] * contents.count
    for document in contents.documents:
        values[document.index] = document.value
    return values


def problem_of(error: ValueError) -> tuple[str, int]:
    """What is wrong, and in which line; 0 if that is not known."""
    if isinstance(error, Unreadable):
        return error.remark.message, error.remark.place.line
    return str(error), 0


def refused(data: bytes) -> tuple[str, int] | None:
    """Why our reader does not take a file that other programs might choke on, and in which line.

    Most files are too plain for that and are not even parsed: they are small, flat, and have neither aliases nor
    directives. What is only a mistake in them is told by the program that reads them.
    """
    is_plain = (
        len(data) <= _PLAIN_SIZE
        and b"%TAG" not in data
        and data.count(b"[") + data.count(b"{") <= _BRACKETS
        and not any(each in data for each in _INDENTED)
        and not (b"&" in data and _ALIAS.search(data))
    )
    if is_plain:
        return None
    remarks = reading.read(data, "").remarks
    return next(((each.message, each.place.line) for each in remarks if each.grade is Grade.ERROR), None)
