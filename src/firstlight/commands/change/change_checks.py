"""The checks of a change as it is carried through: those before it, and those after it until they pass."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

from firstlight.clients import kube
from firstlight.clients.git import Git
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.decide.checks import checklist
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange, RenderedRevision
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.decision import ChangeCheck, CheckState, Moment
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

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
