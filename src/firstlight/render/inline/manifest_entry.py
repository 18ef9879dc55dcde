"""Find inline manifests in a file: in Talos configs and patches, Omni templates and talhelper's file."""

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDialect, YamlDocument
from firstlight.model import talos_documents
from firstlight.model.diagnostic import Severity
from firstlight.repo.talos import config_files, document_kinds

# A patch may be a text inside of another file. So a target is a way of several stretches, each through one text.


Step = str | int
_DEEP = 2
"""Texts inside of texts: a patch in a template, and none in that."""
LIST = "inlineManifests"


class EntryForm(enum.Enum):
    """In which form the objects are written."""

    TEXT = "text"
    OBJECTS = "objects"
    """A list of them, as Omni's ``kubernetes.manifests`` has it."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextPath:
    """A way through one text: to a text inside, or at the end to the value that is meant."""

    document: int
    steps: tuple[Step, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    """An inline manifest of a file."""

    way: tuple[TextPath, ...]
    """To the entry: the mapping with name and contents."""
    key: str
    """What holds the objects in it."""
    form: EntryForm
    entry: Mapping[str, Any] = dataclasses.field(repr=False)
    is_omni: bool = False
    """Whether Omni's server applies it."""

    @property
    def value(self) -> Any:
        """The contents as they are written."""
        return self.entry.get(self.key)

    @property
    def is_deletion(self) -> bool:
        """Whether it takes a manifest away."""
        return bool(self.entry.get("$patch") == "delete")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ManifestListing:
    """A list of inline manifests."""

    way: tuple[TextPath, ...]
    """To the list."""
    entries: Sequence[Any] = dataclasses.field(repr=False)
    is_omni: bool = False

    def targets(self) -> Iterator[ManifestEntry]:
        """The manifests of the list."""
        *before, last = self.way
        for index, entry in enumerate(self.entries):
            if isinstance(entry, Mapping):
                way = (*before, TextPath(last.document, (*last.steps, index)))
                key = "inline" if self.is_omni else "contents"
                is_text = not self.is_omni or isinstance(entry.get(key), str)
                form = EntryForm.TEXT if is_text else EntryForm.OBJECTS
                yield ManifestEntry(way=way, key=key, form=form, entry=entry, is_omni=self.is_omni)


def talos_documents_of(text: str, path: str) -> tuple[YamlDocument, ...]:
    """The documents of a file, as Talos reads them.

    Raises:
        errors.ConfigError: It is a template, is encrypted, or is no YAML.
    """
    if config_files.is_template(path):
        hint = "Put the inline manifest into a patch of its own, and name that where the template is used."
        raise errors.ConfigError("a template is not edited: its braces would be the template's", path=path, hint=hint)
    contents = yaml_reader.read_text(text.removeprefix("\ufeff"), path, dialect=YamlDialect.TALOS)
    for diagnostic in contents.diagnostics:
        if diagnostic.severity is Severity.ERROR:
            raise errors.ConfigError(diagnostic.message, path=path, line=diagnostic.place.line, hint=diagnostic.fix)
    for document in contents.documents:
        if document_kinds.is_encrypted(document.value):
            hint = "Keep inline manifests in a patch of their own, which need not be encrypted."
            message = "sops signs the whole of this document, so that an edit would make it unreadable"
            raise errors.ConfigError(message, path=path, line=document.line, hint=hint)
    return contents.documents


def kinds_of(text: str, path: str = "") -> tuple[str, ...]:
    """The kinds of a file's Talos documents; empty for a v1alpha1 one. Patches of an Omni template count as its own.

    Raises:
        errors.ConfigError: The file cannot be edited.
    """
    found: list[str] = []
    for document in talos_documents_of(text, path):
        if document_kinds.is_omni(document.value):
            found += _kinds_in_template(document.value)
        elif isinstance(document.value, Mapping):
            found.append(str(document.value.get("kind") or ""))
    return tuple(found)


def _kinds_in_template(template: Mapping[str, Any]) -> Iterator[str]:
    """The kinds of documents that the patches of an Omni template have; what has none says nothing of the config."""
    for patch in template.get("patches") or ():
        inline = patch.get("inline") if isinstance(patch, Mapping) else None
        if isinstance(inline, Mapping) and inline.get("kind"):
            yield str(inline["kind"])


