"""Ways in from outside: Gateways that are not programmed, Ingresses of a class that does not exist."""

from collections.abc import Iterator

from firstlight.document.within import text
from firstlight.gates import status
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, name_of


def gateways(scene: Scene) -> Iterator[Found]:
    """Gateways that nobody has taken, or set up."""
    for value in scene.of("gateway.networking.k8s.io/Gateway"):
        bad = next((each for each in ("Accepted", "Programmed") if status.is_false(value, each)), "")
        unseen = text(status.condition(value, "Accepted"), "status") in ("", "Unknown")
        if not scene.is_over(status.created(value), times=2) or status.is_going(value) or not (bad or unseen):
            continue
        name = text(value, "spec", "gatewayClassName")
        space = text(value, "metadata", "namespace")
        is_known = scene.one("gateway.networking.k8s.io/GatewayClass", name) is not None
        said = status.said(text(status.condition(value, bad), "message")) if bad else ""
        why = said or ("no controller has taken it" if is_known else f"the GatewayClass {name} does not exist")
        own = [
            name_of(each)
            for each in scene.of("/Service")
            if text(each, "metadata", "namespace") == space
            and text(each, "metadata", "labels", "gateway.networking.k8s.io/gateway-name")
            == text(value, "metadata", "name")
        ]
        yield Found(
            rule="gateway-not-programmed",
            subject=name_of(value),
            says=f"{name_of(value)} does not carry traffic: {why}",
            evidence=(found.of_condition(value, bad or "Accepted"),),
            next=(found.kubectl("describe", value), found.command("kubectl get gatewayclasses", "which there are")),
            since=status.since(value, bad) if bad else status.created(value),
            needs=found.names(
                own,
                f"Service {space}/cilium-gateway-{text(value, 'metadata', 'name')}",
                found.NETWORK,
                found.controller("cilium-operator"),
                f"Namespace {space}",
                f"GatewayClass {name}",
            ),
        )


def ingresses(scene: Scene) -> Iterator[Found]:
    """Ingresses of a class that nobody serves."""
    if not scene.is_listed("networking.k8s.io/IngressClass"):
        return
    for value in scene.of("networking.k8s.io/Ingress"):
        name = text(value, "spec", "ingressClassName")
        if (
            not name
            or scene.one("networking.k8s.io/IngressClass", name) is not None
            or not scene.is_over(status.created(value))
        ):
            continue
        yield Found(
            rule="ingress-class-missing",
            subject=name_of(value),
            says=f"{name_of(value)} is of the class {name}, which does not exist: nobody serves it",
            evidence=(found.of_field(value, "spec.ingressClassName", name),),
            next=(found.command("kubectl get ingressclasses", "which there are"),),
            since=status.created(value),
            needs=frozenset({f"Namespace {text(value, 'metadata', 'namespace')}"}),
        )
