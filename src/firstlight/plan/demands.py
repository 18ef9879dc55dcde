"""What a component cannot do without: read from its objects where they were rendered, else from what it declares."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.component import Component, Form, ObjectId, Side
from firstlight.model.place import Place
from firstlight.model.plan import Severity
from firstlight.model.rendition import Object
from firstlight.model.source import Chart, Directory, Reference
from firstlight.plan import facts, hosts, known, pods, supplies
from firstlight.plan.facts import Facts
from firstlight.plan.things import Demand, Sort, Thing

_INJECTED = "cert-manager.io/inject-ca-from"
_WEBHOOKS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
_EVERYWHERE = {"kube-root-ca.crt"}
"""ConfigMaps that Kubernetes puts into every namespace."""
_DEEPEST = 30
"""Levels of values that are searched; charts have ten at most, and strangers' files may have any number."""


def of(known_facts: Facts, component: Component, side: Side) -> Iterator[Demand]:
    """What one side of a component needs."""
    yield from _declared(component, side)
    if side != Side.BOOTSTRAP:
        return
    rendition = known_facts.rendition(component, side)
    if rendition is None:
        yield from _static(component, side)
    else:
        place = facts.place(component, side)
        for item in rendition.objects:
            for thing, how, severity in _of_object(item):
                yield Demand(thing=thing, component=component.name, side=side, place=place, how=how, severity=severity)
            if _kind(item.id):
                # Its webhook may have to admit the object, and its gate may wait for a condition.
                thing, how = Thing(Sort.OPERATOR, item.id.group), f"acts upon {item.id.kind} {_named(item.id)}"
                yield Demand(
                    thing=thing, component=component.name, side=side, place=place, how=how, is_soft=True
                )  # fmt: skip
    yield from _gateway_api(known_facts, component, side)
    if component.role == "engine" and (host := hosts.of_url(known_facts.cluster.url)):
        how = f"follows {known_facts.cluster.url}"
        yield Demand(
            thing=Thing(Sort.HOST, host), component=component.name, side=side, place=known_facts.said("url"), how=how
        )


def _declared(component: Component, side: Side) -> Iterator[Demand]:
    """What the repo names: Secrets that decrypt, log in or hold values; hosts of charts; the operator of Flux."""

    def demand(thing: Thing, place: Place, how: str, **more: Any) -> Demand:
        return Demand(thing=thing, component=component.name, side=side, place=place, how=how, **more)

    for origin in facts.origins(component, side):
        for need in origin.secrets:
            yield demand(Thing(Sort.SECRET, need.name, need.namespace), need.place, need.why)
        charts = [each.name.rpartition("/")[2] for each in facts.sources(origin) if isinstance(each, Chart)]
        if origin.form == Form.FLUX_INSTANCE or "flux-instance" in charts:
            yield demand(Thing(Sort.OPERATOR, "fluxcd.controlplane.io"), origin.place, "a FluxInstance installs it")
        for source in facts.sources(origin):
            if isinstance(source, Chart):
                for values in source.values:
                    if not values.optional and (thing := _of_reference(values.reference)):
                        how, here = f"its values come from {values.reference}", side == Side.BOOTSTRAP
                        yield demand(thing, values.place, how, by_rendering=here)
                if side == Side.BOOTSTRAP and (host := hosts.of_url(source.repository)):
                    yield demand(Thing(Sort.HOST, host), origin.place, f"its chart comes from {source.repository}")
            elif isinstance(source, Directory):
                for reference in source.substitute_from:
                    if not reference.optional and (thing := _substituted(reference)):
                        yield demand(thing, origin.place, f"substitutes from {reference}", by_rendering=True)


def _of_reference(text_: str) -> Thing | None:
    """A thing by a reference such as ``Secret/ns/name``."""
    parts = text_.split("/")
    if len(parts) != 3 or parts[0] not in (Sort.SECRET, Sort.CONFIG_MAP):
        return None
    return Thing(Sort(parts[0]), parts[2], parts[1])


def _substituted(reference: Reference) -> Thing | None:
    if reference.kind not in (Sort.SECRET, Sort.CONFIG_MAP):
        return None
    return Thing(Sort(reference.kind), reference.name, reference.namespace)


