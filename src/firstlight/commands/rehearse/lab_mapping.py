"""What the lab must be for a cluster to be rehearsed in it, and what stands for what. Pure."""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from firstlight import errors
from firstlight.commands.rehearse import virtual_hardware
from firstlight.commands.rehearse.rehearsal import StandIn, Untried
from firstlight.engines import adapters
from firstlight.lab import lab_settings
from firstlight.lab.lab_settings import ActorName, LabSettings
from firstlight.lab.machines import machine_settings
from firstlight.lab.machines.machine_settings import TalosBehaviour
from firstlight.model import versions
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.machine_config import MachineDraft
from firstlight.model.platform import Platform

NODES = (1, 2)
"""Control planes and workers of a cluster whose machines the repo does not have."""
_UNFIT = re.compile(r"[^a-z0-9-]+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsalStage:
    """The lab for one cluster."""

    settings: LabSettings
    names: dict[str, str]
    """Of the lab's machines, by the declared address."""
    mapped: tuple[StandIn, ...]
    untried: tuple[Untried, ...]


def stage(platform: Platform, cluster: Cluster, drafts: Sequence[MachineDraft]) -> RehearsalStage:
    """The lab that a cluster needs.

    Args:
        platform: The repo.
        cluster: What is rehearsed.
        drafts: What its machines are to be.

    Raises:
        errors.Refused: It cannot be played here.
    """
    if cluster.machines and all(each.id for each in cluster.machines):
        raise errors.Refused(
            f"the machines of {cluster.name} are Omni's, and what Omni does is not rehearsed",
            hint="firstlight lab omni TEMPLATE makes the same cluster here, and plays Omni for it.",
        )
    if not cluster.machines and not platform.components_of(cluster.name):
        raise errors.Refused(
            f"there is nothing to rehearse: {cluster.name} has neither machines nor components",
            hint="See what is read of the repo: firstlight inventory",
        )
    base = LabSettings(
        load_balancers=_pools(cluster) or LabSettings().load_balancers,
        actors=actors(platform, cluster),
        sources=True,
    )
    if not cluster.machines:
        return _without_machines(platform, cluster, base)
    _refuse_loopback(cluster)
    missing = [each.name for each in cluster.machines if not _is_address(each.address)]
    if missing:
        raise errors.Refused(
            f"nothing says at which address {', '.join(missing)} {'is' if len(missing) == 1 else 'are'}",
            hint="Write it in firstlight.yaml: machines: [{name: …, address: …, role: …}].",
        )
    return _with_machines(cluster, drafts, base)


def _with_machines(cluster: Cluster, drafts: Sequence[MachineDraft], base: LabSettings) -> RehearsalStage:
    by_address = {each.machine.address: each for each in drafts}
    names: dict[str, str] = {}
    machines: list[machine_settings.VirtualMachine] = []
    mapped: list[StandIn] = []
    untried: list[Untried] = []
    for each in cluster.machines:
        name = lab_name(each.name, taken=names.values())
        draft = by_address.get(each.address) or MachineDraft(
            machine=each, cluster=cluster.name, endpoint=cluster.network.endpoint, talos=cluster.talos
        )
        fitted = virtual_hardware.fit(draft, name=name)
        machines.append(fitted.machine)
        names[each.address] = name
        untried += fitted.untried
        mapped.append(StandIn("machine", f"{each.name} at {each.address}", _described(fitted.machine)))
    settings = lab_settings.LabSettings(
        machines=tuple(machines),
        talos=TalosBehaviour(manifests=_manifests(cluster)),
        load_balancers=base.load_balancers,
        actors=base.actors,
        sources=True,
    )
    if cluster.network.vip:
        mapped.append(StandIn("VIP", cluster.network.vip, "the lab's one API server; no machine announces it"))
    untried.append(Untried("kernel, installer image, boot", "machines are programs that speak Talos's API"))
    return RehearsalStage(settings=settings, names=names, mapped=tuple(mapped), untried=tuple(untried))


def _without_machines(platform: Platform, cluster: Cluster, base: LabSettings) -> RehearsalStage:
    inline = [each.name for each in platform.components_of(cluster.name) if each.phase == Phase.INLINE]
    if inline:
        raise errors.Refused(
            f"{', '.join(inline)} of {cluster.name} {'is' if len(inline) == 1 else 'are'} inline manifests, and the "
            "repo does not say which machines there are to apply them",
            hint="List them in firstlight.yaml: clusters: NAME: machines: [{name: …, address: …, role: …}].",
        )
    planes, workers = NODES
    settings = lab_settings.with_nodes(base, control_planes=planes, workers=workers)
    return RehearsalStage(
        settings=settings,
        names={},
        mapped=(StandIn("machine", "none declared", f"{planes + workers} simulated nodes with a control plane"),),
        untried=(Untried("machines, Talos, etcd", "the repo declares no machines of this cluster"),),
    )


def actors(platform: Platform, cluster: Cluster) -> tuple[ActorName, ...]:
    """Whose real programs run: those of the cluster's engine."""
    engine = cluster.engine or platform.engine
    if engine is None:
        return ()
    forms = {origin.form for each in platform.components_of(cluster.name) for origin in each.origins}
    names = {each.name for each in platform.components_of(cluster.name)}
    wanted = adapters.ADAPTERS[engine].lab_actors(forms, names)
    return tuple(each for each in lab_settings.ACTOR_NAMES if each in wanted)


def _pools(cluster: Cluster) -> tuple[str, ...]:
    found = []
    for each in cluster.network.load_balancers:
        try:
            lab_settings.addresses_of(each)
        except ValueError:
            continue
        found.append(each)
    return tuple(found)


def _manifests(cluster: Cluster) -> Literal["1.12", "1.13"]:
    """Whose way with inline manifests the declared Talos has."""
    line = versions.minor(versions.release(cluster.talos))
    return "1.12" if line is not None and line <= (1, 12) else "1.13"


def lab_name(name: str, *, taken: Iterable[str] = ()) -> str:
    """A name that a machine of the lab may have, near the declared one."""
    made = _UNFIT.sub("-", name.lower()).strip("-")[:50] or "machine"
    if made in machine_settings.RESERVED:
        made = f"{made}-machine"
    used = set(taken)
    return next(each for each in _numbered(made) if each not in used)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _described(machine: machine_settings.VirtualMachine) -> str:
    disks = ", ".join(f"{each.device} {each.size}" for each in machine.disks)
    links = ", ".join(each.name for each in machine.links)
    return f"virtual machine {machine.name}, Talos {machine.talos}, {disks}, {links}"


def _refuse_loopback(cluster: Cluster) -> None:
    """Only this computer is at such an address: the lab's own machines are, and play no others."""
    found = [each for each in cluster.machines if _is_address(each.address)]
    at = [f"{each.name} ({each.address})" for each in found if ipaddress.ip_address(each.address).is_loopback]
    if at:
        raise errors.Refused(
            f"{', '.join(at)}: a loopback address, where no machine but this computer itself is",
            hint="Declare the address that the machine will have. Machines of a lab are brought up by: firstlight up",
        )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
