"""Objects spliced into a file as an inline manifest; nothing else in it changes, not a comment and not a space."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import reading, splicing
from firstlight.document.reading import Dialect
from firstlight.model.rendition import Object
from firstlight.render.inline import contents, targets
from firstlight.render.inline.targets import Form, Stretch, Target
from firstlight.repo.talos import kinds, talhelper

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
    ordered = contents.in_order(objects)
    return embed_written(text, name, ordered, contents.dump(ordered), path=path, to_omni=to_omni)


def embed_written(
    text: str, name: str, ordered: Sequence[Object], written: str, *, path: str = "", to_omni: bool = False
) -> str:
    """Like ``embed``, for objects that are in order and written already."""
    target = targets.find(text, name, path=path)
    if target is None:
        return _add(text, name, ordered, written, path=path, to_omni=to_omni)
    *before, last = target.way
    way = [*before, Stretch(last.document, (*last.steps, target.key))]
    return _through(text, way, _value(target, ordered, written), path)


def _value(target: Target, ordered: Sequence[Object], written: str) -> Any:
    if target.form is Form.OBJECTS:
        return [contents.plain(each.value) for each in ordered]
    old = target.value
    # Whether the last line has an end decides between | and |-, and mostly means nothing: what is there stays.
    if isinstance(old, str) and old and not old.endswith("\n") and ordered and _needs_no_end(ordered[-1]):
        return written.removesuffix("\n")
    return written


def _needs_no_end(last: Object) -> bool:
    """Whether the last object is the same without a line end; a text at its end may be one without."""
    found = reading.read_text(contents.text(last).removesuffix("\n"), "").documents
    return len(found) == 1 and contents.fingerprint(Object(found[0].value)) == contents.fingerprint(
        Object(contents.plain(last.value))
    )


def _through(text: str, way: Sequence[Stretch], value: Any, path: str) -> str:
    """Set a value at the end of a way: the innermost text first, then the texts around it."""
    stretch, *rest = way
    if rest:
        inner = _at(text, stretch, path)
        if not isinstance(inner, str):
            raise errors.ConfigError("there is no text any more", path=path)
        value = _through(inner, rest, value, path)
    return splicing.set_value(
        text, stretch.steps, value, document=stretch.document, path=path, dialect=Dialect.TALOS
    )  # fmt: skip


def _at(text: str, stretch: Stretch, path: str) -> Any:
    documents = reading.read_text(text.removeprefix("\ufeff"), path, dialect=Dialect.TALOS).documents
    value: Any = next((each.value for each in documents if each.index == stretch.document), None)
    for step in stretch.steps:
        value = value[step]
    return value


def _add(text: str, name: str, ordered: Sequence[Object], written: str, *, path: str, to_omni: bool) -> str:
    documents = targets.documents(text, path)
    omni = [each for each in documents if kinds.is_omni(each.value)]
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
    found = {each.index: kinds.of(each.value, is_near=True) for each in documents}
    for index, kind in found.items():
        # A Talos config may have many documents, and one of them is without a kind: that has the cluster's fields.
        if kind in (kinds.CONFIG, kinds.PATCH):
            return _append(text, ("cluster", "inlineManifests"), entry, index, path)
    if not {"", kinds.JSON_PATCH, kinds.SCHEMATIC, kinds.SECRETS} & set(found.values()):
        return _new_document(text, entry, path)
    hint = "Give a Talos machine config, a patch in YAML (not a JSON patch), or an Omni template."
    raise errors.ConfigError("this file has no place for an inline manifest", path=path, hint=hint)


def _append(text: str, steps: tuple[str, ...], entry: Mapping[str, Any], document: int, path: str) -> str:
    return splicing.append(text, steps, entry, document=document, path=path, dialect=Dialect.TALOS)


def _add_to_omni(
    text: str, name: str, ordered: Sequence[Object], omni: Sequence[reading.Document], path: str
) -> str:  # fmt: skip
    cluster = next((each for each in omni if each.value.get("kind") == "Cluster"), None)
    if cluster is None:
        hint = "Give an Omni template with a document of kind Cluster."
        raise errors.ConfigError("this is no Omni template with a cluster", path=path, hint=hint)
    entry = {"name": name, "mode": MODE, "inline": [contents.plain(each.value) for each in ordered]}
    return _append(text, ("kubernetes", "manifests"), entry, cluster.index, path)


def _new_document(text: str, entry: Mapping[str, Any], path: str) -> str:
    """The text with one more document, which has nothing but the manifest."""
    end = "\r\n" if "\r\n" in text else "\n"
    made = splicing.set_value("", ("cluster", "inlineManifests", 0), entry, path=path, dialect=Dialect.TALOS)
    gap = "" if not text or text.endswith("\n") else end
    mark = f"---{end}" if targets.documents(text, path) else ""
    joined = text + gap + mark + made.replace("\n", end)
    documents = targets.documents(joined, path)
    if not documents or documents[-1].value != {"cluster": {"inlineManifests": [dict(entry)]}}:
        raise errors.ConfigError("it is written in a way that cannot be edited safely", path=path)
    return joined
