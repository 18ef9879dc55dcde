"""Where an inline manifest stands in a file: Talos configs and patches, Omni templates, talhelper's file.

A patch may be a text inside of another file. So a target is a way of several stretches, each through one text.
"""

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import reading
from firstlight.document.reading import Dialect, Document
from firstlight.model.remark import Grade
from firstlight.repo.talos import files, kinds

Step = str | int
_DEEP = 2
"""Texts inside of texts: a patch in a template, and none in that."""
_DOCUMENT_OF_1_14 = "KubeInlineManifestConfig"
_LISTS = "inlineManifests"


class Form(enum.Enum):
    """In which form the objects are written."""

    TEXT = "text"
    OBJECTS = "objects"
    """A list of them, as Omni's ``kubernetes.manifests`` has it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """A way through one text: to a text inside, or at the end to the value that is meant."""

    document: int
    steps: tuple[Step, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An inline manifest of a file."""

    way: tuple[Stretch, ...]
    """To the entry: the mapping with name and contents."""
    key: str
    """What holds the objects in it."""
    form: Form
    entry: Mapping[str, Any] = dataclasses.field(repr=False)
    is_omni: bool = False
    """Whether Omni's server applies it."""

    @property
    def value(self) -> Any:
        """The contents as they are written."""
        return self.entry.get(self.key)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of inline manifests."""

    way: tuple[Stretch, ...]
    """To the list."""
    entries: Sequence[Any] = dataclasses.field(repr=False)
    is_omni: bool = False

    def targets(self) -> Iterator[Target]:
        """The manifests of the list."""
        *before, last = self.way
        for index, entry in enumerate(self.entries):
            if isinstance(entry, Mapping):
                way = (*before, Stretch(last.document, (*last.steps, index)))
                key = "inline" if self.is_omni else "contents"
                is_text = not self.is_omni or isinstance(entry.get(key), str)
                form = Form.TEXT if is_text else Form.OBJECTS
                yield Target(way=way, key=key, form=form, entry=entry, is_omni=self.is_omni)


def documents(text: str, path: str) -> tuple[Document, ...]:
    """The documents of a file, as Talos reads them.

    Raises:
        errors.ConfigError: It is a template, is encrypted, or is no YAML.
    """
    if files.is_template(path):
        hint = "Put the inline manifest into a patch of its own, and name that where the template is used."
        raise errors.ConfigError("a template is not edited: its braces would be the template's", path=path, hint=hint)
    contents = reading.read_text(text.removeprefix("\ufeff"), path, dialect=Dialect.TALOS)
    for remark in contents.remarks:
        if remark.grade is Grade.ERROR:
            raise errors.ConfigError(remark.message, path=path, line=remark.place.line, hint=remark.hint)
    for document in contents.documents:
        if kinds.is_encrypted(document.value):
            hint = "Keep inline manifests in a patch of their own, which need not be encrypted."
            message = "sops signs the whole of this document, so that an edit would make it unreadable"
            raise errors.ConfigError(message, path=path, line=document.line, hint=hint)
    return contents.documents


def find(text: str, name: str, *, path: str = "") -> Target | None:
    """The inline manifest of this name.

    Raises:
        errors.ConfigError: The file cannot be edited, the name is there twice, or its objects stand elsewhere.
    """
    found = [each for each in everything(text, path) if each.entry.get("name") == name]
    places = [place(text, each, path) for each in found]
    if len(found) > 1:
        listed = " and ".join(str(each) for each in places)
        message = f"the inline manifest {name} is there twice, in lines {listed}: Talos refuses that"
        raise errors.ConfigError(message, path=path, line=places[-1], hint="Take one away.")
    for target, line in zip(found, places, strict=True):
        _check(target, name, path, line)
    return found[0] if found else None


def everything(text: str, path: str = "") -> list[Target]:
    """All inline manifests of a file.

    Raises:
        errors.ConfigError: The file cannot be edited.
    """
    found: list[Target] = []
    for document in documents(text, path):
        value = document.value
        if isinstance(value, Mapping) and value.get("kind") == _DOCUMENT_OF_1_14:
            way = (Stretch(document.index, ()),)
            found.append(Target(way=way, key="manifest", form=Form.TEXT, entry=value))
        for listing in listings(document):
            found += listing.targets()
        found += _of_json_patch(document)
    return found


def listings(document: Document, before: tuple[Stretch, ...] = ()) -> Iterator[Listing]:
    """The lists of inline manifests in a document, those in texts of it too."""
    waiting: list[tuple[tuple[Step, ...], Any]] = [((), document.value)]
    while waiting:
        steps, value = waiting.pop()
        items: Iterator[tuple[Step, Any]]
        if isinstance(value, Mapping):
            items = iter(value.items())
        elif isinstance(value, list):
            items = enumerate(value)
        else:
            continue
        inner: list[tuple[tuple[Step, ...], Any]] = []
        for step, child in items:
            here = (*steps, step)
            way = (*before, Stretch(document.index, here))
            if step == _LISTS and isinstance(child, list):
                yield Listing(way=way, entries=child)
            elif here == ("kubernetes", "manifests") and kinds.is_omni(document.value) and isinstance(child, list):
                yield Listing(way=way, entries=child, is_omni=True)
            elif isinstance(child, str):
                if _LISTS in child and len(before) < _DEEP:
                    for each in reading.read_text(child, "", dialect=Dialect.TALOS).documents:
                        yield from listings(each, way)
            else:
                inner.append((here, child))
        waiting += reversed(inner)


def _of_json_patch(document: Document) -> Iterator[Target]:
    """What operations of a JSON patch add: one manifest, or a list of them."""
    for index, entry in enumerate(document.value if isinstance(document.value, list) else ()):
        if not isinstance(entry, Mapping) or entry.get("op") not in {"add", "replace"}:
            continue
        steps = str(entry.get("path")).split("/")[1:]
        way = (Stretch(document.index, (index, "value")),)
        value = entry.get("value")
        if steps[:2] == ["cluster", _LISTS] and len(steps) == 3 and isinstance(value, Mapping):
            yield Target(way=way, key="contents", form=Form.TEXT, entry=value)
        elif steps == ["cluster", _LISTS] and isinstance(value, list):
            yield from Listing(way=way, entries=value).targets()


def _check(target: Target, name: str, path: str, line: int) -> None:
    """Refuse what is no place for objects."""

    def refuse(message: str, hint: str) -> None:
        raise errors.ConfigError(message, path=path, line=line, hint=hint)

    value = target.value
    if target.entry.get("$patch") == "delete":
        refuse(f"here {name} is taken away", "Name the file that brings it, or take this entry out.")
    if target.is_omni and target.entry.get("file"):
        file = target.entry["file"]
        refuse(f"the objects of {name} stand in {file}", f"Write them there: firstlight render … > {file}")
    if isinstance(value, str) and value.startswith("@"):
        refuse(f"the objects of {name} stand in {value[1:]}", f"Write them there: firstlight render … > {value[1:]}")
    if isinstance(value, str) and value.startswith("ENC["):
        refuse(f"the contents of {name} are encrypted", "Keep inline manifests in a patch that is not encrypted.")


def place(text: str, target: Target, path: str = "") -> int:
    """The line of the file where a manifest stands; of one in a text, that of the text."""
    first = target.way[0]
    for document in reading.read_text(text.removeprefix("\ufeff"), path, dialect=Dialect.TALOS).documents:
        if document.index == first.document:
            return document.place(*first.steps).line if first.steps else document.line
    return 0
