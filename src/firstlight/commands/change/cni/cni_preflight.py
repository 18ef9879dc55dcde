"""What is looked at before the network plugin is upgraded, in the cluster and in the files.

Each item is passed, failed, or for a person to look at.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.bootstrap import bootstrap_path, bootstrap_stages
from firstlight.commands.change.bootstrap.bootstrap_path import BootstrapScope
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.cni import cni_manifests, cni_upgrade
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade, PluginStride
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.up.up import PreparedRun
from firstlight.document.within import at, text
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import cni
from firstlight.model import talos_documents
from firstlight.model.change import Change, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase, Side
from firstlight.model.decision import ChangeCheck, CheckState, Decision, Moment
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.model.versions import minor
from firstlight.model.work import Watch
from firstlight.observe import component_health
from firstlight.plan import cluster_facts, version_bump, version_matrix, well_known
from firstlight.plan.well_known import DroppedCiliumFeature

_FEW = 5
_COMPATIBILITY = "upgradeCompatibility"
"""The value of Cilium's chart that keeps defaults as they were when it was installed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CniSurvey:
    """What is known of a cluster before the upgrade."""

    product: str
    """``cilium``."""
    declared: str = ""
    """The version that Git had before the change."""
    wanted: str = ""
    """The version that Git has with it."""
    running: tuple[str, ...] = ()
    """The versions of agents that run, each once."""
    kubernetes: str = ""
    kernels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By the name of the node."""
    kinds: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Names of objects, by ``group/version/Kind``: those of the cluster and those of the repo."""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """Those that the new chart gets."""
    health: Verdict | None = None
    """How the network is now; None where nobody could look."""


def checks(sight: CniSurvey) -> tuple[ChangeCheck, ...]:
    """The whole list."""
    return (
        _well(sight), _versions(sight), _step(sight), *_dropped(sight), *_compatible(sight), _kubernetes(sight),
        *_kernels(sight),
    )  # fmt: skip


def dropped_kinds() -> frozenset[tuple[str, str]]:
    """Groups and kinds that some version drops: whoever looks at a cluster looks for these."""
    split = (each.kind.split("/") for each in well_known.dropped_cilium_features() if each.kind)
    return frozenset((each[0], each[-1]) for each in split)


def value_paths() -> tuple[tuple[str, ...], ...]:
    """The ways to the values that are asked for."""
    dropped = well_known.dropped_cilium_features()
    return (*(tuple(each.value.split(".")) for each in dropped if each.value), (_COMPATIBILITY,))


def before(sight: CniSurvey) -> str:
    """The version that the upgrade begins with: what runs counts, and not what Git had."""
    known = sorted(sight.running, key=lambda each: minor(each) or (0, 0))
    return known[0] if known else sight.declared


def _made(id: str, title: str, state: CheckState, says: str, details: Sequence[str] = ()) -> ChangeCheck:
    return ChangeCheck(id=f"cni-{id}", moment=Moment.PRE, title=title, state=state, says=says, details=tuple(details))


def _well(sight: CniSurvey) -> ChangeCheck:
    title = "The network is well before anything changes"
    if sight.health is None:
        return _made("health", title, CheckState.SKIPPED, "the cluster was not looked at")
    state = CheckState.PASSED if isinstance(sight.health, Passed) else CheckState.FAILED
    return _made("health", title, state, sight.health.reason)


def _versions(sight: CniSurvey) -> ChangeCheck:
    """A rollout that is half done, and agents that are not what Git had."""
    title = "All agents run the version that Git had"
    if not sight.running:
        return _made("running", title, CheckState.SKIPPED, "which version agents run is not known")
    wanted = version_bump.number(sight.wanted)
    others = [each for each in sight.running if each != wanted]
    if len(others) > 1:
        says = f"agents run {', '.join(sight.running)}: the rollout before this one has not ended"
        return _made("running", title, CheckState.FAILED, says)
    if others and wanted in sight.running:
        return _made("running", title, CheckState.PASSED, f"the rollout to {wanted} is under way; some run {others[0]}")
    declared = version_bump.number(sight.declared)
    if declared and others and others[0] != declared:
        says = f"agents run {others[0]}, and Git had {declared}: what runs counts"
        return _made("running", title, CheckState.PERSON, says)
    return _made("running", title, CheckState.PASSED, ", ".join(sight.running))


def _step(sight: CniSurvey) -> ChangeCheck:
    title = "One minor version at a time"
    found = cni_upgrade.step_between(before(sight), sight.wanted, cni_upgrade.plugin_of(sight.product))
    state = CheckState.PASSED
    if found.is_refused:
        state = CheckState.FAILED
    elif found.stride in (PluginStride.UNKNOWN, PluginStride.SKIP, PluginStride.FAR_BACK):
        state = CheckState.PERSON
    return _made("steps", title, state, found.says)


def _dropped(sight: CniSurvey) -> Iterator[ChangeCheck]:
    """What the new version has no more, in the cluster, in the repo and in the values."""
    title = "Nothing is used that the new version drops"
    wanted = minor(version_bump.number(sight.wanted))
    if sight.product != cni_upgrade.CILIUM or wanted is None:
        return
    found = [
        f"{told}; since {each.since}. {each.instead}"
        for each in well_known.dropped_cilium_features()
        if (minor(each.since) or (0, 0)) <= wanted
        for told in _uses(sight, each)
    ]
    if found:
        number = "1 thing is" if len(found) == 1 else f"{len(found)} things are"
        says = f"{number} used that Cilium {sight.wanted} does not have"
        yield _made("dropped", title, CheckState.FAILED, says, found)
    else:
        yield _made("dropped", title, CheckState.PASSED, "none of the kinds and values that are known to be dropped")