def _static(component: Component, side: Side) -> Iterator[Demand]:
    """What is told without rendering: kinds of plain objects, and monitors that values switch on."""
    for origin in facts.origins(component, side):
        for made in origin.objects:
            if thing := _kind(made):
                how = f"has {made.kind} {_named(made)}"
                yield Demand(thing=thing, component=component.name, side=side, place=origin.place, how=how)
    for chart in facts.charts(component, side):
        for values in chart.values:
            if path := _monitor(values.inline, _DEEPEST):
                thing = Thing(Sort.KIND, "monitoring.coreos.com/ServiceMonitor")
                how = f"its values switch on {path}"
                yield Demand(
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


def _gateway_api(known_facts: Facts, component: Component, side: Side) -> Iterator[Demand]:
    """Cilium looks for the Gateway API once, when its operator starts."""
    if (about := known.of(component)) is None or about[0] != "cilium":
        return
    wanted = facts.value(component, side, "gatewayAPI", "enabled") is True
    for item in known_facts.objects(component, side):
        if item.id.kind == "ConfigMap" and item.id.name == "cilium-config":
            wanted = text(item.value, "data", "enable-gateway-api") == "true"
    if wanted:
        yield Demand(
            thing=Thing(Sort.KIND, "gateway.networking.k8s.io/Gateway"), component=component.name, side=side,
            place=facts.place(component, side), severity=Severity.WARNING,
            how="its operator looks for the Gateway API when it starts, and does without until it is restarted",
        )  # fmt: skip


def _of_object(item: Object) -> Iterator[tuple[Thing, str, Severity]]:
    identity, who = item.id, f"{item.id.kind} {item.id.name}"
    if thing := _kind(identity):
        yield thing, f"has {identity.kind} {_named(identity)}", Severity.ERROR
    if store := supplies.store_of(item):
        yield store, f"{who} reads from it", Severity.WARNING
    if identity.kind in _WEBHOOKS:
        yield from _of_webhooks(item)
    if identity.kind == "PersistentVolumeClaim":
        yield _class(at(item.value, "spec")), f"{who} is provisioned by it", Severity.ERROR
    if not pods.makes_pods(item):
        return
    severity = Severity.ERROR if pods.runs_at_start(item) else Severity.WARNING
    for each in pods.references(item):
        if each.name not in _EVERYWHERE:
            how = f"{who} {'reads it into its environment' if each.how == 'environment' else 'mounts it'}"
            yield Thing(Sort(each.kind), each.name, identity.namespace), how, severity
    for image in pods.images(item):
        yield Thing(Sort.HOST, hosts.without_port(pods.registry(image))), f"{who} runs {image}", severity
    name = text(pods.template(item), "spec", "priorityClassName")
    if name and not name.startswith("system-"):
        yield Thing(Sort.PRIORITY_CLASS, name), f"{who} has that priority", severity
    for claim in sequence(item.value, "spec", "volumeClaimTemplates"):
        yield _class(at(claim, "spec")), f"{who} claims volumes of it", severity


def _of_webhooks(item: Object) -> Iterator[tuple[Thing, str, Severity]]:
    """The Service that answers, and cert-manager where it is to write the CA; only where a failure blocks."""
    who = f"{item.id.kind} {item.id.name}"
    strict = [each for each in sequence(item.value, "webhooks") if text(each, "failurePolicy") != "Ignore"]
    for each in strict:
        service = mapping(each, "clientConfig", "service")
        if name := text(service, "name"):
            how = f"{who} refuses what it does not admit"
            yield Thing(Sort.SERVICE, name, text(service, "namespace")), how, Severity.ERROR
    if strict and text(item.value, "metadata", "annotations", _INJECTED):
        yield Thing(Sort.OPERATOR, "cert-manager.io"), f"{who} gets its CA from cert-manager", Severity.ERROR


def _class(claim: Any) -> Thing:
    return Thing(Sort.STORAGE_CLASS, text(claim, "storageClassName"))


def _kind(identity: ObjectId) -> Thing | None:
    return None if known.is_builtin(identity.group) else Thing(Sort.KIND, f"{identity.group}/{identity.kind}")


def _named(identity: ObjectId) -> str:
    return "/".join(each for each in (identity.namespace, identity.name) if each)
