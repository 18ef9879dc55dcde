"""The checklist of a change, run for real: what a program can look at, and what is left for a person."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Collection, Mapping

from firstlight import errors
from firstlight.model.decision import Check, CheckState, Decision, Moment
from firstlight.operate.deciding.checks import (
    branching,
    clear_text,
    dependencies,
    docs,
    function,
    health,
    monitoring,
    performance,
    removals,
    rendering,
    resources,
    rollback,
    security,
    standing,
    syntax,
    volumes,
)
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

Looking = Callable[[Decision, Scene], Awaitable[list[Note]]]

PRE: Mapping[str, tuple[str, Looking]] = {
    "syntax": ("syntax and schema", syntax.look),
    "render": ("render", rendering.look),
    "dependencies": ("dependency impact", dependencies.look),
    "resources": ("requests against what the nodes have", resources.look),
    "rollback-plan": ("rollback plan", rollback.look),
    "monitoring": ("an alert or monitor that covers it", monitoring.look),
    "baseline": ("a baseline to compare with afterwards", performance.keep),
}
POST: Mapping[str, tuple[str, Looking]] = {
    "health": ("health", health.look),
    "function": ("function", function.look),
    "performance": ("performance", performance.look),
    "security-posture": ("security posture", security.look),
    "documentation": ("documentation", docs.look),
}
"""The usual ones by their ids, with what they are called where the rules do not say."""
MORE: Mapping[str, Looking] = {
    "capacity": resources.look,
    "dependency-review": dependencies.look,
    "prune": removals.look,
    "kind-in-use": removals.kinds,
    "dropped-apis": removals.versions,
    "volumes-kept": volumes.look,
    "own-branch": branching.own_branch,
    "committed": branching.committed,
    "cluster-well": standing.nodes_and_engine,
    "node-joined": standing.nodes,
    "reconciled": standing.engine,
    "engine-follows": standing.engine,
    "routes-answer": function.look,
    "certificates-issued": standing.certificates,
    "secrets-arrive": standing.secrets,
    "no-clear-text": clear_text.look,
}
"""What single rules ask for, and a program can look at."""


async def run(
    decision: Decision, moment: Moment, scene: Scene, *, only: Collection[str] | None = None
) -> tuple[Check, ...]:
    """All checks of a moment, each with its answer.

    Args:
        decision: What was decided, with the checks that its rules ask for.
        moment: Before the change, or after.
        scene: What may be looked at.
        only: The ids of those that are made; all if it is not given.
    """
    known = PRE if moment is Moment.PRE else POST
    looks = {**{id: look for id, (_, look) in known.items()}, **MORE}
    listed = {each.id: each for each in decision.checks if each.moment == moment}
    usual = {id: Check(id=id, moment=moment, title=title) for id, (title, _) in known.items()}
    wanted = {id: each for id, each in {**usual, **listed}.items() if only is None or id in only}
    if not decision.items:
        return tuple(
            dataclasses.replace(each, state=CheckState.SKIPPED, says="there is no change to look at")
            for each in wanted.values()
        )
    made = await asyncio.gather(
        *(
            _looked(each, looks[id], decision, scene) if id in looks else _for_people(each)
            for id, each in wanted.items()
        )
    )
    return tuple(made)


async def _looked(check: Check, look: Looking, decision: Decision, scene: Scene) -> Check:
    """A check made; one that cannot be made has failed, and the others go on."""
    try:
        notes = await look(decision, scene)
        if check.says and notes and all(each.state == CheckState.SKIPPED for each in notes) and check.id in MORE:
            # What a rule asks for and no program could look at is somebody's to do.
            notes = [note.person(check.says, todo=""), *notes]
    except errors.FirstlightError as error:
        notes = [note.failed(f"it could not be looked at: {error.message}", todo=error.hint)]
    return note.together(check, notes)


async def _for_people(check: Check) -> Check:
    """What no program can look at; one that says nothing has its title to say it."""
    return dataclasses.replace(check, state=CheckState.PERSON, says=check.says or check.title)
