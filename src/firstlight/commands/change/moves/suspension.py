"""Whether helm-controller would take the release of a HelmRelease for another one than it has known, and uninstall it.

It compares what its status has of the last revision with what the HelmRelease and its chart say now, also where
somebody else has upgraded the release since.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change import engine_objects, reconcile
from firstlight.commands.change.moves.move_context import MoveContext
from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines import engine_marks
from firstlight.execute.apply import helm_storage
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.component import Component, ObjectId, Origin, Phase
from firstlight.model.move import Seat
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate, Subject
from firstlight.model.source import ChartSource
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.plan import plan_context


@dataclasses.dataclass(frozen=True, slots=True)
class ChangedRelease:
    """What is called otherwise."""

    what: str
    """For people: ``namespace``, ``chart``."""
    known: str
    """As helm-controller has it in its status."""
    now: str


def changed_release(
    definition: Mapping[str, Any], live: Mapping[str, Any], *, chart: str = ""
) -> ChangedRelease | None:
    """What of a release is called otherwise now, so that its controller would uninstall it first; None if nothing is.

    Args:
        definition: The HelmRelease as Git has it, with its namespace.
        live: The same in the cluster.
        chart: The name of the chart; empty where it is not known.
    """
    history = sequence(live, "status", "history")
    storage = text(live, "status", "storageNamespace")
    if not history or not storage:
        return None  # it knows no release, and takes what is there
    spec, own = mapping(definition, "spec"), text(live, "metadata", "namespace")
    found = [
        ("namespace of its history", storage, text(spec, "storageNamespace") or own),
        ("namespace", text(history[0], "namespace"), text(spec, "targetNamespace") or own),
        ("name", text(history[0], "name"), engine_marks.release_name(definition)),
    ]
    if chart and text(spec, "upgrade", "chartNameChangeStrategy") != "InPlaceUpdate":
        found.append(("chart", text(history[0], "chartName"), chart))
    return next((ChangedRelease(*each) for each in found if each[1] != each[2]), None)


def uninstalls_release(definition: Mapping[str, Any]) -> bool:
    """Whether a HelmRelease uninstalls its release where an upgrade fails."""
    return text(definition, "spec", "upgrade", "remediation", "strategy") == "uninstall"


# What helm-controller had begun is done, and it has seen that its HelmRelease rests: it begins nothing any more.
#
# A HelmRelease that is told to rest while it is upgraded is upgraded to the end. Its controller works on it once at a
# time, and notes the generation also of one that rests: so once that is noted, nothing is under way.


def quiet_stage(scene: MoveContext, *, patience: float) -> WalkStage:
    """Every HelmRelease whose release bootstrap is to keep rests."""
    ids = [
        id
        for each in scene.moved
        if each.after is Seat.KEPT
        for origin in each.helm_releases
        if (id := plan_context.declared_gates(origin)) is not None
    ]

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        looks = tuple(gate_parts.look_at(each) for each in ids)

        def judge(view: GateView) -> Verdict:
            for id, one in zip(ids, looks, strict=True):
                found = view.one(one)
                if found is None:
                    return Waiting(f"{id} is not there")
                if not engine_marks.is_suspended(found):
                    return Waiting(f"{id} does not rest so far: what brings it has not applied the commit")
                if at(found, "status", "observedGeneration") != at(found, "metadata", "generation"):
                    return Waiting(f"helm-controller has not seen so far that {id} rests")
            return Passed(", ".join(map(str, ids)))

        question = GateQuestion(
            gate=Gate(Subject.RECONCILED), name="the engine rests", looks=looks, judge=judge, timeout=patience
        )
        verdict = await world.watching.wait(question, on_verdict=on_verdict)
        return verdict, "" if isinstance(verdict, Passed) else "What is wrong: firstlight doctor"

    return WalkStage(id=f"{scene.cluster.name}:rest", name="the engine rests", phase=Phase.GITOPS, wait=wait)


# What helm-controller would do with a release when its HelmRelease goes on: one upgrade, and nothing that uninstalls.
#
# It has a history of its own, in which the last revision is none that bootstrap has written. So it upgrades once, to
# what Git has. It uninstalls where it finds that the release is called otherwise now, and, if it is told so, where an
# upgrade fails.


async def check_releases(scene: MoveContext, world: World) -> None:
    """See that nothing is uninstalled when HelmReleases go on, before they do.

    Raises:
        errors.Refused: Something might be.
        errors.ClientError: The API does not answer.
    """
    for each in scene.moved:
        for origin in each.helm_releases if each.before is Seat.KEPT else ():
            await _check(origin, world)


async def _check(origin: Origin, world: World) -> None:
    id = plan_context.declared_gates(origin)
    if id is None:
        return
    if uninstalls_release(origin.definition):
        raise errors.Refused(
            f"{id} uninstalls its release where an upgrade fails, and it begins with one",
            hint="Set spec.upgrade.remediation.strategy to rollback first, at least until it is proven.",
        )
    try:
        live = await world.kube.get(gate_parts.look_at(id).api_version, id.kind, id.name, namespace=id.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return
    chart = origin.source if isinstance(origin.source, ChartSource) else None
    kept = await helm_storage.last(world.kube, chart.release, chart.namespace) if chart is not None else None
    other = changed_release(origin.definition, live, chart=kept.chart if kept is not None else "")
    if other is not None:
        raise errors.Refused(
            f"{id} knows its release by another {other.what}: {other.known}, and now it is {other.now}; it would "
            "uninstall that one first",
            hint=f"Let it forget: kubectl -n {id.namespace} delete helmrelease {id.name}; as long as it rests that "
            "uninstalls nothing, and Flux makes it anew from Git.",
        )


# What rested while bootstrap kept a component goes on: what is above it brings what Git says now.


def resume_stage(scene: MoveContext, *, patience: float) -> WalkStage:
    """Nothing rests any more that the engine is to have again."""
    resting = [id for each in scene.moved if each.before is Seat.KEPT for id in _declaring(each.component)]
    above = [id for each in scene.moved if each.before is Seat.KEPT for id in _above(scene, each.component)]

    async def look(world: World) -> PendingChange | None:
        held = [each for each in resting if await _rests(each, world.kube)]
        if not held:
            return None

        async def perform() -> None:
            await reconcile.request_reconcile(above, world.kube)

        return PendingChange(writes=tuple(f"ask {each} to reconcile" for each in above), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        looks = tuple(gate_parts.look_at(each) for each in resting)

        def judge(view: GateView) -> Verdict:
            for id, one in zip(resting, looks, strict=True):
                found = view.one(one)
                if found is None or engine_marks.is_suspended(found):
                    return Waiting(f"{id} rests so far: what brings it has not applied the commit")
            return Passed(", ".join(map(str, resting)))

        question = GateQuestion(
            gate=Gate(Subject.RECONCILED), name="the engine goes on", looks=looks, judge=judge, timeout=patience
        )
        verdict = await world.watching.wait(question, on_verdict=on_verdict)
        return verdict, "" if isinstance(verdict, Passed) else "What is wrong: firstlight doctor"

    return WalkStage(
        id=f"{scene.cluster.name}:wake", name="the engine goes on", phase=Phase.GITOPS, look=look, wait=wait
    )  # fmt: skip


def _declaring(component: Component) -> list[ObjectId]:
    return [
        ObjectId(engine_objects.GROUPS[each.form], each.form.value, each.namespace, each.name)
        for each in component.halves[1]
        if each.form in engine_objects.GROUPS
    ]


def _above(scene: MoveContext, component: Component) -> list[ObjectId]:
    """What brings it, the outermost first."""
    found: list[ObjectId] = []
    seen = {component.name}
    parent = scene.component(component.parent)
    while parent is not None and parent.name not in seen:
        seen.add(parent.name)
        found = [*_declaring(parent), *found]
        parent = scene.component(parent.parent)
    return found


async def _rests(id: ObjectId, client: kube.Client) -> bool:
    try:
        live = await client.get(gate_parts.look_at(id).api_version, id.kind, id.name, namespace=id.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return False
    return engine_marks.is_suspended(live)
