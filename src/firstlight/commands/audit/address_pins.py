"""The load-balancer addresses that services ask for."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.component import Component
from firstlight.model.place import Place
from firstlight.repo.address_pools import CILIUM, METALLB
from firstlight.repo.chart_values import ValuesLayer
from firstlight.repo.platform_view import AppliedObject, PlatformView

ANNOTATIONS: Mapping[str, str] = {
    "lbipam.cilium.io/ips": CILIUM,
    "io.cilium/lb-ipam-ips": CILIUM,
    "metallb.io/loadBalancerIPs": METALLB,
    "metallb.universe.tf/loadBalancerIPs": METALLB,
    "kube-vip.io/loadbalancerIPs": "",
}
"""Who reads an annotation; kube-vip takes any address and has no pools."""
_ASKING = frozenset((*ANNOTATIONS, "loadBalancerIP"))
KUBE_VIP = "kube-vip"
_SHARING = (
    "lbipam.cilium.io/sharing-key", "io.cilium/lb-ipam-sharing-key",
    "metallb.io/allow-shared-ip", "metallb.universe.tf/allow-shared-ip",
)  # fmt: skip
_GATEWAY = "gateway.networking.k8s.io/Gateway"
_GATEWAY_CONTROLLER = "io.cilium/gateway-controller"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AddressPin:
    """An address that a service asks for."""

    cluster: str
    address: AddressRange
    who: str
    place: Place
    kind: str
    """The kind of pool that it must lie in; empty for any."""
    labels: Mapping[str, str] | None = dataclasses.field(default=None, compare=False)
    """The service's labels, where they are known."""
    sharing: str = ""
    component: str = ""
    is_off: bool = False
    """What asks for it is switched off."""


def pins(scene: PlatformView, cluster: str) -> list[AddressPin]:
    """The addresses that services of a cluster ask for, those in values of charts among them."""
    return list(dict.fromkeys((*_of_objects(scene, cluster), *_of_values(scene, cluster))))


def _of_objects(scene: PlatformView, cluster: str) -> Iterator[AddressPin]:
    for item in scene.of_cluster(cluster, "/Service"):
        annotations = within.at(item.value, "metadata", "annotations")
        yield from _asked(item, annotations, ("metadata", "annotations"), labels=_service_labels(item))
        address = address_range.address(within.at(item.value, "spec", "loadBalancerIP"))
        if address:
            place = item.object.at("spec", "loadBalancerIP")
            yield _pin(item, address, place, labels=_service_labels(item), annotations=annotations)
    for item in scene.of_cluster(cluster, _GATEWAY):
        if is_ciliums(scene, item):
            yield from _of_gateway(item)


def _of_gateway(item: AppliedObject) -> Iterator[AddressPin]:
    """Cilium makes a Service of it, with the annotations of its infrastructure and its own addresses."""
    own = within.at(item.value, "spec", "infrastructure", "labels")
    labels = {
        **(own if isinstance(own, Mapping) else {}),
        "io.cilium.gateway/owning-gateway": item.object.id.name,
        "gateway.networking.k8s.io/gateway-name": item.object.id.name,
    }
    steps = ("spec", "infrastructure", "annotations")
    yield from _asked(item, within.at(item.value, *steps), steps, labels=labels)
    for number, each in enumerate(within.sequence(item.value, "spec", "addresses")):
        address = address_range.address(within.at(each, "value"))
        if address and within.at(each, "type") in (None, "IPAddress"):
            yield _pin(item, address, item.object.at("spec", "addresses", number, "value"), labels=labels, kind=CILIUM)


def is_ciliums(scene: PlatformView, gateway: AppliedObject) -> bool:
    """Whether Cilium serves a Gateway, as its class says."""
    wanted = str(within.at(gateway.value, "spec", "gatewayClassName"))
    for each in scene.of_cluster(gateway.cluster, "gateway.networking.k8s.io/GatewayClass"):
        if each.object.id.name == wanted:
            return bool(within.at(each.value, "spec", "controllerName") == _GATEWAY_CONTROLLER)
    return wanted == "cilium"


def _service_labels(item: AppliedObject) -> dict[str, str]:
    labels = within.at(item.value, "metadata", "labels")
    return {
        **(labels if isinstance(labels, Mapping) else {}),
        "io.kubernetes.service.namespace": item.object.id.namespace,
        "io.kubernetes.service.name": item.object.id.name,
    }


def _asked(
    item: AppliedObject, annotations: Any, steps: tuple[str, ...], *, labels: Mapping[str, str]
) -> Iterator[AddressPin]:
    for key, kind in ANNOTATIONS.items():
        for address in _addresses(within.at(annotations, key)):
            place = item.object.at(*steps, key)
            yield _pin(item, address, place, labels=labels, kind=kind or KUBE_VIP, annotations=annotations)


def _pin(
    item: AppliedObject,
    address: AddressRange,
    place: Place,
    *,
    labels: Mapping[str, str],
    kind: str = "",
    annotations: Any = None,
) -> AddressPin:
    return AddressPin(
        cluster=item.cluster,
        address=address,
        who=str(item.object.id),
        place=place,
        kind=kind,
        labels=labels,
        sharing=_sharing(annotations),
        component=item.component.name,
    )


def _sharing(annotations: Any) -> str:
    return next((str(found) for key in _SHARING if (found := within.at(annotations, key))), "")


def _addresses(text: Any) -> list[AddressRange]:
    return [found for each in str(text).split(",") if (found := address_range.address(each))] if text else []


def _of_values(scene: PlatformView, cluster: str) -> Iterator[AddressPin]:
    for component in scene.platform.components_of(cluster):
        asked: dict[str, list[AddressPin]] = {}
        for layer in scene.values(component):
            # The last layer that asks for a service counts; GitOps' half comes last.
            asked |= _of_layer(layer, component)
        yield from (pin for each in asked.values() for pin in each)


def _of_layer(layer: ValuesLayer, component: Component) -> dict[str, list[AddressPin]]:
    found: dict[str, list[AddressPin]] = {}
    for steps, inner in _mappings(layer.value):
        if _ASKING.isdisjoint(inner):
            continue
        # A Service's annotations stand beside its type and labels.
        wanted = [
            (key, kind, each, steps[:-1]) for key, kind in ANNOTATIONS.items() for each in _addresses(inner.get(key))
        ]
        wanted += [("loadBalancerIP", "", each, steps) for each in _addresses(inner.get("loadBalancerIP"))]
        for key, kind, address, of_service in wanted:
            who = f"{component.name}: {'.'.join(map(str, of_service)) or 'its values'}"
            pin = AddressPin(
                cluster=component.cluster,
                address=address,
                who=who,
                place=layer.at(*steps, key),
                kind=kind if key == "loadBalancerIP" else kind or KUBE_VIP,
                sharing=_sharing(inner),
                component=component.name,
                is_off=_is_off(layer.value, steps),
            )
            found.setdefault(who, []).append(pin)
    return found


def _mappings(
    value: Any, steps: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    if isinstance(value, (dict, Mapping)):
        yield steps, value
        for key, each in value.items():
            if isinstance(each, (dict, list, Mapping)):
                yield from _mappings(each, (*steps, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _mappings(each, (*steps, number))


def _is_off(values: Mapping[str, Any], steps: Iterable[str | int]) -> bool:
    """Whether a switch on the way is off: ``enabled``, or the one of the mesh's API server."""
    inner: Any = values
    for step in steps:
        if within.at(inner, "enabled") is False or (step == "apiserver" and within.at(inner, "useAPIServer") is False):
            return True
        inner = within.at(inner, step)
    return within.at(inner, "enabled") is False
