"""YAML that strangers wrote: read as Kubernetes reads it or refused, but never the end of this process."""

from typing import Any

from firstlight.document import reading
from firstlight.model.remark import Grade, Remark


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
