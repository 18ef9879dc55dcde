"""The checks of a change as it is carried through: those before it, and those after it until they pass.

One of them holds the half of bootstrap against that of Git. What bootstrap renders from the files of Git is always the
same. A manifest in a machine config of the repo has to be rendered anew, or a cluster that is rebuilt begins with the
old images, and ``talosctl upgrade-k8s`` goes back to them.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

from firstlight.clients import kube
from firstlight.clients.git import Git
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.decide.checks import checklist
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange, RenderedRevision
from firstlight.commands.up.up import PreparedRun
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import World
from firstlight.model.boundary import Boundary, BoundaryStanding
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase, Side
from firstlight.model.decision import ChangeCheck, CheckState, Moment
from firstlight.model.source import Embedded
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.plan import boundary

OURS = frozenset({"own-branch", "committed"})
"""Checks before a change of what carrying it through does itself."""
TOLD = frozenset({"documentation", "reconciled", "engine-follows"})
"""Checks after a change for which nobody takes it back: something to do, or what the engine follows besides; all that
the change passes through was watched already."""
PAUSE = 1.0
"""Seconds until what has not passed is looked at once more; it becomes longer."""
LONGEST = 8.0


def scene(
    carrying: OngoingChange, *, cluster: str = "", client: kube.Client | None = None, unreached: str = ""
) -> CheckInput:
    """What checks may look at.

    Args:
        carrying: The change.
        cluster: Which one the client reaches.
        client: Its API; None where it does not answer.
        unreached: Why.
    """
    decided, record = carrying.decided, carrying.record
    before = RenderedRevision(
        tree=decided.before.tree, platform=decided.before.platform, renditions=decided.rendered.before
    )  # fmt: skip
    after = RenderedRevision(
        tree=decided.after.tree, platform=decided.after.platform, renditions=decided.rendered.after
    )
    git = carrying.means.git
    head = target(carrying) or record.commit
    return CheckInput(
        after=before if carrying.is_reverting else after,
        before=after if carrying.is_reverting else before,
        paths=decided.states.paths,
        unrendered=decided.rendered.problem,
        client=client,
        cluster=cluster,
        unreached=unreached or "no cluster was asked",
        authorities=decided.states.authorities,
        history=CommitRange(git=Git(git), path=carrying.root, base=record.base, head=head)
        if git and record.base
        else None,
        talosctl=carrying.means.programs.talosctl,
        state=carrying.means.state,
        now=carrying.means.now,
    )


def target(carrying: OngoingChange) -> str:
    """The commit of the followed branch that engines must come to; empty before it is merged."""
    return carrying.record.reverted if carrying.is_reverting else carrying.record.merged


async def before(
    carrying: OngoingChange, *, cluster: str, client: kube.Client | None, unreached: str
) -> tuple[ChangeCheck, ...]:
    """The checks before a change, made and recorded.

    Args:
        carrying: The change.
        cluster: The first that gets it.
        client: Its API; None where it does not answer.
        unreached: Why.
    """
    seen = scene(carrying, cluster=cluster, client=client, unreached=unreached)
    made = await checklist.run(carrying.decided.decision, Moment.PRE, seen)
    kept = tuple(each for each in made if each.id not in OURS)
    carrying.keeper.set(checks=(*kept, *(each for each in carrying.record.checks if each.moment != Moment.PRE)))
    return kept


def failing(checks: Sequence[ChangeCheck], *, told: frozenset[str] = TOLD) -> tuple[ChangeCheck, ...]:
    """Those that say no; some are only told."""
    return tuple(each for each in checks if each.state is CheckState.FAILED and each.id not in told)


def stage(carrying: OngoingChange, cluster: Cluster, *, told: frozenset[str] = TOLD) -> WalkStage:
    """The checks after a change in one cluster: looked at until they pass, or patience is over.

    Args:
        carrying: The change.
        cluster: Its cluster.
        told: Ids of checks for which nobody takes it back.
    """

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await _passed(carrying, cluster, world, on_verdict, told=told)

    back = "after the revert" if carrying.is_reverting else "after the change"
    return WalkStage(
        id=f"{cluster.name}:checks{'-again' if carrying.is_reverting else ''}", name=f"check {cluster.name}",
        what=f"what the change touches works {back}", phase=Phase.GITOPS, wait=wait,
    )  # fmt: skip


async def _passed(
    carrying: OngoingChange, cluster: Cluster, world: World, on_verdict: OnVerdict, *, told: frozenset[str]
) -> tuple[Verdict, str]:  # fmt: skip
    decision = carrying.decided.decision
    seen = scene(carrying, cluster=cluster.name, client=world.kube)
    found = {each.id: each for each in await checklist.run(decision, Moment.POST, seen)}
    pause, last = PAUSE, ""
    loop = asyncio.get_running_loop()
    end = loop.time() + carrying.patience
    while wrong := failing(list(found.values()), told=told):
        says = "; ".join(f"{each.title}: {each.says}" for each in wrong)
        if says != last:
            on_verdict(Waiting(last := says))
        _record(carrying, cluster, list(found.values()))
        if loop.time() + pause > end:
            return Failed(says), _hint(carrying)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST)
        again = await checklist.run(decision, Moment.POST, seen, only={each.id for each in wrong})
        found |= {each.id: each for each in again}
    _record(carrying, cluster, list(found.values()))
    people = [each.title for each in found.values() if each.state in (CheckState.PERSON, CheckState.FAILED)]
    return Passed(f"for somebody to look at: {', '.join(people)}" if people else ""), ""


def _hint(carrying: OngoingChange) -> str:
    if carrying.is_reverting:
        return "It was like this before, too, or something else is wrong: firstlight doctor"
    return f"Take it back: firstlight change revert {carrying.record.id}; or mend it, and firstlight change resume"


def _record(carrying: OngoingChange, cluster: Cluster, checks: Sequence[ChangeCheck]) -> None:
    """Keep them with the cluster's name, in the place of what was seen there before."""
    several = len(carrying.record.clusters) > 1
    mark = f"{cluster.name}: " if several else ""
    made = [dataclasses.replace(each, title=f"{mark}{each.title}") for each in checks]
    names = {each.title for each in made}
    others = [each for each in carrying.record.checks if each.moment != Moment.POST or each.title not in names]
    carrying.keeper.set(checks=(*others, *made))


