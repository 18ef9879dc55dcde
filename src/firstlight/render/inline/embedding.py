"""One embedding from beginning to end: prepare, complete, check, compare, splice."""

import dataclasses
import datetime
import re
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import talos_documents
from firstlight.model.component import ObjectId, Origin
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.inline_manifest import Embedding, InlineState
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.source import Embedded
from firstlight.render.inline import (
    confidential,
    edited_file,
    inline_argocd,
    manifest_contents,
    manifest_entry,
    manifest_splice,
    prepared_objects,
    requirements,
    unstable_values,
)
from firstlight.render.inline.edited_file import ManifestReach
from firstlight.render.inline.manifest_entry import EntryForm, ManifestEntry
from firstlight.render.inline.prepared_objects import PreparedObjects
from firstlight.repo.talos import config_manifests, embedded_yaml

_VARIABLE = re.compile(r"\$(?:[A-Za-z_]|\{)")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRequest:
    """What is to be embedded, and where."""

    root: Path
    path: str
    """The file, relative to the root."""
    text: str = dataclasses.field(repr=False)
    """What it holds now; empty if it is new."""
    name: str
    component: str
    cluster: str = ""
    place: Place
    """Where the component is declared: what diagnostics about its objects are about."""
    objects: Sequence[Object]
    again: Sequence[Object] | None = None
    """A second rendering of the same, to find what changes by itself; None where there is none."""
    crds: Sequence[Object] = ()
    """CRDs of the cluster's other components."""
    namespace: str = ""
    """Where objects go that name no namespace."""
    talos: str = ""
    """The cluster's version of Talos."""
    kinds: Sequence[str] = ()
    """Kinds of the Talos documents in all of the cluster's files."""
    is_talhelper: bool = False
    allowed: Sequence[str] = ()
    """Secrets that may be embedded all the same."""
    foundation: Sequence[tuple[str, str]] = ()
    """Namespaces and names of Secrets that bootstrap creates."""
    create_namespaces: bool = False
    to_omni: bool = False
    now: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """What the file is to hold, and what that comes to."""

    text: str = dataclasses.field(repr=False)
    embedding: Embedding


@dataclasses.dataclass(frozen=True, slots=True)
class _Old:
    objects: tuple[Object, ...] = ()
    size: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Whole:
    ready: PreparedObjects
    objects: tuple[Object, ...]
    crds: tuple[ObjectId, ...]
    diagnostics: tuple[Diagnostic, ...]


def make_embedding(request: EmbeddingRequest) -> EmbeddingResult:
    """What an embedding would do; nothing is written.

    Raises:
        errors.ConfigError: The file cannot be edited without changing something else, or has no place for it.
    """
    if not request.name.strip():
        raise errors.UsageError("an inline manifest needs a name")
    try:
        return _made(request)
    except ValueError as error:
        message = f"there is a value that cannot be written so that Talos reads it: {error}"
        raise errors.ConfigError(message, path=request.path) from error


def _made(request: EmbeddingRequest) -> EmbeddingResult:
    target = manifest_entry.find_entry(request.text, request.name, path=request.path)
    there = edited_file.reach_of(request.root, request.path, _provisional(request, target), name=request.name)
    old = _old(request, target)
    whole = _completed(request, [id for each in there.others for id in each.objects])
    found = _unstable(request, whole.ready)
    kept, values = unstable_values.keep(whole.objects, old.objects, found)
    objects = manifest_contents.in_order(kept)
    text, size = _spliced(request, objects)
    diagnostics = [
        *there.diagnostics,
        *old.diagnostics,
        *whole.diagnostics,
        *unstable_values.diagnostics(found, whole.objects, place=request.place),
        *_checks(request, objects, size, there),
    ]
    made = Embedding(
        component=request.component,
        cluster=request.cluster or ", ".join(there.clusters),
        path=request.path,
        name=request.name,
        place=Place(request.path, manifest_entry.entry_line(request.text, target, request.path) if target else 0),
        is_omni=target.is_omni if target else request.to_omni,
        state=_state(request.text, text, old, objects, is_new=target is None),
        objects=tuple(each.id for each in objects),
        changes=manifest_contents.object_changes(old.objects, objects, path=request.path),
        left_out=whole.ready.left_out,
        added_crds=whole.crds,
        kept=tuple(str(each) for each in values),
        before=old.size,
        after=size,
        diagnostics=tuple(dict.fromkeys(diagnostics)),
    )
    return EmbeddingResult(text, made)


