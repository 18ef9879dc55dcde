"""Services that want an address from the cluster's own pools, and whether they have one."""

from typing import Any

import pytest

from firstlight.gates import service_address
from firstlight.model.observation import GateView
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting


def service(name: str, *, ip: str = "", **spec: Any) -> dict[str, Any]:
    ingress = {"ingress": [{"ip": ip}]} if ip else {}
    return {
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"type": "LoadBalancer", **spec},
        "status": {"loadBalancer": ingress},
    }


NONE = "usually there is no pool, none selects it, or it is used up"


@pytest.mark.parametrize(
    ("services", "verdict"),
    [
        ([], Skipped("no Service asks for an address")),
        ([service("web", type="ClusterIP")], Skipped("no Service asks for an address")),
        ([service("web", loadBalancerClass="tailscale")], Skipped("no Service asks for an address")),
        ([service("web", ip="10.0.0.9")], Passed("1 Service of type LoadBalancer")),
        (
            [service("web", ip="10.0.0.9"), service("dns", loadBalancerClass="io.cilium/bgp-control-plane")],
            Waiting(f"Service shop/dns without an address; {NONE}"),
        ),
        (
            [service(f"s{number}") for number in range(5)],
            Waiting(f"Service shop/s0, Service shop/s1, Service shop/s2 and 2 more without an address; {NONE}"),
        ),
    ],
    ids=["none", "inside", "another-class", "there", "one-without", "many-without"],
)
def test_addresses(services: list[dict[str, Any]], verdict: Verdict) -> None:
    view = GateView(now=0.0, objects={service_address.SERVICES: tuple(services)})

    assert service_address.judge(view) == verdict
