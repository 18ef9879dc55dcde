"""What is known of a cluster before its network plugin is upgraded: read from the cluster and from the files."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.bootstrap import bootstrap_backup, bootstrap_path
from firstlight.commands.change.bootstrap.bootstrap_path import BootstrapScope
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.cni import cni_agents, cni_preflight, network_plugins
from firstlight.commands.change.cni.cni_preflight import CniSurvey
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.up.up import PreparedRun
from firstlight.document.within import text
from firstlight.execute import machine_configs
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import cni
from firstlight.model.change import Change, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase, Side
from firstlight.model.decision import ChangeCheck, CheckState, Decision
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.model.work import Watch
from firstlight.observe import component_health
from firstlight.plan import cluster_facts


async def survey_cni(upgrade: CniUpgrade, prepared: PreparedRun, world: World) -> CniSurvey:
    """Look at everything.

    Args:
        upgrade: From which version to which.
        prepared: What is rendered with the change.
        world: The cluster.

    Raises:
        errors.ClientError: The API does not answer.
    """
    objects = prepared.ground.objects.get(upgrade.component.name, ())
    nodes = (await world.kube.list("v1", "Node")).items
    is_cilium = upgrade.product == network_plugins.CILIUM
    return CniSurvey(
        product=upgrade.product,
        declared=upgrade.before,
        wanted=upgrade.after,
        running=await _running(objects, world),
        kubernetes=str((await world.kube.version()).get("gitVersion") or ""),
        kernels={
            text(each, "metadata", "name"): text(each, "status", "nodeInfo", "kernelVersion") for each in nodes
        },
        kinds=await _kinds(prepared, world) if is_cilium else {},
        values=_values(upgrade.component) if is_cilium else {},
        health=await _health(upgrade, prepared, world),
    )  # fmt: skip


async def _running(objects: Sequence[Object], world: World) -> tuple[str, ...]:
    agents = cni_agents.agents(objects)
    if agents is None:
        return ()
    pods = (await world.kube.list("v1", "Pod", namespace=agents.id.namespace)).items
    return tuple(sorted(set(cni_agents.versions_by_node(pods, agents.id).values())))


async def _health(upgrade: CniUpgrade, prepared: PreparedRun, world: World) -> Verdict:
    """The gate of the network, without a word on versions: what runs now must be well."""
    asked = cni.question(Gate(Subject.CNI, upgrade.component.name), Watch(), prepared.ground)
    assert asked is not None
    (verdict,) = await component_health.judged([asked], world.watching, wait=0.0)
    return verdict


async def _kinds(prepared: PreparedRun, world: World) -> dict[str, tuple[str, ...]]:
    """Objects of kinds that some version drops: those that Git has, and those that the cluster has besides."""
    found: dict[str, list[str]] = {}
    wanted = cni_preflight.dropped_kinds()
    for rendition in prepared.renditions:
        for each in rendition.objects:
            if (each.id.group, each.id.kind) in wanted:
                version = str(each.value.get("apiVersion") or "").rpartition("/")[2]
                found.setdefault(f"{each.id.group}/{version}/{each.id.kind}", []).append(each.id.name)
    known = {name for names in found.values() for name in names}
    catalog = await world.kube.catalog()
    for group, kind in wanted:
        served = next((one for one in catalog.resources.values() if (one.group, one.kind) == (group, kind)), None)
        if served is None:
            continue
        try:
            items = (await world.kube.list(served.api_version, kind, metadata_only=True)).items
        except kube.NotFound:
            continue
        names = [text(each, "metadata", "name") for each in items]
        found.setdefault(f"{group}//{kind}", []).extend(each for each in names if each not in known)
    return {kind: tuple(dict.fromkeys(names)) for kind, names in found.items() if names}


def _values(component: Component) -> Mapping[str, Any]:
    """The values that checks ask for, as Git has them."""
    side = Side.GITOPS if component.halves[1] else Side.BOOTSTRAP
    found: dict[str, Any] = {}
    for path in cni_preflight.value_paths():
        value = cluster_facts.value(component, side, *path)
        if value is not None:
            home = functools.reduce(lambda inner, step: inner.setdefault(step, {}), path[:-1], found)
            home[path[-1]] = value
    return found


# The checks before an upgrade of the network plugin: any that fails stops it before anything is written.


_ILL = frozenset({"cni-health", "cni-running"})
"""What does not hold up a way back, which may be the cure; nor somebody who has said why it is done all the same."""


def preflight_stage(
    carrying: OngoingChange, cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap
) -> WalkStage:
    """A stage that writes nothing."""

    async def look(world: World) -> PendingChange | None:
        if not upgrade.is_git:
            await bootstrap_backup.require(carrying, cluster, world)
        return None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        _refuse_more(carrying, cluster, upgrade)
        sight = await survey_cni(upgrade, await preparing.get(world), world)
        made = cni_preflight.checks(sight)
        _kept(carrying, cluster, made)
        verdict = judge_preflight(made, is_ill_allowed=carrying.is_reverting or bool(carrying.record.anyway))
        on_verdict(verdict)
        return verdict, "" if isinstance(verdict, Passed) else _hint(made)

    return WalkStage(
        id=f"{cluster.name}:cni-preflight", name=f"{upgrade.title}: preflight", phase=Phase.INLINE, look=look,
        wait=wait, what="health, one minor version at a time, what it drops, Kubernetes, Linux",
    )  # fmt: skip


def judge_preflight(checks: Sequence[ChangeCheck], *, is_ill_allowed: bool = False) -> Verdict:
    """One verdict on all of them."""
    allowed = _ILL if is_ill_allowed else frozenset[str]()
    failed = [each for each in checks if each.state is CheckState.FAILED and each.id not in allowed]
    if failed:
        return Failed("; ".join(each.says for each in failed))
    steps = next((each.says for each in checks if each.id == "cni-steps"), "")
    people = [each.says for each in checks if each.state is CheckState.PERSON and each.id != "cni-steps"]
    return Passed(f"{steps}; for somebody to look at: {'; '.join(people)}" if people else steps)


def _hint(checks: Sequence[ChangeCheck]) -> str:
    details = [one for each in checks if each.state is CheckState.FAILED for one in each.details]
    return " ".join(details[:3])


def _refuse_more(carrying: OngoingChange, cluster: Cluster, upgrade: CniUpgrade) -> None:
    others = other_bootstrap_parts(
        carrying.decided.decision, bootstrap_path.scope_of(carrying, cluster), upgrade.component.name
    )
    if others:
        raise errors.Refused(
            f"the network plugin is upgraded by a change of its own, and this one also has {', '.join(others)}",
            hint="Make two changes of it.",
        )


def other_bootstrap_parts(decision: Decision, scope: BootstrapScope, own: str) -> tuple[str, ...]:
    """What else bootstrap would have to write: a network that fails must not leave both half done.

    Args:
        decision: The change.
        scope: What of it is bootstrap's.
        own: The network plugin.
    """
    found = [each for each in scope.components if each != own]
    found += ["secrets of the foundation"] if scope.has_secrets else []
    machines = [each.change for each in decision.items if each.change.matter is Matter.MACHINE]
    found += [each.title for each in machines if scope.has_machines and not _is_inline_manifest(each)]
    return tuple(dict.fromkeys(found))


def _is_inline_manifest(change: Change) -> bool:
    """Whether a change of a machine config is one of its inline manifests alone, which this path brings."""
    if change.kind == machine_configs.INLINE:
        return True
    return bool(change.fields) and all("inlineManifests" in each.steps for each in change.fields)


def _kept(carrying: OngoingChange, cluster: Cluster, made: Sequence[ChangeCheck]) -> None:
    """Keep them in the record, in the place of what was seen before."""
    ids = {each.id for each in made}
    others = [each for each in carrying.record.checks if each.id not in ids]
    carrying.keeper.set(checks=(*others, *made))
