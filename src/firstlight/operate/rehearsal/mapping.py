"""What the lab must be for a cluster to be rehearsed in it, and what stands for what. Pure."""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from firstlight import errors
from firstlight.lab import machine_settings
from firstlight.lab import settings as lab_settings
from firstlight.lab.machine_settings import Talos
from firstlight.lab.settings import ActorName, Settings
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Form, Phase
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.rehearsal import Mapped, Untried
from firstlight.operate.rehearsal import hardware

NODES = (1, 2)
"""Control planes and workers of a cluster whose machines the repo does not have."""
_MINOR = re.compile(r"v?1\.(?P<minor>[0-9]+)\.")
_UNFIT = re.compile(r"[^a-z0-9-]+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """The lab for one cluster."""

    settings: Settings
    names: dict[str, str]
    """Of the lab's machines, by the declared address."""
    mapped: tuple[Mapped, ...]
    untried: tuple[Untried, ...]


def stage(platform: Platform, cluster: Cluster, drafts: Sequence[MachineDraft]) -> Stage:
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
    base = Settings(
        load_balancers=_pools(cluster) or Settings().load_balancers,
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


def _with_machines(cluster: Cluster, drafts: Sequence[MachineDraft], base: Settings) -> Stage:
    by_address = {each.machine.address: each for each in drafts}
    names: dict[str, str] = {}
    machines: list[machine_settings.Machine] = []
    mapped: list[Mapped] = []
    untried: list[Untried] = []
    for each in cluster.machines:
        name = lab_name(each.name, taken=names.values())
        draft = by_address.get(each.address) or MachineDraft(
            machine=each, cluster=cluster.name, endpoint=cluster.network.endpoint, talos=cluster.talos
        )
        fitted = hardware.fit(draft, name=name)
        machines.append(fitted.machine)
        names[each.address] = name
        untried += fitted.untried
        mapped.append(Mapped("machine", f"{each.name} at {each.address}", _described(fitted.machine)))
    settings = lab_settings.Settings(
        machines=tuple(machines), talos=Talos(manifests=_manifests(cluster)), load_balancers=base.load_balancers,
        actors=base.actors, sources=True,
    )  # fmt: skip
    if cluster.network.vip:
        mapped.append(Mapped("VIP", cluster.network.vip, "the lab's one API server; no machine announces it"))
    untried.append(Untried("kernel, installer image, boot", "machines are programs that speak Talos's API"))
    return Stage(settings=settings, names=names, mapped=tuple(mapped), untried=tuple(untried))


def _without_machines(platform: Platform, cluster: Cluster, base: Settings) -> Stage:
    inline = [each.name for each in platform.components_of(cluster.name) if each.phase == Phase.INLINE]
    if inline:
        raise errors.Refused(
            f"{', '.join(inline)} of {cluster.name} {'is' if len(inline) == 1 else 'are'} inline manifests, and the "
            "repo does not say which machines there are to apply them",
            hint="List them in firstlight.yaml: clusters: NAME: machines: [{name: …, address: …, role: …}].",
        )
    planes, workers = NODES
    settings = lab_settings.with_nodes(base, control_planes=planes, workers=workers)
    return Stage(
        settings=settings,
        names={},
        mapped=(Mapped("machine", "none declared", f"{planes + workers} simulated nodes with a control plane"),),
        untried=(Untried("machines, Talos, etcd", "the repo declares no machines of this cluster"),),
    )


def actors(platform: Platform, cluster: Cluster) -> tuple[ActorName, ...]:
    """Whose real programs run: those of the cluster's engine."""
    engine = cluster.engine or platform.engine
    if engine is None:
        return ()
    if engine == Engine.ARGOCD:
        return ("argocd",)
    forms = {origin.form for each in platform.components_of(cluster.name) for origin in each.origins}
    names = {each.name for each in platform.components_of(cluster.name)}
    has_operator = Form.FLUX_INSTANCE in forms or any("flux-operator" in name for name in names)
    return ("flux", "flux-operator") if has_operator else ("flux",)


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
    match = _MINOR.match(cluster.talos)
    return "1.12" if match and int(match["minor"]) <= 12 else "1.13"


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


def _described(machine: machine_settings.Machine) -> str:
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
