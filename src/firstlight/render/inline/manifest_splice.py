"""Objects spliced into a file as an inline manifest; nothing else in it changes, not a comment and not a space."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model import talos_documents
from firstlight.model.rendition import Object
from firstlight.render.inline import manifest_contents, manifest_entry
from firstlight.render.inline.manifest_entry import LIST, EntryForm, ManifestEntry, TextPath
from firstlight.repo.talos import document_kinds, talhelper

MODE = "one-time"
"""What Omni does with a new manifest: ``full`` would undo what an engine does to it after the handover."""


def embed(
    text: str, name: str, objects: Sequence[Object], *, path: str = "", to_omni: bool = False, as_document: bool = False
) -> str:  # fmt: skip
    """The text of a file with these objects as the inline manifest of this name, replaced or added.

    Args:
        text: A Talos config or patch, a patch of Omni, or an Omni template; an empty one becomes a patch.
        name: Of the manifest.
        objects: In any order: they are written in the one in which Talos applies them.
        path: What the file is called in errors.
        to_omni: Whether a new manifest goes to the ``kubernetes.manifests`` of an Omni template, not into a patch.
        as_document: Whether a new manifest becomes a document of Talos 1.14, not an entry of the list.

    Raises:
        errors.ConfigError: The file cannot be edited without changing something else, or has no place for it.
        ValueError: A value cannot be written so that Go reads it back.
    """
    ordered = manifest_contents.in_order(objects)
    written = manifest_contents.dump_objects(ordered)
    return embed_written(text, name, ordered, written, path=path, to_omni=to_omni, as_document=as_document)


def embed_written(
    text: str, name: str, ordered: Sequence[Object], written: str, *, path: str = "", to_omni: bool = False,
    as_document: bool = False,
) -> str:  # fmt: skip
    """Like ``embed``, for objects that are in order and written already."""
    target = manifest_entry.find_entry(text, name, path=path)
    if target is None:
        if to_omni:
            return _add_to_omni(text, name, ordered, path)
        return _add(text, _new_entry(name, written, as_document=as_document), path)
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


def _new_entry(name: str, written: str, *, as_document: bool) -> Mapping[str, Any]:
    """A manifest as a document of its own, or as a v1alpha1 document that has nothing else."""
    if as_document:
        return {"apiVersion": "v1alpha1", "kind": talos_documents.INLINE, "name": name, "manifest": written}
    return {"cluster": {LIST: [{"name": name, "contents": written}]}}


def _add(text: str, entry: Mapping[str, Any], path: str) -> str:
    documents = manifest_entry.talos_documents_of(text, path)
    omni = [each for each in documents if document_kinds.is_omni(each.value)]
    is_document = "kind" in entry
    name = entry["name"] if is_document else entry["cluster"][LIST][0]["name"]
    if omni:
        control_plane = next((each for each in omni if each.value.get("kind") == "ControlPlane"), None)
        if control_plane is None:
            hint = "Write a document of kind ControlPlane: only control-plane machines apply inline manifests."
            raise errors.ConfigError("the template has no control plane", path=path, hint=hint)
        return _append(text, ("patches",), {"name": name, "inline": entry}, control_plane.index, path)
    if talhelper.is_talconfig(path):
        hint = f'Give a patch file, and name it here: controlPlane.patches: ["@./patches/{name}.yaml"]'
        raise errors.ConfigError("talhelper's file has no place for a new inline manifest", path=path, hint=hint)
    if not documents:
        return _new_document(text, entry, path)
    found = {each.index: document_kinds.of(each.value, is_near=True) for each in documents}
    for index, kind in found.items() if not is_document else ():
        # A Talos config may have many documents, and one of them is without a kind: that has the cluster's fields.
        if kind in (document_kinds.CONFIG, document_kinds.PATCH):
            return _append(text, ("cluster", LIST), entry["cluster"][LIST][0], index, path)
    if not {"", document_kinds.JSON_PATCH, document_kinds.SCHEMATIC, document_kinds.SECRETS} & set(found.values()):
        return _new_document(text, entry, path)
    hint = "Give a Talos machine config, a patch in YAML (not a JSON patch), or an Omni template."
    raise errors.ConfigError("this file has no place for an inline manifest", path=path, hint=hint)


def _append(text: str, steps: tuple[str, ...], entry: Mapping[str, Any], document: int, path: str) -> str:
    return yaml_editor.append(text, steps, entry, document=document, path=path, dialect=YamlDialect.TALOS)


def _add_to_omni(text: str, name: str, ordered: Sequence[Object], path: str) -> str:
    omni = [each for each in manifest_entry.talos_documents_of(text, path) if document_kinds.is_omni(each.value)]
    cluster = next((each for each in omni if each.value.get("kind") == "Cluster"), None)
    if cluster is None:
        hint = "Give an Omni template with a document of kind Cluster."
        raise errors.ConfigError("this is no Omni template with a cluster", path=path, hint=hint)
    entry = {"name": name, "mode": MODE, "inline": [manifest_contents.plain_value(each.value) for each in ordered]}
    return _append(text, ("kubernetes", "manifests"), entry, cluster.index, path)


def _new_document(text: str, entry: Mapping[str, Any], path: str) -> str:
    """The text with one more document, which has nothing but the manifest."""
    end = "\r\n" if "\r\n" in text else "\n"
    made = ""
    for steps, value in _leaves(entry):
        made = yaml_editor.set_value(made, steps, value, path=path, dialect=YamlDialect.TALOS)
    gap = "" if not text or text.endswith("\n") else end
    mark = f"---{end}" if manifest_entry.talos_documents_of(text, path) else ""
    joined = text + gap + mark + made.replace("\n", end)
    documents = manifest_entry.talos_documents_of(joined, path)
    if not documents or documents[-1].value != entry:
        raise errors.ConfigError("it is written in a way that cannot be edited safely", path=path)
    return joined


def _leaves(entry: Mapping[str, Any]) -> Iterator[tuple[tuple[manifest_entry.Step, ...], Any]]:
    """What is written one after the other: the entry of the list, or the keys of a document."""
    if "cluster" in entry:
        yield ("cluster", LIST, 0), entry["cluster"][LIST][0]
    else:
        yield from (((key,), value) for key, value in entry.items())
