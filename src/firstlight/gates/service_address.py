"""Whether Services of type LoadBalancer have addresses, as far as the cluster's own pools are to give them."""

from collections.abc import Mapping
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

SERVICES = WatchTarget(api_version="v1", kind="Service")
_OWN = ("io.cilium/", "metallb")
"""Classes of what gives addresses from pools of the cluster; others, such as Tailscale's, give them elsewhere."""
_SHOWN = 3


def addresses_question() -> GateQuestion:
    """Ask of all Services that want an address."""
    part = gate_parts.GatePart((SERVICES,), judge)
    return gate_parts.make_question(Gate(Subject.WORKLOAD), "addresses", part, hint="See: firstlight doctor")


def judge(view: GateView) -> Verdict:
    """Name those without an address, or count those that have one."""
    wanting = [each for each in view.all(SERVICES) if is_balanced(each)]
    without = [_name(each) for each in wanting if not addresses(each)]
    if without:
        more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
        usually = "there is no pool, none selects it, or it is used up"
        return Waiting(f"{', '.join(without[:_SHOWN])}{more} without an address; usually {usually}")
    if not wanting:
        return Skipped("no Service asks for an address")
    return Passed(f"{len(wanting)} Service{'' if len(wanting) == 1 else 's'} of type LoadBalancer")


def is_balanced(service: Mapping[str, Any]) -> bool:
    """Whether a Service wants an address from the cluster's own pools."""
    kind = text(service, "spec", "loadBalancerClass")
    is_own = not kind or kind.startswith(_OWN)
    return text(service, "spec", "type") == "LoadBalancer" and is_own and not conditions.is_going(service)


def addresses(service: Mapping[str, Any]) -> list[str]:
    """The addresses that a Service has got."""
    ingress = sequence(service, "status", "loadBalancer", "ingress")
    return [found for each in ingress if (found := text(each, "ip") or text(each, "hostname"))]


def _name(service: Mapping[str, Any]) -> str:
    return f"Service {text(service, 'metadata', 'namespace')}/{text(service, 'metadata', 'name')}"


# A Service of a cluster whose pools are used up:
#
#   spec: {type: LoadBalancer}
#   status:
#     loadBalancer: {}
#     conditions:
#       - {type: cilium.io/IPAMRequestSatisfied, status: "False", reason: out_of_ips}