def find_entry(text: str, name: str, *, path: str = "") -> ManifestEntry | None:
    """The inline manifest of this name.

    Raises:
        errors.ConfigError: The file cannot be edited, the name is there twice, or its objects stand elsewhere.
    """
    named = [each for each in all_entries(text, path) if each.entry.get("name") == name]
    # A patch of Talos 1.14 may delete a document and bring another one of its name.
    found = [each for each in named if not each.is_deletion] or named
    places = [entry_line(text, each, path) for each in found]
    if len(found) > 1:
        listed = " and ".join(str(each) for each in places)
        message = f"the inline manifest {name} is there twice, in lines {listed}"
        hint = "Remove one: Talos refuses two of one form, and takes two of different forms for one."
        raise errors.ConfigError(message, path=path, line=places[-1], hint=hint)
    for target, line in zip(found, places, strict=True):
        _check(target, name, path, line)
    return found[0] if found else None


def all_entries(text: str, path: str = "") -> list[ManifestEntry]:
    """All inline manifests of a file.

    Raises:
        errors.ConfigError: The file cannot be edited.
    """
    found: list[ManifestEntry] = []
    for document in talos_documents_of(text, path):
        value = document.value
        if isinstance(value, Mapping) and value.get("kind") == talos_documents.INLINE:
            way = (TextPath(document.index, ()),)
            found.append(ManifestEntry(way=way, key="manifest", form=EntryForm.TEXT, entry=value))
        for listing in listings(document):
            found += listing.targets()
        found += _of_json_patch(document)
    return found


def listings(document: YamlDocument, before: tuple[TextPath, ...] = ()) -> Iterator[ManifestListing]:
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
            way = (*before, TextPath(document.index, here))
            if step == LIST and isinstance(child, list):
                yield ManifestListing(way=way, entries=child)
            elif (
                here == ("kubernetes", "manifests")
                and document_kinds.is_omni(document.value)
                and isinstance(child, list)
            ):
                yield ManifestListing(way=way, entries=child, is_omni=True)
            elif isinstance(child, str):
                if LIST in child and len(before) < _DEEP:
                    for each in yaml_reader.read_text(child, "", dialect=YamlDialect.TALOS).documents:
                        yield from listings(each, way)
            else:
                inner.append((here, child))
        waiting += reversed(inner)


def _of_json_patch(document: YamlDocument) -> Iterator[ManifestEntry]:
    """What operations of a JSON patch add: one manifest, or a list of them."""
    for index, entry in enumerate(document.value if isinstance(document.value, list) else ()):
        if not isinstance(entry, Mapping) or entry.get("op") not in {"add", "replace"}:
            continue
        steps = str(entry.get("path")).split("/")[1:]
        way = (TextPath(document.index, (index, "value")),)
        value = entry.get("value")
        if steps[:2] == ["cluster", LIST] and len(steps) == 3 and isinstance(value, Mapping):
            yield ManifestEntry(way=way, key="contents", form=EntryForm.TEXT, entry=value)
        elif steps == ["cluster", LIST] and isinstance(value, list):
            yield from ManifestListing(way=way, entries=value).targets()


def _check(target: ManifestEntry, name: str, path: str, line: int) -> None:
    """Refuse what is no place for objects."""

    def refuse(message: str, hint: str) -> None:
        raise errors.ConfigError(message, path=path, line=line, hint=hint)

    value = target.value
    if target.is_deletion:
        refuse(f"here {name} is taken away", "Name the file that brings it, or take this entry out.")
    if target.is_omni and target.entry.get("file"):
        file = target.entry["file"]
        refuse(f"the objects of {name} stand in {file}", f"Write them there: firstlight render … > {file}")
    if isinstance(value, str) and value.startswith("@"):
        refuse(f"the objects of {name} stand in {value[1:]}", f"Write them there: firstlight render … > {value[1:]}")
    if isinstance(value, str) and value.startswith("ENC["):
        refuse(f"the contents of {name} are encrypted", "Keep inline manifests in a patch that is not encrypted.")


def entry_line(text: str, target: ManifestEntry, path: str = "") -> int:
    """The line of the file where a manifest stands; of one in a text, that of the text."""
    first = target.way[0]
    for document in yaml_reader.read_text(text.removeprefix("\ufeff"), path, dialect=YamlDialect.TALOS).documents:
        if document.index == first.document:
            return document.place(*first.steps).line if first.steps else document.line
    return 0
