"""Objects spliced into a file as an inline manifest; nothing else in it changes, not a comment and not a space."""

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader
from firstlight.document.yaml_reader import YamlDialect, YamlDocument
from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object
from firstlight.render.inline import manifest_contents
from firstlight.repo.talos import config_files, document_kinds, talhelper

# Where an inline manifest stands in a file: Talos configs and patches, Omni templates, talhelper's file.
#
# A patch may be a text inside of another file. So a target is a way of several stretches, each through one text.


Step = str | int
_DEEP = 2
"""Texts inside of texts: a patch in a template, and none in that."""
_DOCUMENT_OF_1_14 = "KubeInlineManifestConfig"
_LISTS = "inlineManifests"


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


def talos_documents(text: str, path: str) -> tuple[YamlDocument, ...]:
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


def find_entry(text: str, name: str, *, path: str = "") -> ManifestEntry | None:
    """The inline manifest of this name.

    Raises:
        errors.ConfigError: The file cannot be edited, the name is there twice, or its objects stand elsewhere.
    """
    found = [each for each in all_entries(text, path) if each.entry.get("name") == name]
    places = [entry_line(text, each, path) for each in found]
    if len(found) > 1:
        listed = " and ".join(str(each) for each in places)
        message = f"the inline manifest {name} is there twice, in lines {listed}: Talos refuses that"
        raise errors.ConfigError(message, path=path, line=places[-1], hint="Take one away.")
    for target, line in zip(found, places, strict=True):
        _check(target, name, path, line)
    return found[0] if found else None


def all_entries(text: str, path: str = "") -> list[ManifestEntry]:
    """All inline manifests of a file.

    Raises:
        errors.ConfigError: The file cannot be edited.
    """
    found: list[ManifestEntry] = []
    for document in talos_documents(text, path):
        value = document.value
        if isinstance(value, Mapping) and value.get("kind") == _DOCUMENT_OF_1_14:
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
            if step == _LISTS and isinstance(child, list):
                yield ManifestListing(way=way, entries=child)
            elif (
                here == ("kubernetes", "manifests")
                and document_kinds.is_omni(document.value)
                and isinstance(child, list)
            ):
                yield ManifestListing(way=way, entries=child, is_omni=True)
            elif isinstance(child, str):
                if _LISTS in child and len(before) < _DEEP:
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
        if steps[:2] == ["cluster", _LISTS] and len(steps) == 3 and isinstance(value, Mapping):
            yield ManifestEntry(way=way, key="contents", form=EntryForm.TEXT, entry=value)
        elif steps == ["cluster", _LISTS] and isinstance(value, list):
            yield from ManifestListing(way=way, entries=value).targets()


def _check(target: ManifestEntry, name: str, path: str, line: int) -> None:
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


def entry_line(text: str, target: ManifestEntry, path: str = "") -> int:
    """The line of the file where a manifest stands; of one in a text, that of the text."""
    first = target.way[0]
    for document in yaml_reader.read_text(text.removeprefix("\ufeff"), path, dialect=YamlDialect.TALOS).documents:
        if document.index == first.document:
            return document.place(*first.steps).line if first.steps else document.line
    return 0


MODE = "one-time"
"""What Omni does with a new manifest: ``full`` would undo what an engine does to it after the handover."""


def embed(text: str, name: str, objects: Sequence[Object], *, path: str = "", to_omni: bool = False) -> str:
    """The text of a file with these objects as the inline manifest of this name, replaced or added.

    Args:
        text: A Talos config or patch, a patch of Omni, or an Omni template; an empty one becomes a patch.
        name: Of the manifest.
        objects: In any order: they are written in the one in which Talos applies them.
        path: What the file is called in errors.
        to_omni: Whether a new manifest goes to the ``kubernetes.manifests`` of an Omni template, not into a patch.

    Raises:
        errors.ConfigError: The file cannot be edited without changing something else, or has no place for it.
        ValueError: A value cannot be written so that Go reads it back.
    """
    ordered = manifest_contents.in_order(objects)
    return embed_written(text, name, ordered, manifest_contents.dump_objects(ordered), path=path, to_omni=to_omni)


def embed_written(
    text: str, name: str, ordered: Sequence[Object], written: str, *, path: str = "", to_omni: bool = False
) -> str:
    """Like ``embed``, for objects that are in order and written already."""
    target = find_entry(text, name, path=path)
    if target is None:
        return _add(text, name, ordered, written, path=path, to_omni=to_omni)
    *before, last = target.way
    way = [*before, TextPath(last.document, (*last.steps, target.key))]
    return _through(text, way, _value(target, ordered, written), path)


def _value(target: ManifestEntry, ordered: Sequence[Object], written: str) -> Any:
    if target.form is EntryForm.OBJECTS:
        return [manifest_contents.plain_value(each.value) for each in ordered]
    old = target.value
    # Whether the last line has an end decides between | and |-, and mostly means nothing: what is there stays.
    if isinstance(old, str) and old and not old.endswith("\n") and ordered and _needs_no_end(ordered[-1]):
        return written.removesuffix("\n")
    return written


