"""What a component cannot do without: read from its objects where they were rendered, else from what it declares."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import flux_names
from firstlight.model.component import Component, ObjectId, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.source import ChartSource, DirectorySource, ObjectReference
from firstlight.plan import cluster_facts, pod_needs, supplies, well_known
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.plan.supplies import ComponentDemand, Requisite, RequisiteKind

_INJECTED = "cert-manager.io/inject-ca-from"
_WEBHOOKS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
_EVERYWHERE = {"kube-root-ca.crt"}
"""ConfigMaps that Kubernetes puts into every namespace."""
_DEEPEST = 30
"""Levels of values that are searched; charts have ten at most, and strangers' files may have any number."""


def of(known_facts: ClusterFacts, component: Component, side: Side) -> Iterator[ComponentDemand]:
    """What one side of a component needs."""
    yield from _declared(component, side)
    if side != Side.BOOTSTRAP:
        return
    rendition = known_facts.rendition(component, side)
    if rendition is None:
        yield from _static(component, side)
    else:
        place = cluster_facts.place(component, side)
        for item in rendition.objects:
            for thing, how, severity in _of_object(item):
                yield ComponentDemand(
                    thing=thing, component=component.name, side=side, place=place, how=how, severity=severity
                )
            if _kind(item.id):
                # Its webhook may have to admit the object, and its gate may wait for a condition.
                thing, how = (
                    Requisite(RequisiteKind.OPERATOR, item.id.group),
                    f"acts upon {item.id.kind} {_named(item.id)}",
                )
                yield ComponentDemand(
                    thing=thing, component=component.name, side=side, place=place, how=how, is_soft=True
                )  # fmt: skip
    yield from _gateway_api(known_facts, component, side)
    if component.role == "engine" and (host := supplies.host_of_url(known_facts.cluster.url)):
        how = f"follows {known_facts.cluster.url}"
        yield ComponentDemand(
            thing=Requisite(RequisiteKind.HOST, host),
            component=component.name,
            side=side,
            place=known_facts.said("url"),
            how=how,
        )


def _declared(component: Component, side: Side) -> Iterator[ComponentDemand]:
    """What the repo names: Secrets that decrypt, log in or hold values; hosts of charts; the operator of Flux."""

    def demand(thing: Requisite, place: Place, how: str, **more: Any) -> ComponentDemand:
        return ComponentDemand(thing=thing, component=component.name, side=side, place=place, how=how, **more)

    for origin in cluster_facts.origins(component, side):
        for need in origin.secrets:
            yield demand(Requisite(RequisiteKind.SECRET, need.name, need.namespace), need.place, need.why)
        charts = [
            each.name.rpartition("/")[2] for each in cluster_facts.sources(origin) if isinstance(each, ChartSource)
        ]
        if origin.form == SourceForm.FLUX_INSTANCE or flux_names.INSTANCE_CHART in charts:
            yield demand(
                Requisite(RequisiteKind.OPERATOR, flux_names.OPERATOR_GROUP), origin.place, "a FluxInstance installs it"
            )
        for source in cluster_facts.sources(origin):
            if isinstance(source, ChartSource):
                for values in source.values:
                    if not values.optional and (thing := _of_reference(values.reference)):
                        how, here = f"its values come from {values.reference}", side == Side.BOOTSTRAP
                        yield demand(thing, values.place, how, by_rendering=here)
                if side == Side.BOOTSTRAP and (host := supplies.host_of_url(source.repository)):
                    yield demand(
                        Requisite(RequisiteKind.HOST, host), origin.place, f"its chart comes from {source.repository}"
                    )
            elif isinstance(source, DirectorySource):
                for reference in source.substitute_from:
                    if not reference.optional and (thing := _substituted(reference)):
                        yield demand(thing, origin.place, f"substitutes from {reference}", by_rendering=True)


def _of_reference(text_: str) -> Requisite | None:
    """A thing by a reference such as ``Secret/ns/name``."""
    parts = text_.split("/")
    if len(parts) != 3 or parts[0] not in (RequisiteKind.SECRET, RequisiteKind.CONFIG_MAP):
        return None
    return Requisite(RequisiteKind(parts[0]), parts[2], parts[1])


def _substituted(reference: ObjectReference) -> Requisite | None:
    if reference.kind not in (RequisiteKind.SECRET, RequisiteKind.CONFIG_MAP):
        return None
    return Requisite(RequisiteKind(reference.kind), reference.name, reference.namespace)