def _completed(request: EmbeddingRequest, elsewhere: Sequence[ObjectId]) -> _Whole:
    """The objects with the CRDs and namespaces that they need."""
    ready = prepared_objects.prepare(
        request.objects, place=request.place, namespace=request.namespace, crds=request.crds
    )  # fmt: skip
    brought = requirements.needed_crds(ready.objects, others=request.crds, elsewhere=elsewhere, place=request.place)
    objects = [*ready.objects, *brought.crds]
    missing = requirements.missing_namespaces(objects, elsewhere=elsewhere)
    diagnostics = [*ready.diagnostics, *brought.diagnostics]
    if request.create_namespaces:
        objects += [requirements.namespace_object(name) for name in missing]
    else:
        diagnostics += requirements.namespace_diagnostics(missing, place=request.place)
    return _Whole(ready, tuple(objects), tuple(each.id for each in brought.crds), tuple(diagnostics))


def _provisional(request: EmbeddingRequest, target: ManifestEntry | None) -> str:
    """The file with an entry of the name, to see whom it reaches; what the entry holds does not matter for that."""
    return (
        request.text
        if target is not None
        else manifest_splice.embed(
            request.text, request.name, (), path=request.path, to_omni=request.to_omni,
            as_document=_as_document(request),
        )
    )  # fmt: skip


def _as_document(request: EmbeddingRequest) -> bool:
    """Whether a new manifest becomes a document of Talos 1.14.

    Raises:
        errors.ConfigError: It would, and Talos does not take its name.
    """
    if request.to_omni:
        return False
    kinds = manifest_entry.kinds_of(request.text, request.path)
    if not talos_documents.takes_document(kinds, talos=request.talos, around=request.kinds):
        return False
    if not talos_documents.is_name(request.name):
        message = f"{talos_documents.INLINE} cannot be called {request.name!r}"
        hint = "Give --name with lower-case letters, digits, - and . only (a DNS-1123 subdomain)."
        raise errors.ConfigError(message, path=request.path, hint=hint)
    return True


def _unstable(request: EmbeddingRequest, ready: PreparedObjects) -> tuple[unstable_values.UnstableValue, ...]:
    if request.again is None:
        return unstable_values.suspects(ready.objects, now=request.now)
    again = prepared_objects.prepare(request.again, place=request.place, namespace=request.namespace, crds=request.crds)
    return unstable_values.between(ready.objects, again.objects)


def _checks(request: EmbeddingRequest, objects: Sequence[Object], size: int, there: ManifestReach) -> list[Diagnostic]:
    """What can be said about the objects as they are to be written."""
    others = sum(each.source.size for each in there.others if isinstance(each.source, Embedded))
    behind = sorted(each.name for each in there.others if each.name > request.name)
    found = [
        *confidential.refused(objects, request.allowed, place=request.place),
        *requirements.size_diagnostics(objects, size=size, others=others, talos=request.talos, place=request.place),
        *requirements.webhook_diagnostics(objects, behind=behind, place=request.place),
        *_twice(objects, there.others, request),
    ]
    if not objects:
        found.append(
            Diagnostic.error(
                "inline-nothing-to-embed",
                "there is nothing to embed",
                at=request.place,
                fix="Look at firstlight render.",
            )
        )
    if inline_argocd.is_argocd(objects):
        found += inline_argocd.diagnostics(objects, secrets=request.foundation, place=request.place)
    if request.is_talhelper and any(_VARIABLE.search(manifest_contents.object_text(each)) for each in objects):
        message = "talhelper takes every $NAME in the contents for a variable of its own, and fails"
        hint = (
            f"Write the objects to a file (firstlight render {request.component} > {request.name}.yaml) and name it in"
            f' talconfig.yaml: inlineManifests: [{{name: {request.name}, contents: "@./{request.name}.yaml",'
            " skipEnvsubst: true}]"
        )
        found.append(Diagnostic.error("talhelper-variable-in-contents", message, at=Place(request.path), fix=hint))
    return found