def _needs_no_end(last: Object) -> bool:
    """Whether the last object is the same without a line end; a text at its end may be one without."""
    found = yaml_reader.read_text(manifest_contents.object_text(last).removesuffix("\n"), "").documents
    return len(found) == 1 and manifest_contents.fingerprint(Object(found[0].value)) == manifest_contents.fingerprint(
        Object(manifest_contents.plain_value(last.value))
    )


def _through(text: str, way: Sequence[TextPath], value: Any, path: str) -> str:
    """Set a value at the end of a way: the innermost text first, then the texts around it."""
    stretch, *rest = way
    if rest:
        inner = _at(text, stretch, path)
        if not isinstance(inner, str):
            raise errors.ConfigError("there is no text any more", path=path)
        value = _through(inner, rest, value, path)
    return yaml_editor.set_value(
        text, stretch.steps, value, document=stretch.document, path=path, dialect=YamlDialect.TALOS
    )  # fmt: skip


def _at(text: str, stretch: TextPath, path: str) -> Any:
    documents = yaml_reader.read_text(text.removeprefix("\ufeff"), path, dialect=YamlDialect.TALOS).documents
    value: Any = next((each.value for each in documents if each.index == stretch.document), None)
    for step in stretch.steps:
        value = value[step]
    return value


def _add(text: str, name: str, ordered: Sequence[Object], written: str, *, path: str, to_omni: bool) -> str:
    documents = talos_documents(text, path)
    omni = [each for each in documents if document_kinds.is_omni(each.value)]
    entry = {"name": name, "contents": written}
    if to_omni:
        return _add_to_omni(text, name, ordered, omni, path)
    if omni:
        control_plane = next((each for each in omni if each.value.get("kind") == "ControlPlane"), None)
        if control_plane is None:
            hint = "Write a document of kind ControlPlane: only control-plane machines apply inline manifests."
            raise errors.ConfigError("the template has no control plane", path=path, hint=hint)
        patch = {"name": name, "inline": {"cluster": {"inlineManifests": [entry]}}}
        return _append(text, ("patches",), patch, control_plane.index, path)
    if talhelper.is_talconfig(path):
        hint = f'Give a patch file, and name it here: controlPlane.patches: ["@./patches/{name}.yaml"]'
        raise errors.ConfigError("talhelper's file has no place for a new inline manifest", path=path, hint=hint)
    if not documents:
        return _new_document(text, entry, path)
    found = {each.index: document_kinds.of(each.value, is_near=True) for each in documents}
    for index, kind in found.items():
        # A Talos config may have many documents, and one of them is without a kind: that has the cluster's fields.
        if kind in (document_kinds.CONFIG, document_kinds.PATCH):
            return _append(text, ("cluster", "inlineManifests"), entry, index, path)
    if not {"", document_kinds.JSON_PATCH, document_kinds.SCHEMATIC, document_kinds.SECRETS} & set(found.values()):
        return _new_document(text, entry, path)
    hint = "Give a Talos machine config, a patch in YAML (not a JSON patch), or an Omni template."
    raise errors.ConfigError("this file has no place for an inline manifest", path=path, hint=hint)


def _append(text: str, steps: tuple[str, ...], entry: Mapping[str, Any], document: int, path: str) -> str:
    return yaml_editor.append(text, steps, entry, document=document, path=path, dialect=YamlDialect.TALOS)


def _add_to_omni(
    text: str, name: str, ordered: Sequence[Object], omni: Sequence[yaml_reader.YamlDocument], path: str
) -> str:  # fmt: skip
    cluster = next((each for each in omni if each.value.get("kind") == "Cluster"), None)
    if cluster is None:
        hint = "Give an Omni template with a document of kind Cluster."
        raise errors.ConfigError("this is no Omni template with a cluster", path=path, hint=hint)
    entry = {"name": name, "mode": MODE, "inline": [manifest_contents.plain_value(each.value) for each in ordered]}
    return _append(text, ("kubernetes", "manifests"), entry, cluster.index, path)


def _new_document(text: str, entry: Mapping[str, Any], path: str) -> str:
    """The text with one more document, which has nothing but the manifest."""
    end = "\r\n" if "\r\n" in text else "\n"
    made = yaml_editor.set_value("", ("cluster", "inlineManifests", 0), entry, path=path, dialect=YamlDialect.TALOS)
    gap = "" if not text or text.endswith("\n") else end
    mark = f"---{end}" if talos_documents(text, path) else ""
    joined = text + gap + mark + made.replace("\n", end)
    documents = talos_documents(joined, path)
    if not documents or documents[-1].value != {"cluster": {"inlineManifests": [dict(entry)]}}:
        raise errors.ConfigError("it is written in a way that cannot be edited safely", path=path)
    return joined