_FEW = 3


def boundary_stage(cluster: Cluster, names: Sequence[str], preparing: PreparedBootstrap) -> WalkStage:
    """A stage that writes nothing, and fails where the repo's machine config has other images than Git.

    Args:
        cluster: The cluster.
        names: Components that bootstrap began with and Git owns.
        preparing: Renders them.
    """

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        prepared = await preparing.get(world)
        components = [each for each in prepared.platform.components_of(cluster.name) if each.name in names]
        found = [one for each in components if (one := of(prepared, each)) is not None]
        stale = [each for each in found if is_stale(each) and _is_embedded(components, each.component)]
        verdict: Verdict = Passed("; ".join(map(told, found)) or "bootstrap begins with Git's own files")
        hint = ""
        if stale:
            verdict = Failed("; ".join(map(told, stale)))
            hint = f"{_again(stale, cluster)}; commit that file with the change, and start again"
        on_verdict(verdict)
        return verdict, hint

    return WalkStage(
        id=f"{cluster.name}:boundary", name="both halves say the same", what=", ".join(names), phase=Phase.INLINE,
        wait=wait,
    )  # fmt: skip


def of(prepared: PreparedRun, component: Component) -> Boundary | None:
    """Both renditions of a component, compared; None where it has one only."""
    sides = {each.side: each for each in prepared.renditions if each.component == component.name}
    if Side.BOOTSTRAP not in sides or Side.GITOPS not in sides:
        return None
    return boundary.of(prepared.cluster, component, sides[Side.BOOTSTRAP], sides[Side.GITOPS])


def is_stale(found: Boundary) -> bool:
    """Whether bootstrap's half has other images."""
    return bool(_images(found))


def told(found: Boundary) -> str:
    """What differs, in a line."""
    if found.diagnostics:
        return f"{found.component} was not compared: {found.diagnostics[0].message}"
    if images := _images(found):
        return f"bootstrap's half of {found.component} has other images: {', '.join(images[:_FEW])}"
    different = sum(each.standing != BoundaryStanding.EQUAL for each in found.objects)
    count = "1 object differs" if different == 1 else f"{different} objects differ"
    return f"{found.component}: {f'{count}, not in its images' if different else 'equal'}"


def _images(found: Boundary) -> list[str]:
    differences = [one for each in found.objects for one in each.differences if one.path[-1:] == ("image",)]
    return list(dict.fromkeys(each.words for each in differences))


def _is_embedded(components: Sequence[Component], name: str) -> bool:
    return any(
        isinstance(origin.source, Embedded) for each in components if each.name == name for origin in each.origins
    )


def _again(stale: Sequence[Boundary], cluster: Cluster) -> str:
    return " && ".join(f"firstlight render {each.component} --cluster {cluster.name} --inline" for each in stale)
