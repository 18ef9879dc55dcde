"""What objects need when Talos applies them: kinds, namespaces, webhooks that answer.

Talos goes over all objects of all manifests, again and again until nothing is wrong. An object whose kind is not
served is passed over until the next time. Most other errors end the pass, so that nothing behind is applied: a missing
namespace, or a webhook that nobody answers.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.model import versions
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.render import served_kinds
from firstlight.render.inline import known_charts, manifest_contents
from firstlight.render.inline.manifest_contents import plain_value

NAMESPACES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""What is there before anything is applied."""
_CRD = "CustomResourceDefinition"
_LISTED = 5
Kind = tuple[str, str]
"""A group and a kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class NeededCrds:
    """CRDs to bring along, and what is missing."""

    crds: tuple[Object, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def needed_crds(
    objects: Sequence[Object], *, others: Sequence[Object], elsewhere: Iterable[ObjectId], place: Place
) -> NeededCrds:  # fmt: skip
    """The CRDs that objects need when they start and do not bring themselves.

    Args:
        objects: What is to be embedded.
        others: CRDs that other components of the cluster bring.
        elsewhere: Objects of the cluster's other inline manifests.
        place: What diagnostics are about.
    """
    inline = {id.name for id in elsewhere if id.kind == _CRD}
    own = served_kinds.served_by(objects).scopes.keys()
    offered: dict[Kind, Object] = {}
    for each in others:
        for kind in served_kinds.served_by([each]).scopes:
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
    return NeededCrds(manifest_contents.in_order(found.values()), tuple(_lacking(missing, place)))


def missing_groups(objects: Sequence[Object]) -> set[str]:
    """The API groups of kinds that objects need and do not define themselves."""
    own = served_kinds.served_by(objects).scopes.keys()
    return {kind[0] for kind, _ in _wanted(objects) if kind not in own}


def _wanted(objects: Sequence[Object]) -> Iterator[tuple[Kind, str]]:
    nothing = served_kinds.ServedKinds()
    for each in objects:
        for start in known_charts.starts(each):
            for kind in start.needs.kinds:
                yield (start.needs.group, kind), start.why
        if served_kinds.is_namespaced(each.id, nothing) is None:
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


def _lacking(missing: Mapping[Kind, str], place: Place) -> Iterator[Diagnostic]:
    by_why: dict[tuple[str, str], list[str]] = {}
    for (group, kind), why in missing.items():
        by_why.setdefault((group, why), []).append(kind)
    for (group, why), kinds in by_why.items():
        message = f"no CRD for {', '.join(kinds)} ({group}) is there when Talos applies this: {why}"
        hint = "Add a component with the CRDs to the cluster: they are embedded before this one."
        yield Diagnostic.warning("inline-crd-missing", message, at=place, fix=hint)


def missing_namespaces(objects: Sequence[Object], *, elsewhere: Iterable[ObjectId]) -> dict[str, list[Object]]:
    """Namespaces that nothing creates in time, with the objects in them."""
    there = NAMESPACES | {each.id.name for each in objects if each.id.kind == "Namespace"}
    there |= {id.name for id in elsewhere if id.kind == "Namespace"}
    found: dict[str, list[Object]] = {}
    for each in objects:
        if each.id.namespace and each.id.namespace not in there:
            found.setdefault(each.id.namespace, []).append(each)
    return found


def namespace_object(name: str) -> Object:
    """A Namespace, as ``helm --create-namespace`` makes it."""
    return Object({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def namespace_diagnostics(missing: Mapping[str, Sequence[Object]], *, place: Place) -> list[Diagnostic]:
    """An error for each namespace that is missing."""
    found = []
    for name, objects in sorted(missing.items()):
        listed = ", ".join(str(each.id) for each in objects[:_LISTED])
        more = f" and {len(objects) - _LISTED} more" if len(objects) > _LISTED else ""
        message = f"nothing inline creates the namespace {name} of {listed}{more}: Talos stops there, every time"
        hint = "Add the Namespace to the component, or give --create-namespace."
        found.append(Diagnostic.error("inline-namespace-missing", message, at=place, fix=hint))
    return found


def webhook_diagnostics(objects: Sequence[Object], *, behind: Sequence[str], place: Place) -> list[Diagnostic]:
    """Webhooks that would stop Talos at an object of the same manifest while their own pods cannot run yet.

    Args:
        objects: What is to be embedded.
        behind: Names of inline manifests that Talos applies after this one.
        place: What diagnostics are about.
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
            found.append(Diagnostic.warning("inline-webhook-early", message, at=place, fix=hint))
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


