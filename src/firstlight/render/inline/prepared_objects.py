"""Objects of a rendition made fit for Talos, which applies each as it stands: no hooks, no defaults of a release."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model import argocd_names, helm_names
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.inline_manifest import LeftOut
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.render import served_kinds
from firstlight.render.inline import known_charts, manifest_contents

INVENTORY = "config.k8s.io/owning-inventory"
_NO_HOOK = frozenset({"crd-install"})
"""Helm 2's way to say that a CRD comes first: an ordinary object to everybody else."""
_NOT_NEEDED = frozenset({
    "test", "test-success", "test-failure", "pre-delete", "post-delete", "pre-rollback", "post-rollback",
    "PostDelete", "SyncFail", "Skip",
})  # fmt: skip
"""Hooks that do nothing for what starts."""


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedObjects:
    """What can be embedded."""

    objects: tuple[Object, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def prepare(
    objects: Iterable[Object], *, place: Place, namespace: str = "", crds: Sequence[Object] = ()
) -> PreparedObjects:
    """Leave out what Talos must not apply, and put right what it would take otherwise than it is meant.

    Args:
        objects: Of the rendition.
        place: What diagnostics are about.
        namespace: Where objects go that name none, as the engine would place them; empty where that is not known.
        crds: Further CRDs, to know whether a kind is in a namespace.
    """
    diagnostics: list[Diagnostic] = []
    left_out: list[LeftOut] = []
    kept: list[Object] = []
    flat = [each for one in objects for each in _single(one)]
    kinds = served_kinds.served_by([*flat, *crds])
    for each in flat:
        if hooks := _hooks(each):
            left_out.append(LeftOut(each.id, f"it is a hook ({', '.join(hooks)}), which Talos would run once and keep"))
            diagnostics += _missed(each, hooks, place)
            continue
        if problem := _problem(each, place):
            diagnostics.append(problem)
            continue
        # Numbers as JSON has them: what is read back from the file later must be the same.
        fitted, said = _placed(
            Object(manifest_contents.plain_value(each.value)),
            served_kinds.is_namespaced(each.id, kinds),
            namespace,
            place,
        )
        kept.append(fitted)
        diagnostics += said
    unique, said = _unique(kept, place)
    return PreparedObjects(manifest_contents.in_order(unique), tuple(left_out), (*diagnostics, *said))


def _single(one: Object) -> Iterator[Object]:
    """An object, or the objects of a List."""
    items = one.value.get("items")
    if one.id.kind.endswith("List") and isinstance(items, list):
        for each in items:
            yield from _single(Object(each)) if isinstance(each, Mapping) else ()
    else:
        yield one


def annotations(each: Object) -> Mapping[str, Any]:
    """The annotations of an object."""
    metadata = each.value.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _hooks(each: Object) -> tuple[str, ...]:
    found = [
        str(annotations(each).get(key) or "") for key in (helm_names.HOOK_ANNOTATION, argocd_names.HOOK_ANNOTATION)
    ]
    named = [name.strip() for text in found for name in text.split(",") if name.strip()]
    return tuple(name for name in named if name not in _NO_HOOK)


def _missed(each: Object, hooks: Sequence[str], place: Place) -> Iterator[Diagnostic]:
    """What is said about a hook whose work something may wait for."""
    if each.id.kind not in ("Job", "Pod") or set(hooks) <= _NOT_NEEDED:
        return
    message = f"the hook {each.id} is left out: what it makes is not there until the engine runs it"
    hint = known_charts.hook(each.id) or "If the component does not start without it, turn it off in the values."
    yield Diagnostic.warning("inline-hook-left-out", message, at=place, fix=hint)


def _problem(each: Object, place: Place) -> Diagnostic | None:
    """What Talos would stumble over, and what to do about it."""
    if not each.value.get("apiVersion") or not each.id.kind:
        message = f"{each.id} has no apiVersion or kind"
        return Diagnostic.error(
            "object-without-kind", message, at=place, fix="Talos applies none of the manifest then."
        )
    if not each.id.name:
        message = f"{each.id} has no name: Talos cannot look it up"
        fix = "Give it a metadata.name instead of a generateName."
        return Diagnostic.error("inline-object-without-name", message, at=place, fix=fix)
    if INVENTORY in annotations(each):
        message = f"{each.id} has the annotation {INVENTORY}, which Talos writes itself and refuses"
        return Diagnostic.error("inline-inventory-annotation", message, at=place, fix="Take it out of the source.")
    sops = each.value.get("sops")
    if isinstance(sops, Mapping) and "mac" in sops:
        message = f"{each.id} is encrypted by sops, and Talos does not decrypt"
        return Diagnostic.error("inline-object-encrypted", message, at=place, fix="Leave it to the engine.")
    return None


def _placed(each: Object, is_namespaced: bool | None, namespace: str, place: Place) -> tuple[Object, list[Diagnostic]]:
    """An object with the namespace that its kind asks for."""
    if is_namespaced is False and each.id.namespace:
        message = f"{_without_namespace(each.id)} is in no namespace, and says {each.id.namespace}: taken out"
        hint = "Take metadata.namespace out of the source: upgrade-k8s of Talos 1.13 fails over it."
        return _with_namespace(each, None), [
            Diagnostic.warning("object-namespace-needless", message, at=place, fix=hint)
        ]
    if is_namespaced and not each.id.namespace:
        if namespace:
            message = f"{each.id} names no namespace: written as {namespace}, where the engine puts it"
            return _with_namespace(each, namespace), [Diagnostic.warning("object-namespace-assumed", message, at=place)]
        message = f"{each.id} names no namespace: Talos would put it into default"
        return each, [
            Diagnostic.error("object-namespace-missing", message, at=place, fix="Give it a metadata.namespace.")
        ]
    return each, []


def _without_namespace(id: ObjectId) -> ObjectId:
    return dataclasses.replace(id, namespace="")


def _with_namespace(each: Object, namespace: str | None) -> Object:
    metadata = {key: value for key, value in each.value["metadata"].items() if key != "namespace"}
    return Object({**each.value, "metadata": metadata | ({"namespace": namespace} if namespace else {})})


def _unique(objects: Sequence[Object], place: Place) -> tuple[list[Object], list[Diagnostic]]:
    """Each object once; two that differ are wrong, since Talos applies the first and ``upgrade-k8s`` the last."""
    found: dict[ObjectId, Object] = {}
    diagnostics: list[Diagnostic] = []
    for each in objects:
        other = found.setdefault(each.id, each)
        if other is not each and manifest_contents.fingerprint(other) != manifest_contents.fingerprint(each):
            message = f"{each.id} is there twice, with different contents"
            diagnostics.append(
                Diagnostic.error("object-twice", message, at=place, fix="Keep one: Talos applies the first it finds.")
            )
    return list(found.values()), list(dict.fromkeys(diagnostics))
