"""The machines of a cluster before an upgrade: what each runs, and what its declaration in the repo comes to."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.document.within import sequence, text
from firstlight.execute import cluster_access, config_contract, gate_wait, machine_configs
from firstlight.execute.world import World
from firstlight.gates import machine_stage, node_ready
from firstlight.model import talos_names, versions
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Severity
from firstlight.model.machine_config import MachineDraft
from firstlight.model.machine_report import MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.model.upgrade_plan import DeclaredVersion, UpgradeCandidate
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import PATIENCE, MachineAccess
from firstlight.render.machines import machine_drafts

_SERVERS = "k8s-app=kube-apiserver"
_SCHEMATIC = "schematic"
_VIRTUAL = frozenset({_SCHEMATIC, "modules.dep"})
"""What Talos lists among extensions, and is none: the schematic's id, and an index of kernel modules."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UpgradeSurvey:
    """What was found."""

    machines: tuple[UpgradeCandidate, ...]
    kubernetes: str
    """The version of the oldest API server: the one that answers, or that of a control plane's pod."""
    leader: str = ""
    """The machine whose member of etcd leads."""


def drafts(platform: Platform, cluster: Cluster) -> dict[str, MachineDraft]:
    """The drafts of a cluster's machines, by name.

    Raises:
        errors.Refused: Something in the repo is not understood, or there are no machines of firstlight's.
    """
    if cluster.omni_template:
        raise errors.Refused(f"the machines of {cluster.name} are Omni's", hint="Change its template: omnictl does it.")
    found, diagnostics = machine_drafts.machine_drafts(platform, cluster)
    wrong = [each for each in diagnostics if each.severity is Severity.ERROR]
    if wrong:
        raise errors.Refused(
            "; ".join(f"{each.place}: {each.message}" for each in wrong), hint=" ".join(each.fix for each in wrong)
        )
    if not found:
        raise errors.Refused(f"{cluster.name} has no machines that firstlight could reach", hint="firstlight inventory")
    return {each.machine.name: each for each in found}


async def survey(platform: Platform, world: World) -> UpgradeSurvey:
    """Look at every machine; one that does not answer is part of the answer.

    Raises:
        errors.Refused: What the repo says of a machine does not make a config.
        errors.ClientError: The Kubernetes API does not answer.
    """
    way = await cluster_access.ensure(world)
    drawn = drafts(platform, world.cluster)
    (version, found), leader = await asyncio.gather(_api(world), _leader(world, way))
    made = await asyncio.gather(
        *(_machine(each, drawn.get(each.name), world, way, found) for each in world.cluster.machines)
    )
    return UpgradeSurvey(machines=tuple(made), kubernetes=version, leader=leader)


def declared(cluster: Cluster, field: str) -> DeclaredVersion:
    """What the repo says of the version of ``talos`` or ``kubernetes``."""
    version = cluster.talos if field == "talos" else cluster.kubernetes
    return DeclaredVersion(version=version, place=cluster.said.get(field))


async def _api(world: World) -> tuple[str, Sequence[Mapping[str, Any]]]:
    version, found, servers = await asyncio.gather(
        world.kube.version(),
        world.kube.list("v1", "Node"),
        world.kube.list("v1", "Pod", namespace="kube-system", labels=_SERVERS),
    )
    images = [text(each, "image") for pod in servers.items for each in sequence(pod, "spec", "containers")]
    tags = [image.partition("@")[0].rpartition(":")[2] for image in images]
    known = [(parsed, each) for each in tags if (parsed := versions.parse_version(each)) is not None]
    return min(known)[1] if known else text(version, "gitVersion"), found.items


async def _leader(world: World, way: MachineAccess) -> str:
    reports = await machine_survey.look_at_all(gate_wait.control_planes(world), way, with_etcd=True)
    leading = (each for each in reports if each.etcd.leader and each.etcd.leader == each.etcd.member)
    return next((each.machine.name for each in leading), "")


async def _machine(
    machine: Machine, draft: MachineDraft | None, world: World, way: MachineAccess, found: Sequence[Mapping[str, Any]]
) -> UpgradeCandidate:
    node = node_ready.of_machine(machine, found)
    now = UpgradeCandidate(
        machine=machine,
        image=_image(await machine_configs.make(await _settled(draft, world), world)) if draft is not None else "",
        kubelet=text(node or {}, "status", "nodeInfo", "kubeletVersion"),
    )
    report = await machine_survey.look_at(machine, way)
    if report.standing is not MachineStanding.OURS:
        return dataclasses.replace(now, why=machine_stage.state_of(report))
    try:
        version, config, listed = await asyncio.gather(
            way.admin.version(way.at(machine), timeout=PATIENCE),
            way.admin.machine_config(way.at(machine), timeout=PATIENCE),
            _extensions(machine, way),
        )
    except talosctl.TalosError as error:
        return dataclasses.replace(now, why=f"does not answer ({error.detail})")
    return dataclasses.replace(
        now,
        talos=version.tag,
        installed=_image(config),
        extensions=tuple(sorted(name for name in listed if name not in _VIRTUAL)),
        schematic=listed.get(_SCHEMATIC, ""),
    )


async def _settled(draft: MachineDraft, world: World) -> MachineDraft:
    """The draft with its contract; of a cluster where nobody answers the declared version of Talos will do."""
    with contextlib.suppress(errors.Refused):
        return await config_contract.settled_here(draft, world)
    return draft


async def _extensions(machine: Machine, way: MachineAccess) -> dict[str, str]:
    """Versions of what a machine was installed with, by name; the id of a schematic is one of them."""
    try:
        found = await way.admin.get(way.at(machine), talos_names.EXTENSION_STATUSES, timeout=PATIENCE)
    except talosctl.TalosNotFound:
        return {}
    return {
        name: text(each.spec, "metadata", "version")
        for each in found
        if isinstance(each.spec, Mapping) and (name := text(each.spec, "metadata", "name"))
    }


def _image(config: Secret) -> str:
    """The installer that a config names."""
    for each in machine_configs.documents(config):
        is_apart = each.get("kind") == "UnattendedInstallConfig"
        found = text(each, "installer", "image") if is_apart else text(each, "machine", "install", "image")
        if found:
            return found
    return ""
