"""``firstlight node list``: every machine of a cluster, as it is declared and as it is."""

import asyncio
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, which_cluster, which_repo
from firstlight.clients import talosctl
from firstlight.commands.node import declared_configs, machine_lookup, node_rows
from firstlight.commands.node.declared_configs import DeclaredConfigs
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus, NodeList, NodeRow, NodeSources
from firstlight.commands.node.output_form import NodesData
from firstlight.drawing import decision_words, safe, table
from firstlight.errors import ExitCode
from firstlight.execute import live_cluster
from firstlight.execute.means import Means
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineStanding
from firstlight.model.platform import Platform
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import PATIENCE, MachineAccess


def list_nodes(cluster: str, *, root: Path | None, form: str) -> int:
    """Print every machine, and return the exit code."""
    found = asyncio.run(_looked(which_repo.platform(root), cluster))
    output.answer(form, list_text(found, columns=table.terminal_columns()), list_data(found))
    if found.unseen:
        return ExitCode.FAILED
    return 0 if all(each.is_fine for each in found.rows) else ExitCode.FINDINGS


async def _looked(platform: Platform, name: str) -> NodeList:
    cluster = which_cluster.cluster_of(platform, name)
    means = await cli_means.user_means(platform, keep=False)
    try:
        return await look_at_machines(platform, cluster, means)
    finally:
        await means.close()


# All machines of a cluster: as they are declared, and as they are.


ANSWERS = 5.0
"""Seconds for the Kubernetes API: who lists machines may do so since it is down."""


async def look_at_machines(platform: Platform, cluster: Cluster, means: Means) -> NodeList:
    """Look at everything that answers; what does not is said.

    Raises:
        errors.Refused: The machines are Omni's, or there are no keys to them.
    """
    machine_lookup.refuse_omni(cluster)
    async with live_cluster.reached(cluster, means, is_api_needed=False, patience=ANSWERS) as world:
        way = await live_cluster.way(world)
        unseen: list[str] = []
        reports = await machine_survey.look_at_all(cluster.machines, way, with_etcd=True)
        there = [each.machine for each in reports if each.standing is MachineStanding.OURS]
        try:
            declared: DeclaredConfigs | None = declared_configs.of(platform, cluster, means)
        except errors.Refused as error:
            declared = None
            unseen.append(f"the configs of the repo: {error.message}")
        versions, configs, nodes, members = await asyncio.gather(
            _versions(there, way),
            _configs(there, declared, world, way),
            _nodes(world, unseen),
            machine_lookup.etcd_members(reports, way),
        )
    if members is None and any(each.role is MachineRole.CONTROL_PLANE for each in cluster.machines):
        unseen.append("the members of etcd: no control plane tells them")
    unseen += [
        f"{each.machine.name}: {each.why}" for each in reports if each.standing is not MachineStanding.OURS and each.why
    ]
    unseen += [f"{name}: {each.reason}" for name, each in configs.items() if each.equality is ConfigEquality.UNKNOWN]
    seen = NodeSources(reports=reports, versions=versions, configs=configs, nodes=nodes, members=members)
    return NodeList(cluster=cluster.name, rows=node_rows.rows(seen), unseen=tuple(unseen))


async def _versions(machines: list[Machine], way: MachineAccess) -> dict[str, str]:
    async def one(machine: Machine) -> str:
        try:
            return (await way.admin.version(way.at(machine), timeout=PATIENCE)).tag
        except talosctl.TalosError:
            return ""

    found = await asyncio.gather(*(one(each) for each in machines))
    return {each.name: version for each, version in zip(machines, found, strict=True) if version}


async def _configs(
    machines: list[Machine], declared: DeclaredConfigs | None, world: World, way: MachineAccess
) -> dict[str, ConfigStatus]:
    if declared is None:
        return {}

    async def one(machine: Machine) -> ConfigStatus:
        if machine.name not in declared.drafts:
            return ConfigStatus(equality=ConfigEquality.UNKNOWN, reason="the repo has no config for it")
        try:
            return (await declared_configs.compare(machine, declared, world, way)).sight
        except errors.FirstlightError as error:
            return ConfigStatus(equality=ConfigEquality.UNKNOWN, reason=error.message)

    found = await asyncio.gather(*(one(each) for each in machines))
    return {each.name: sight for each, sight in zip(machines, found, strict=True)}


