"""What Argo CD must not compare, since somebody in the cluster writes it, each with its reason.

Certificates that a chart makes anew each time, the CA bundles of webhooks, and the replicas under an autoscaler.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model.component import ObjectId, Origin
from firstlight.model.handover import Passing
from firstlight.model.rendition import Object
from firstlight.model.source import Chart
from firstlight.ownership import ignoring as rules
from firstlight.plan import facts

_HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_BUNDLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "CustomResourceDefinition": (
        ("spec", "conversion", "webhook", "clientConfig"),
        "/spec/conversion/webhook/clientConfig/caBundle",
    ),
    "APIService": (("spec",), "/spec/caBundle"),
}
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """Fields of one object that Argo CD must leave alone."""

    id: ObjectId
    pointers: tuple[str, ...] = ()
    """As JSON pointers."""
    expressions: tuple[str, ...] = ()
    """As jq paths, where a pointer would have to count."""
    why: str

    @property
    def entry(self) -> dict[str, Any]:
        """As an Application has it."""
        named = {"group": self.id.group, "kind": self.id.kind, "name": self.id.name, "namespace": self.id.namespace}
        paths = {"jsonPointers": [*self.pointers], "jqPathExpressions": [*self.expressions]}
        return {name: value for name, value in {**named, **paths}.items() if value}


def needed(passing: Sequence[Passing], everything: Iterable[Object], origin: Origin) -> tuple[Ignored, ...]:
    """What one Application must ignore and does not yet.

    Args:
        passing: What passes to it.
        everything: All objects of the cluster that were rendered: an autoscaler may be brought by another one.
        origin: The Application.
    """
    is_chart = any(isinstance(each, Chart) for each in facts.sources(origin))
    scaled = {target: scaler for each in everything for target, scaler in _targets(each)}
    found = []
    for each in passing:
        value, id = each.object.value, each.id
        # A certificate that Git holds itself stays as it is.
        found += [*(_certificates(id, value) if is_chart else ()), *_bundles(id, value)]
        scaler = scaled.get((id.kind, id.namespace, id.name))
        if scaler and "replicas" in mapping(value, "spec"):
            found.append(Ignored(id=id, pointers=("/spec/replicas",), why=f"{scaler} scales it, and Git has replicas"))
    said = sequence(origin.definition, "spec", "ignoreDifferences")
    return tuple(each for each in found if not any(_covers(one, each) for one in said))


def _certificates(id: ObjectId, value: Mapping[str, Any]) -> Iterator[Ignored]:
    if keys := rules.certificates(value):
        pointers = tuple(f"/data/{each}" for each in keys)
        yield Ignored(id=id, pointers=pointers, why="every rendering of the chart makes another certificate")


def _bundles(id: ObjectId, value: Mapping[str, Any]) -> Iterator[Ignored]:
    """A CA bundle that Git has and somebody in the cluster writes; one that Git does not have is no difference."""
    injector = "cert-manager" if rules.is_injected(value) else ""

    def is_foreign(config: Mapping[str, Any]) -> bool:
        return "caBundle" in config and (bool(injector) or rules.is_placeholder(config["caBundle"]))

    why = f"{injector or 'its own controller'} writes the CA bundle, and Git has another"
    if id.kind in _HOOKS:
        if any(is_foreign(mapping(each, "clientConfig")) for each in sequence(value, "webhooks")):
            yield Ignored(id=id, expressions=(".webhooks[]?.clientConfig.caBundle",), why=why)
    elif id.kind in _BUNDLES:
        path, pointer = _BUNDLES[id.kind]
        if is_foreign(mapping(value, *path)):
            yield Ignored(id=id, pointers=(pointer,), why=why)


def _targets(scaler: Object) -> Iterator[tuple[tuple[str, str, str], str]]:
    if not rules.is_autoscaler(scaler.value):
        return
    target = mapping(scaler.value, "spec", "scaleTargetRef")
    kind = text(target, "kind") or "Deployment"
    if kind in _SCALED and text(target, "name"):
        yield (kind, scaler.id.namespace, text(target, "name")), f"{scaler.id.kind} {scaler.id.name}"


def _covers(said: Any, wanted: Ignored) -> bool:
    """Whether an entry that is there already ignores all of it."""
    id = wanted.id
    for name, value in (("group", id.group), ("kind", id.kind), ("name", id.name), ("namespace", id.namespace)):
        written = text(said, name)
        if written not in (value, "*") and not (name in ("name", "namespace") and not written):
            return False
    pointers = {str(each) for each in sequence(said, "jsonPointers")}
    paths = {_plain(str(each)) for each in sequence(said, "jqPathExpressions")}
    has_pointers = all(
        any(each == one or each.startswith(f"{one}/") for one in pointers) or _plain(each.replace("/", ".")) in paths
        for each in wanted.pointers
    )
    return has_pointers and all(_plain(each) in paths for each in wanted.expressions)


def _plain(path: str) -> str:
    return path.replace("?", "").replace('"', "").replace(" ", "")
