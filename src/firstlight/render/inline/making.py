"""One embedding from beginning to end: prepare, complete, check, compare, splice."""

import dataclasses
import datetime
import re
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.document.reading import Document
from firstlight.model.component import ObjectId, Origin
from firstlight.model.inline import Embedding, State
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object
from firstlight.model.source import Embedded
from firstlight.render.inline import (
    confidential,
    contents,
    difference,
    embedding,
    engine,
    limits,
    needs,
    preparing,
    reach,
    targets,
    unstable,
)
from firstlight.render.inline.preparing import Prepared
from firstlight.render.inline.reach import Reach
from firstlight.render.inline.targets import Form, Target
from firstlight.repo.talos import embedded, manifests

_VARIABLE = re.compile(r"\$(?:[A-Za-z_]|\{)")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
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
    """Where the component is declared: what remarks about its objects are about."""
    objects: Sequence[Object]
    again: Sequence[Object] | None = None
    """A second rendering of the same, to find what changes by itself; None where there is none."""
    crds: Sequence[Object] = ()
    """CRDs of the cluster's other components."""
    namespace: str = ""
    """Where objects go that name no namespace."""
    talos: str = ""
    """The cluster's version of Talos."""
    is_talhelper: bool = False
    allowed: Sequence[str] = ()
    """Secrets that may be embedded all the same."""
    foundation: Sequence[tuple[str, str]] = ()
    """Namespaces and names of Secrets that bootstrap creates."""
    create_namespaces: bool = False
    to_omni: bool = False
    now: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """What the file is to hold, and what that comes to."""

    text: str = dataclasses.field(repr=False)
    embedding: Embedding


