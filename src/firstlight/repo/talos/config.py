"""One document that goes into machine configs, wherever it is written: a file, a text in another file, a JSON patch."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.repo.go_template import unknown
from firstlight.repo.talos import embedded
from firstlight.repo.talos.embedded import Step
from firstlight.repo.talos.files import TalosFile

DELETE = "$patch"
"""The key of Talos's strategic merge patches that takes something away."""


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """A document of machine config, or a part of another document that is one."""

    value: Any = dataclasses.field(repr=False)
    document: Document = dataclasses.field(repr=False)
    file: TalosFile = dataclasses.field(repr=False)
    prefix: tuple[Step, ...] = ()
    """The way to it in the document."""
    skipped: int = 0
    """Steps of its own that the document does not have: those of a JSON pointer."""

    def place(self, *steps: Step) -> Place:
        """Where a value stands, or the nearest parent that exists."""
        return self.document.place(*self.prefix, *steps[self.skipped :])

    def way(self, *steps: Step) -> tuple[Document, tuple[Step, ...]]:
        """The document of the file, and the way from there to a value."""
        return embedded.way(self.document, (*self.prefix, *steps[self.skipped :]))

    def inside(self, text: str, *steps: Step) -> embedded.Contents:
        """The documents in a text."""
        return embedded.read(self.document, (*self.prefix, *steps[self.skipped :]), text)

    def get(self, *steps: Step) -> Any:
        """A value; None where there is none, or where it is taken away."""
        value = self.value
        for step in steps:
            if isinstance(value, Mapping) and value.get(DELETE) != "delete":
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return None if isinstance(value, Mapping) and value.get(DELETE) == "delete" else value

    def text(self, *steps: Step) -> str:
        """A text that is known; empty where there is none."""
        return text_of(self.get(*steps))

    def texts(self, *steps: Step) -> tuple[str, ...]:
        """A list of texts; empty unless all of them are known."""
        value = self.get(*steps)
        found = [text_of(each) for each in value] if isinstance(value, list) else []
        return tuple(found) if all(found) else ()

    def flag(self, *steps: Step) -> bool | None:
        """A truth value, if it is known."""
        value = self.get(*steps)
        return value if isinstance(value, bool) else None

    def items(self, *steps: Step) -> Iterator[tuple[int, Any]]:
        """The entries of a list, numbered."""
        value = self.get(*steps)
        yield from enumerate(value) if isinstance(value, list) else ()

    def shown(self, text: str) -> str:
        """A text with the expressions of a template back in it."""
        return self.file.shown(text)

    def is_conditional(self, *steps: Step) -> bool:
        """Whether a value is there only under a condition of a template."""
        return self.place(*steps).line in self.file.conditional


def text_of(value: Any) -> str:
    """A scalar as text; empty if it is none, or not known, or encrypted."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    text = str(value)
    return "" if unknown.has_mark(text) or text.startswith("ENC[") else text


def of_document(document: Document, file: TalosFile) -> list[Config]:
    """The configs of a document: itself, or one for each operation of a JSON patch."""
    if isinstance(document.value, list):
        found = (_operation(entry, index, document, file) for index, entry in enumerate(document.value))
        return [each for each in found if each is not None]
    return [Config(document.value, document, file)]


def _operation(entry: Any, index: int, document: Document, file: TalosFile) -> Config | None:
    """What an ``add`` or ``replace`` of a JSON patch says, as if it were written in its place."""
    if not isinstance(entry, Mapping) or str(entry.get("op")) not in {"add", "replace"}:
        return None
    steps = pointer(entry.get("path"))
    value = entry.get("value")
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return Config(value, document, file, (index, "value"), skipped=len(steps))


def pointer(path: Any) -> tuple[Step, ...]:
    """The steps of a JSON pointer; an index is the only entry of the list that is seen here."""
    parts = str(path).split("/")[1:] if isinstance(path, str) else []
    return tuple(
        0 if part == "-" or part.isdecimal() else part.replace("~1", "/").replace("~0", "~") for part in parts[:20]
    )


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; an empty one where something else stands."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """A list; an empty one where something else stands."""
    return value if isinstance(value, list) else []