# How much fits: into an object, into a machine config, and into a message to a machine that has none yet.


MESSAGE_LIMIT = 32 << 20
"""Bytes of a message that Talos and Omni take (``constants.GRPCMaxMessageSize``)."""
CONFIG_LIMIT = MESSAGE_LIMIT // 3
"""Bytes of a machine config: a message about it holds it twice, and Talos tests no more than a third."""
MAINTENANCE_LIMIT = 4 << 20
"""Bytes that a machine in maintenance mode takes before Talos 1.13, which is gRPC's default (omni#2744)."""
OBJECT_LIMIT = 3 << 19
"""Bytes of an object: etcd's default for a request. Kubernetes packs its own kinds, but no custom ones."""
DATA_LIMIT = 1 << 20
"""Bytes in a ConfigMap or Secret (``MaxSecretSize``)."""
_REST = 64 << 10
"""Bytes of a machine config besides its manifests, generously."""


def size_diagnostics(
    objects: Sequence[Object], *, size: int, others: int, talos: str, place: Place
) -> list[Diagnostic]:
    """What is too large.

    Args:
        objects: What is to be embedded.
        size: Bytes of the contents.
        others: Bytes of the cluster's other inline manifests.
        talos: The version of Talos; may be empty.
        place: What diagnostics are about.
    """
    return [*_objects(objects, place), *_config(size, others, talos, place)]


def _objects(objects: Sequence[Object], place: Place) -> Iterator[Diagnostic]:
    for each in objects:
        encoded = len(msgspec.json.encode(plain_value(each.value)))
        if encoded > OBJECT_LIMIT:
            message = f"{each.id} has {shown_size(encoded)}: etcd takes {shown_size(OBJECT_LIMIT)}"
            yield Diagnostic.error("object-too-large", message, at=place, fix="Make it smaller, or split it.")
        elif each.id.kind in ("ConfigMap", "Secret") and (data := _data(each)) > DATA_LIMIT:
            message = f"{each.id} has {shown_size(data)} of data: Kubernetes takes {shown_size(DATA_LIMIT)}"
            yield Diagnostic.error("object-too-large", message, at=place, fix="Make it smaller, or split it.")


def _data(each: Object) -> int:
    """Bytes of data, as Kubernetes counts them."""
    size = 0
    for field in ("data", "stringData", "binaryData"):
        values = each.value.get(field)
        for value in values.values() if isinstance(values, Mapping) else ():
            length = len(value.encode(errors="replace")) if isinstance(value, str) else 0
            is_encoded = field == "binaryData" or (field == "data" and each.id.kind == "Secret")
            size += length * 3 // 4 if is_encoded else length
    return size


def _config(size: int, others: int, talos: str, place: Place) -> Iterator[Diagnostic]:
    total = size + others + _REST
    beside = f", with {shown_size(others)} of other inline manifests" if others else ""
    if total > CONFIG_LIMIT:
        message = (
            f"{shown_size(size)} of contents{beside}: Talos is not safe with more than "
            f"{shown_size(CONFIG_LIMIT)} of config"
        )
        hint = "Leave CRDs and whatever can wait to the engine, or to extraManifests, which machines fetch themselves."
        yield Diagnostic.error("inline-too-large", message, at=place, fix=hint)
    elif total > MAINTENANCE_LIMIT and _is_before_1_13(talos):
        version = f"Talos {talos}" if talos else "Talos before 1.13"
        message = (
            f"{shown_size(size)} of contents{beside}: in maintenance mode {version} takes "
            f"{shown_size(MAINTENANCE_LIMIT)}"
        )
        hint = "New and reset machines would not join, and Omni does not say why. Upgrade Talos, or embed less."
        yield Diagnostic.warning("inline-too-large-for-maintenance", message, at=place, fix=hint)


def _is_before_1_13(version: str) -> bool:
    """Whether a version is older; of one that is not known nobody can say that it is not."""
    line = versions.minor(version)
    return line is None or line < (1, 13)


def shown_size(size: int) -> str:
    """A size for people."""
    if size < 1 << 10:
        return f"{size} bytes"
    return f"{size / (1 << 10):.0f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"