def _uses(sight: CniSurvey, dropped: DroppedCiliumFeature) -> Iterator[str]:
    if dropped.value:
        given = at(sight.values, *dropped.value.split("."))
        if given is not None and (not dropped.only or str(given).lower() in dropped.only):
            yield f"the value {dropped.value}{f': {given}' if dropped.only else ''}"
        return
    group, _, kind = dropped.kind.rpartition("/")
    group, _, version = group.partition("/")
    for written, names in sight.kinds.items():
        its_group, its_version, its_kind = (*written.split("/"), "", "")[:3]
        if (its_group, its_kind) == (group, kind) and version in ("", its_version):
            yield from (f"{kind} {each}" for each in names)


def _compatible(sight: CniSurvey) -> Iterator[ChangeCheck]:
    """Without it the new version's defaults come into force at once."""
    found = cni_upgrade.step_between(before(sight), sight.wanted, cni_upgrade.plugin_of(sight.product))
    if sight.product != cni_upgrade.CILIUM or found.stride is not PluginStride.MINOR:
        return
    title = "Defaults stay as they were"
    if given := at(sight.values, _COMPATIBILITY):
        yield _made("defaults", title, CheckState.PASSED, f"{_COMPATIBILITY} is {given}")
    else:
        says = f"{_COMPATIBILITY} is not set: to keep defaults, give it the minor version that was installed first"
        yield _made("defaults", title, CheckState.PERSON, says)


def _kubernetes(sight: CniSurvey) -> ChangeCheck:
    title = "The new version goes with this Kubernetes"
    product, own = version_matrix.table().get(sight.product), minor(version_bump.number(sight.wanted))
    here = minor(sight.kubernetes)
    span = product.kubernetes.get(f"{own[0]}.{own[1]}") if product is not None and own is not None else None
    name = cni_upgrade.plugin_of(sight.product).title
    if span is None or here is None:
        says = (
            f"whether {name} {sight.wanted} goes with Kubernetes {sight.kubernetes or '(not known)'} is not known here"
        )
        return _made("kubernetes", title, CheckState.PERSON, f"{says}: look it up in its release notes")
    first, last = (minor(each) or (0, 0) for each in span)
    shown = f"{name} {own[0]}.{own[1]} was tested with {span[0]} to {span[1]}" if own else ""
    if first <= here <= last:
        return _made("kubernetes", title, CheckState.PASSED, f"Kubernetes {sight.kubernetes}; {shown}")
    return _made("kubernetes", title, CheckState.PERSON, f"Kubernetes {sight.kubernetes}, and {shown}")


def _kernels(sight: CniSurvey) -> Iterator[ChangeCheck]:
    """Nodes whose Linux is too old; nothing is said where nothing is known of it."""
    title = "Every node's Linux is new enough"
    own = minor(version_bump.number(sight.wanted))
    least = cni_upgrade.plugin_of(sight.product).kernels.get(f"{own[0]}.{own[1]}", "") if own is not None else ""
    if not least or not sight.kernels:
        return
    wanted = minor(least) or (0, 0)
    old = [f"{node} has {each}" for node, each in sight.kernels.items() if (minor(each) or wanted) < wanted]
    if old:
        more = f" and {len(old) - _FEW} more" if len(old) > _FEW else ""
        yield _made("kernel", title, CheckState.FAILED, f"it needs Linux {least}: {', '.join(old[:_FEW])}{more}")
    else:
        yield _made("kernel", title, CheckState.PASSED, f"it needs Linux {least}, which all nodes have")


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
    is_cilium = upgrade.product == cni_upgrade.CILIUM
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
    agents = cni_manifests.agents_of(objects)
    if agents is None:
        return ()
    pods = (await world.kube.list("v1", "Pod", namespace=agents.id.namespace)).items
    return tuple(sorted(set(cni_manifests.versions_by_node(pods, agents.id).values())))


async def _health(upgrade: CniUpgrade, prepared: PreparedRun, world: World) -> Verdict:
    """The gate of the network, without a word on versions: what runs now must be well."""
    asked = cni.question(Gate(Subject.CNI, upgrade.component.name), Watch(), prepared.ground)
    assert asked is not None
    (verdict,) = await component_health.judged([asked], world.watching, wait=0.0)
    return verdict


async def _kinds(prepared: PreparedRun, world: World) -> dict[str, tuple[str, ...]]:
    """Objects of kinds that some version drops: those that Git has, and those that the cluster has besides."""
    found: dict[str, list[str]] = {}
    wanted = dropped_kinds()
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
    for path in value_paths():
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
            await bootstrap_stages.require(carrying, cluster, world)
        return None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        _refuse_more(carrying, cluster, upgrade)
        sight = await survey_cni(upgrade, await preparing.get(world), world)
        made = checks(sight)
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
    if change.kind == talos_documents.INLINE:
        return True
    return bool(change.fields) and all("inlineManifests" in each.steps for each in change.fields)


def _kept(carrying: OngoingChange, cluster: Cluster, made: Sequence[ChangeCheck]) -> None:
    """Keep them in the record, in the place of what was seen before."""
    ids = {each.id for each in made}
    others = [each for each in carrying.record.checks if each.id not in ids]
    carrying.keeper.set(checks=(*others, *made))