@dataclasses.dataclass(frozen=True, slots=True)
class _Old:
    objects: tuple[Object, ...] = ()
    size: int = 0
    remarks: tuple[Remark, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class _Whole:
    ready: Prepared
    objects: tuple[Object, ...]
    crds: tuple[ObjectId, ...]
    remarks: tuple[Remark, ...]


def make(request: Request) -> Made:
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


def _made(request: Request) -> Made:
    target = targets.find(request.text, request.name, path=request.path)
    there = reach.of(request.root, request.path, _provisional(request, target), name=request.name)
    old = _old(request, target)
    whole = _completed(request, [id for each in there.others for id in each.objects])
    found = _unstable(request, whole.ready)
    kept, values = unstable.keep(whole.objects, old.objects, found)
    objects = contents.in_order(kept)
    text, size = _spliced(request, objects)
    remarks = [
        *there.remarks,
        *old.remarks,
        *whole.remarks,
        *unstable.remarks(found, whole.objects, place=request.place),
        *_checks(request, objects, size, there),
    ]
    made = Embedding(
        component=request.component,
        cluster=request.cluster or ", ".join(there.clusters),
        path=request.path,
        name=request.name,
        place=Place(request.path, targets.place(request.text, target, request.path) if target else 0),
        is_omni=target.is_omni if target else request.to_omni,
        state=_state(request.text, text, old, objects, is_new=target is None),
        objects=tuple(each.id for each in objects),
        changes=difference.between(old.objects, objects, path=request.path),
        left_out=whole.ready.left_out,
        added_crds=whole.crds,
        kept=tuple(str(each) for each in values),
        before=old.size,
        after=size,
        remarks=tuple(dict.fromkeys(remarks)),
    )
    return Made(text, made)


def _completed(request: Request, elsewhere: Sequence[ObjectId]) -> _Whole:
    """The objects with the CRDs and namespaces that they need."""
    ready = preparing.prepare(
        request.objects, place=request.place, namespace=request.namespace, crds=request.crds
    )  # fmt: skip
    brought = needs.crds(ready.objects, others=request.crds, elsewhere=elsewhere, place=request.place)
    objects = [*ready.objects, *brought.crds]
    missing = needs.namespaces(objects, elsewhere=elsewhere)
    remarks = [*ready.remarks, *brought.remarks]
    if request.create_namespaces:
        objects += [needs.namespace(name) for name in missing]
    else:
        remarks += needs.without_namespaces(missing, place=request.place)
    return _Whole(ready, tuple(objects), tuple(each.id for each in brought.crds), tuple(remarks))


def _provisional(request: Request, target: Target | None) -> str:
    """The file with an entry of the name, to see whom it reaches; what the entry holds does not matter for that."""
    return (
        request.text
        if target is not None
        else embedding.embed(request.text, request.name, (), path=request.path, to_omni=request.to_omni)
    )


def _unstable(request: Request, ready: Prepared) -> tuple[unstable.Unstable, ...]:
    if request.again is None:
        return unstable.suspects(ready.objects, now=request.now)
    again = preparing.prepare(request.again, place=request.place, namespace=request.namespace, crds=request.crds)
    return unstable.between(ready.objects, again.objects)


def _checks(request: Request, objects: Sequence[Object], size: int, there: Reach) -> list[Remark]:
    """What can be said about the objects as they are to be written."""
    others = sum(each.source.size for each in there.others if isinstance(each.source, Embedded))
    behind = sorted(each.name for each in there.others if each.name > request.name)
    found = [
        *confidential.refused(objects, request.allowed, place=request.place),
        *limits.check(objects, size=size, others=others, talos=request.talos, place=request.place),
        *needs.webhooks(objects, behind=behind, place=request.place),
        *_twice(objects, there.others, request),
    ]
    if not objects:
        found.append(Remark(request.place, Grade.ERROR, "there is nothing to embed", "Look at firstlight render."))
    if engine.is_inline(objects):
        found += engine.remarks(objects, secrets=request.foundation, place=request.place)
    if request.is_talhelper and any(_VARIABLE.search(contents.text(each)) for each in objects):
        message = "talhelper takes every $NAME in the contents for a variable of its own, and fails"
        hint = (
            f"Write the objects to a file (firstlight render {request.component} > {request.name}.yaml) and name it in"
            f' talconfig.yaml: inlineManifests: [{{name: {request.name}, contents: "@./{request.name}.yaml",'
            " skipEnvsubst: true}]"
        )
        found.append(Remark(Place(request.path), Grade.ERROR, message, hint))
    return found


def _twice(objects: Sequence[Object], others: Sequence[Origin], request: Request) -> list[Remark]:
    """Objects that another inline manifest has as well: Talos applies the one that comes first."""
    ids: dict[ObjectId, str] = {id: each.name for each in others for id in each.objects}
    found = []
    for each in objects:
        if each.id in ids and each.id.kind not in ("Namespace", "CustomResourceDefinition"):
            first = min(ids[each.id], request.name)
            message = f"{each.id} is in the inline manifest {ids[each.id]} too: that of {first} counts"
            found.append(Remark(request.place, Grade.WARNING, message, "Keep it in one of them."))
    return found


def _spliced(request: Request, objects: Sequence[Object]) -> tuple[str, int]:
    """The new text, and the bytes of the contents."""
    written = contents.dump(objects)
    text = embedding.embed_written(
        request.text, request.name, objects, written, path=request.path, to_omni=request.to_omni
    )  # fmt: skip
    return text, len(written.encode())


def _old(request: Request, target: Target | None) -> _Old:
    """What stands in the file now."""
    if target is None:
        return _Old()
    value = target.value
    if target.form is Form.OBJECTS:
        listed = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
        found = tuple(Object(contents.plain(each)) for each in listed if isinstance(each, dict))
        return _Old(found, len(contents.dump(found).encode()))
    if not isinstance(value, str):
        return _Old()
    document, steps = _way(request, target)
    read = embedded.read(document, steps, value)
    objects, wrong = manifests.objects_in(read)
    broken = tuple(
        Remark(
            each.place,
            Grade.WARNING,
            f"what stands here now cannot be read, so that Talos applies none of {request.name}: {each.message}",
            "Embedding puts it right.",
        )
        for each in (*read.remarks, *wrong)
        if each.grade is Grade.ERROR
    )
    return _Old(tuple(Object(each.value) for each in objects), len(value.encode()), broken)


def _way(request: Request, target: Target) -> tuple[Document, tuple[str | int, ...]]:
    """The innermost document, and the way to the contents in it."""
    first, *rest = target.way
    document = next(
        each for each in targets.documents(request.text, request.path) if each.index == first.document
    )  # fmt: skip
    steps: tuple[str | int, ...] = first.steps
    for stretch in rest:
        steps = (*steps, stretch.document, *stretch.steps)
    inner, way, _ = embedded.follow(document, (*steps, target.key))
    return inner, way


def _state(before: str, after: str, old: _Old, objects: Sequence[Object], *, is_new: bool) -> State:
    if is_new:
        return State.ABSENT
    if before == after:
        return State.FRESH
    if old.remarks or len({each.id for each in old.objects}) != len(old.objects):
        return State.STALE
    prints = [sorted(contents.fingerprint(each) for each in side) for side in (old.objects, objects)]
    return State.WRITTEN_OTHERWISE if prints[0] == prints[1] else State.STALE
