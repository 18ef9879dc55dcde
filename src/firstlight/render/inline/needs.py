"""What objects need when Talos applies them: kinds, namespaces, webhooks that answer.

Talos goes over all objects of all manifests, again and again until nothing is wrong. An object whose kind is not
served is passed over until the next time. Most other errors end the pass, so that nothing behind is applied: a missing
namespace, or a webhook that nobody answers.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object
from firstlight.render import served
from firstlight.render.inline import contents, known

NAMESPACES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""What is there before anything is applied."""
_CRD = "CustomResourceDefinition"
_LISTED = 5
Kind = tuple[str, str]
"""A group and a kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """CRDs to bring along, and what is missing."""

    crds: tuple[Object, ...] = ()
    remarks: tuple[Remark, ...] = ()


def crds(
    objects: Sequence[Object], *, others: Sequence[Object], elsewhere: Iterable[ObjectId], place: Place
) -> Found:  # fmt: skip
    """The CRDs that objects need when they start and do not bring themselves.

    Args:
        objects: What is to be embedded.
        others: CRDs that other components of the cluster bring.
        elsewhere: Objects of the cluster's other inline manifests.
        place: What remarks are about.
    """
    inline = {id.name for id in elsewhere if id.kind == _CRD}
    own = served.of(objects).scopes.keys()
    offered: dict[Kind, Object] = {}
    for each in others:
        for kind in served.of([each]).scopes:
            offered.setdefault(kind, each)
    found: dict[ObjectId, Object] = {}
    missing: dict[Kind, str] = {}
    for kind, why in _wanted(objects):
        if kind in own or _is_inline(kind, inline):
            continue
        if kind in offered:
            found[offered[kind].id] = offered[kind]
        else:
            missing.setdefault(kind, why)
    return Found(contents.in_order(found.values()), tuple(_lacking(missing, place)))


def missing_groups(objects: Sequence[Object]) -> set[str]:
    """The API groups of kinds that objects need and do not define themselves."""
    own = served.of(objects).scopes.keys()
    return {kind[0] for kind, _ in _wanted(objects) if kind not in own}


def _wanted(objects: Sequence[Object]) -> Iterator[tuple[Kind, str]]:
    nothing = served.Served()
    for each in objects:
        for start in known.starts(each):
            for kind in start.needs.kinds:
                yield (start.needs.group, kind), start.why
        if served.is_namespaced(each.id, nothing) is None:
            why = f"{each.id} is passed over, and tried again, until something brings its kind"
            yield (each.id.group, each.id.kind), why


def _is_inline(kind: Kind, names: set[str]) -> bool:
    """Whether another manifest has the CRD of a kind; of those only the names are known."""
    group, name = kind
    return any(f"{plural}.{group}" in names for plural in _plurals(name))


def _plurals(kind: str) -> tuple[str, ...]:
    """What a kind may be called in the plural."""
    name = kind.lower()
    return f"{name}s", f"{name}es", f"{name.removesuffix('y')}ies"


def _lacking(missing: Mapping[Kind, str], place: Place) -> Iterator[Remark]:
    by_why: dict[tuple[str, str], list[str]] = {}
    for (group, kind), why in missing.items():
        by_why.setdefault((group, why), []).append(kind)
    for (group, why), kinds in by_why.items():
        message = f"no CRD for {', '.join(kinds)} ({group}) is there when Talos applies this: {why}"
        hint = "Add a component with the CRDs to the cluster: they are embedded before this one."
        yield Remark(place, Grade.WARNING, message, hint)


def namespaces(objects: Sequence[Object], *, elsewhere: Iterable[ObjectId]) -> dict[str, list[Object]]:
    """Namespaces that nothing creates in time, with the objects in them."""
    there = NAMESPACES | {each.id.name for each in objects if each.id.kind == "Namespace"}
    there |= {id.name for id in elsewhere if id.kind == "Namespace"}
    found: dict[str, list[Object]] = {}
    for each in objects:
        if each.id.namespace and each.id.namespace not in there:
            found.setdefault(each.id.namespace, []).append(each)
    return found


def namespace(name: str) -> Object:
    """A Namespace, as ``helm --create-namespace`` makes it."""
    return Object({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def without_namespaces(missing: Mapping[str, Sequence[Object]], *, place: Place) -> list[Remark]:
    """An error for each namespace that is missing."""
    found = []
    for name, objects in sorted(missing.items()):
        listed = ", ".join(str(each.id) for each in objects[:_LISTED])
        more = f" and {len(objects) - _LISTED} more" if len(objects) > _LISTED else ""
        message = f"nothing inline creates the namespace {name} of {listed}{more}: Talos stops there, every time"
        hint = "Add the Namespace to the component, or give --create-namespace."
        found.append(Remark(place, Grade.ERROR, message, hint))
    return found


def webhooks(objects: Sequence[Object], *, behind: Sequence[str], place: Place) -> list[Remark]:
    """Webhooks that would stop Talos at an object of the same manifest while their own pods cannot run yet.

    Args:
        objects: What is to be embedded.
        behind: Names of inline manifests that Talos applies after this one.
        place: What remarks are about.
    """
    found = []
    plurals = {_kind(each): _plural(each) for each in objects if each.is_crd}
    for config in objects:
        if config.id.kind not in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            continue
        caught = [each for each in objects if each is not config and _catches(config, each, plurals)]
        if caught:
            listed = ", ".join(str(each.id) for each in caught[:_LISTED])
            message = f"{config.id} asks a webhook about {listed}: until its pods run, Talos stops there"
            if behind:
                message += f", and does not come to {', '.join(behind)}"
            hint = "Leave those objects to the engine, or give the inline manifest a name that sorts behind the others."
            found.append(Remark(place, Grade.WARNING, message, hint))
    return found


def _catches(config: Object, each: Object, plurals: Mapping[Kind, str]) -> bool:
    own = plurals.get((each.id.group, each.id.kind))
    resources = (own,) if own else _plurals(each.id.kind)
    hooks = config.value.get("webhooks")
    for hook in hooks if isinstance(hooks, list) else ():
        if not isinstance(hook, Mapping) or hook.get("failurePolicy", "Fail") != "Fail":
            continue
        if hook.get("namespaceSelector") or hook.get("objectSelector"):
            continue  # whom they select is not known here; most leave out what starts a cluster
        for rule in hook.get("rules") or ():
            if (
                _names(rule, "apiGroups", each.id.group)
                and any(_names(rule, "resources", name) for name in resources)
                and _names(rule, "operations", "CREATE")
            ):
                return True
    return False


def _names(rule: Any, field: str, value: str) -> bool:
    listed = rule.get(field) if isinstance(rule, Mapping) else None
    return isinstance(listed, list) and ("*" in listed or value in listed)


def _kind(crd: Object) -> Kind:
    spec = crd.value.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    names = spec.get("names")
    return str(spec.get("group") or ""), str(names.get("kind") or "") if isinstance(names, Mapping) else ""


def _plural(crd: Object) -> str:
    return crd.id.name.partition(".")[0]