def _static(component: Component, side: Side) -> Iterator[ComponentDemand]:
    """What is told without rendering: kinds of plain objects, and monitors that values switch on."""
    for origin in cluster_facts.origins(component, side):
        for made in origin.objects:
            if thing := _kind(made):
                how = f"has {made.kind} {_named(made)}"
                yield ComponentDemand(thing=thing, component=component.name, side=side, place=origin.place, how=how)
    for chart in cluster_facts.charts(component, side):
        for values in chart.values:
            if path := _monitor(values.inline, _DEEPEST):
                thing = Requisite(RequisiteKind.KIND, "monitoring.coreos.com/ServiceMonitor")
                how = f"its values switch on {path}"
                yield ComponentDemand(
                    thing=thing, component=component.name, side=side, place=values.place, how=how,
                    severity=Severity.WARNING,
                )  # fmt: skip
                return


def _monitor(values: Any, depth: int) -> str:
    """The path of a ServiceMonitor that is switched on."""
    if not isinstance(values, Mapping) or not depth:
        return ""
    for key, inner in values.items():
        if key == "serviceMonitor" and at(inner, "enabled") is True:
            return f"{key}.enabled"
        if at(inner, "enabled") is not False and (deeper := _monitor(inner, depth - 1)):
            return f"{key}.{deeper}"
    return ""


def _gateway_api(known_facts: ClusterFacts, component: Component, side: Side) -> Iterator[ComponentDemand]:
    """Cilium looks for the Gateway API once, when its operator starts."""
    if (about := well_known.of(component)) is None or about[0] != "cilium":
        return
    wanted = cluster_facts.value(component, side, "gatewayAPI", "enabled") is True
    for item in known_facts.objects(component, side):
        if item.id.kind == "ConfigMap" and item.id.name == "cilium-config":
            wanted = text(item.value, "data", "enable-gateway-api") == "true"
    if wanted:
        yield ComponentDemand(
            thing=Requisite(RequisiteKind.KIND, "gateway.networking.k8s.io/Gateway"),
            component=component.name,
            side=side,
            place=cluster_facts.place(component, side),
            severity=Severity.WARNING,
            how="its operator looks for the Gateway API when it starts, and does without until it is restarted",
        )


def _of_object(item: Object) -> Iterator[tuple[Requisite, str, Severity]]:
    identity, who = item.id, f"{item.id.kind} {item.id.name}"
    if thing := _kind(identity):
        yield thing, f"has {identity.kind} {_named(identity)}", Severity.ERROR
    if store := supplies.store_of(item):
        yield store, f"{who} reads from it", Severity.WARNING
    if identity.kind in _WEBHOOKS:
        yield from _of_webhooks(item)
    if identity.kind == "PersistentVolumeClaim":
        yield _class(at(item.value, "spec")), f"{who} is provisioned by it", Severity.ERROR
    if not pod_needs.makes_pods(item):
        return
    severity = Severity.ERROR if pod_needs.runs_at_start(item) else Severity.WARNING
    for each in pod_needs.references(item):
        if each.name not in _EVERYWHERE:
            how = f"{who} {'reads it into its environment' if each.how == 'environment' else 'mounts it'}"
            yield Requisite(RequisiteKind(each.kind), each.name, identity.namespace), how, severity
    for image in pod_needs.images(item):
        yield (
            Requisite(RequisiteKind.HOST, supplies.without_port(pod_needs.registry(image))),
            f"{who} runs {image}",
            severity,
        )
    name = text(pod_needs.template(item), "spec", "priorityClassName")
    if name and not name.startswith("system-"):
        yield Requisite(RequisiteKind.PRIORITY_CLASS, name), f"{who} has that priority", severity
    for claim in sequence(item.value, "spec", "volumeClaimTemplates"):
        yield _class(at(claim, "spec")), f"{who} claims volumes of it", severity


def _of_webhooks(item: Object) -> Iterator[tuple[Requisite, str, Severity]]:
    """The Service that answers, and cert-manager where it is to write the CA; only where a failure blocks."""
    who = f"{item.id.kind} {item.id.name}"
    strict = [each for each in sequence(item.value, "webhooks") if text(each, "failurePolicy") != "Ignore"]
    for each in strict:
        service = mapping(each, "clientConfig", "service")
        if name := text(service, "name"):
            how = f"{who} refuses what it does not admit"
            yield Requisite(RequisiteKind.SERVICE, name, text(service, "namespace")), how, Severity.ERROR
    if strict and text(item.value, "metadata", "annotations", _INJECTED):
        yield (
            Requisite(RequisiteKind.OPERATOR, "cert-manager.io"),
            f"{who} gets its CA from cert-manager",
            Severity.ERROR,
        )


def _class(claim: Any) -> Requisite:
    return Requisite(RequisiteKind.STORAGE_CLASS, text(claim, "storageClassName"))


def _kind(identity: ObjectId) -> Requisite | None:
    return (
        None
        if well_known.is_builtin(identity.group)
        else Requisite(RequisiteKind.KIND, f"{identity.group}/{identity.kind}")
    )


def _named(identity: ObjectId) -> str:
    return "/".join(each for each in (identity.namespace, identity.name) if each)
