"""Links of Talos machines: who gives them an address."""

from collections.abc import Iterator

from firstlight.commands.audit import wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model.cluster import Machine, MachinePart
from firstlight.model.fact import Basis, Confidence, Standing
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_LINKS = frozenset({
    "LinkConfig", "BondConfig", "BridgeConfig", "VLANConfig", "DummyLinkConfig", "VethConfig", "VRFConfig",
    "WireguardConfig",
})  # fmt: skip
_DHCP = frozenset({"DHCPv4Config", "DHCPv6Config"})
_ELSEWHERE = Basis(
    Standing.DEFAULT, Confidence.LIKELY, "kernel arguments or the platform of the machine may give an address"
)


def without_address(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Machines whose documents end the DHCP that Talos runs by default, and put nothing in its place."""
    for cluster in scene.clusters:
        found: dict[Place, tuple[MachinePart, list[str]]] = {}
        for machine in cluster.machines:
            parts = [each for each in cluster.parts if _is_for(each, machine)]
            links = [each for each in parts if each.kind in _LINKS and not _is_deleted(each)]
            if links and not any(map(_gives_address, parts)):
                found.setdefault(links[0].config.place(), (links[0], []))[1].append(machine.name)
        for place, (link, machines) in found.items():
            names = wording.listed_names(machines)
            title = f"{link.kind} {within.text(link.config.value, 'name')}".rstrip()
            yield rule.finding(
                f"{title} ends DHCP on every link of {names}, and no document gives any link an address",
                at=place,
                clusters=(cluster.name,),
                key=f"links of {names}",
                rests=(_ELSEWHERE,),
            )


def _is_for(part: MachinePart, machine: Machine) -> bool:
    return part.role in (None, machine.role) and part.machine in ("", machine.name)


def _is_deleted(part: MachinePart) -> bool:
    return within.text(part.config.value, "$patch") == "delete"


def _gives_address(part: MachinePart) -> bool:
    if part.kind in _DHCP:
        return not _is_deleted(part)
    if part.kind in _LINKS:
        return bool(part.config.get("addresses"))
    interfaces = within.sequence(part.config.value, "machine", "network", "interfaces") if not part.kind else ()
    return any(each.get("addresses") or each.get("dhcp") for each in interfaces if isinstance(each, dict))