def _twice(objects: Sequence[Object], others: Sequence[Origin], request: EmbeddingRequest) -> list[Diagnostic]:
    """Objects that another inline manifest has as well: Talos applies the one that comes first."""
    ids: dict[ObjectId, str] = {id: each.name for each in others for id in each.objects}
    found = []
    for each in objects:
        if each.id in ids and each.id.kind not in ("Namespace", "CustomResourceDefinition"):
            first = min(ids[each.id], request.name)
            message = f"{each.id} is in the inline manifest {ids[each.id]} too: that of {first} counts"
            found.append(
                Diagnostic.warning("inline-object-twice", message, at=request.place, fix="Keep it in one of them.")
            )
    return found


def _spliced(request: EmbeddingRequest, objects: Sequence[Object]) -> tuple[str, int]:
    """The new text, and the bytes of the contents."""
    written = manifest_contents.dump_objects(objects)
    text = manifest_splice.embed_written(
        request.text, request.name, objects, written, path=request.path, to_omni=request.to_omni,
        as_document=_as_document(request),
    )  # fmt: skip
    return text, len(written.encode())


def _old(request: EmbeddingRequest, target: ManifestEntry | None) -> _Old:
    """What stands in the file now."""
    if target is None:
        return _Old()
    value = target.value
    if target.form is EntryForm.OBJECTS:
        listed = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        found = tuple(Object(manifest_contents.plain_value(each)) for each in listed if isinstance(each, dict))
        return _Old(found, len(manifest_contents.dump_objects(found).encode()))
    if not isinstance(value, str):
        return _Old()
    document, steps = _way(request, target)
    read = embedded_yaml.read(document, steps, value)
    objects, wrong = config_manifests.objects_in(read)
    broken = tuple(
        Diagnostic.warning(
            "inline-manifest-unreadable",
            f"what stands here now cannot be read, so that Talos applies none of {request.name}: {each.message}",
            at=each.place,
            fix="Embedding puts it right.",
        )
        for each in (*read.diagnostics, *wrong)
        if each.severity is Severity.ERROR
    )
    return _Old(tuple(Object(each.value) for each in objects), len(value.encode()), broken)


def _way(request: EmbeddingRequest, target: ManifestEntry) -> tuple[YamlDocument, tuple[str | int, ...]]:
    """The innermost document, and the way to the contents in it."""
    first, *rest = target.way
    document = next(
        each for each in manifest_entry.talos_documents_of(request.text, request.path) if each.index == first.document
    )  # fmt: skip
    steps: tuple[str | int, ...] = first.steps
    for stretch in rest:
        steps = (*steps, stretch.document, *stretch.steps)
    inner, way, _ = embedded_yaml.follow(document, (*steps, target.key))
    return inner, way


def _state(before: str, after: str, old: _Old, objects: Sequence[Object], *, is_new: bool) -> InlineState:
    if is_new:
        return InlineState.ABSENT
    if before == after:
        return InlineState.FRESH
    if old.diagnostics or len({each.id for each in old.objects}) != len(old.objects):
        return InlineState.STALE
    prints = [sorted(manifest_contents.fingerprint(each) for each in side) for side in (old.objects, objects)]
    return InlineState.WRITTEN_OTHERWISE if prints[0] == prints[1] else InlineState.STALE