async def _nodes(world: World, unseen: list[str]) -> tuple[dict[str, object], ...] | None:
    if not world.is_connected:
        unseen.append("nodes: the Kubernetes API does not answer")
        return None
    try:
        async with asyncio.timeout(ANSWERS):
            return (await world.kube.list("v1", "Node")).items
    except (TimeoutError, errors.ClientError) as error:
        unseen.append(f"nodes: the Kubernetes API does not answer{f': {error}' if str(error) else ''}")
        return None


# The machines of a cluster as a table, and as data.


_HEAD = ("machine", "role", "address", "talos", "kubelet", "is", "etcd", "config")
_SHOWN = 8
"""Fields that differ, of one machine."""
_CONFIGS = {
    ConfigEquality.EQUAL: "equal",
    ConfigEquality.DIFFERENT: "differs",
    ConfigEquality.PENDING: "not settled",
    ConfigEquality.UNKNOWN: "-",
}


def list_text(found: NodeList, *, columns: int = 0) -> str:
    """The whole page."""
    rows = [_HEAD, *(_row(each) for each in found.rows)]
    lines = [f"{safe.name(found.cluster)}   {_summary(found)}", "", *table.render(rows, indent="  ", columns=columns)]
    for row in found.rows:
        lines += _below(row, columns)
    if found.unseen:
        lines += ["", *(f"  not seen   {safe.name(each)}" for each in found.unseen)]
    if any(each.config.equality is ConfigEquality.DIFFERENT for each in found.rows):
        lines += ["", f"  next     firstlight node apply {safe.name(found.cluster)} --all --dry-run"]
    return "\n".join(lines)


def list_data(found: NodeList) -> NodesData:
    """The same for programs."""
    return {
        "cluster": found.cluster,
        "machines": [
            {
                "name": each.name,
                "declared": each.is_declared,
                "role": each.role,
                "address": each.address,
                "answers": each.is_seen,
                "state": each.state,
                "talos": each.talos,
                "kubernetes": each.kubernetes,
                "node": each.node,
                "etcd": each.etcd,
                "schedulable": each.is_schedulable,
                "begun": each.begun,
                "config": {
                    "is": str(each.config.equality),
                    "fields": [decision_words.field(one) for one in each.config.fields],
                    "reboot": each.config.needs_reboot,
                    "reason": each.config.reason,
                },
                "diagnostics": each.diagnostics,
            }
            for each in found.rows
        ],
        "unseen": found.unseen,
    }


def _row(row: NodeRow) -> tuple[str, ...]:
    config = "reboots" if row.config.needs_reboot else _CONFIGS[row.config.equality]
    cells = (row.name, row.role, row.address, row.talos, row.kubernetes, _is(row), row.etcd, config)
    return tuple(safe.name(each) or "-" for each in cells)


def _is(row: NodeRow) -> str:
    """How it is, in a few words: whatever is not as it must be."""
    said = [] if row.is_declared else ["not declared"]
    if row.is_declared and row.state != "running":
        said.append(row.state.partition(" (")[0])
    if row.node == "absent":
        said.append("no node")
    elif row.node == "not ready" or (row.node == "ready" and not said):
        said.append(row.node)
    if row.begun:
        said.append(row.begun)
    elif row.is_schedulable is False:
        said.append("cordoned")
    return ", ".join(said) or row.state


def _below(row: NodeRow, columns: int) -> list[str]:
    """What there is to say of one machine besides."""
    is_known = row.config.equality is not ConfigEquality.UNKNOWN
    lines = [*row.diagnostics, *(row.config.reason.splitlines()[:1] if is_known else ())]
    lines += [decision_words.field(each) for each in row.config.fields[:_SHOWN]]
    if (more := len(row.config.fields) - _SHOWN) > 0:
        lines.append(f"and {more} more")
    if not lines:
        return []
    shown = [table.cut(f"    {safe.name(each)}", columns) if columns else f"    {safe.name(each)}" for each in lines]
    return ["", f"  {safe.name(row.name)}", *shown]


def _summary(found: NodeList) -> str:
    fine = sum(each.is_fine for each in found.rows)
    many = len(found.rows)
    return (
        f"{many} machine{'' if many == 1 else 's'}, all as declared"
        if fine == many
        else f"{fine} of {many} as declared"
    )
