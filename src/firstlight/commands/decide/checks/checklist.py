"""The checklist of a change, run for real: what a program can look at, and what is left for a person."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Collection, Mapping

from firstlight import errors
from firstlight.commands.decide.checks import (
    answer,
    capacity,
    health,
    impact,
    monitoring,
    performance,
    reachability,
    repo_hygiene,
    rollback,
    security,
    syntax,
)
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput
from firstlight.model.decision import ChangeCheck, CheckState, Decision, Moment

Looking = Callable[[Decision, CheckInput], Awaitable[list[CheckAnswer]]]

PRE: Mapping[str, tuple[str, Looking]] = {
    "syntax": ("syntax and schema", syntax.look),
    "render": ("render", syntax.look_at_rendering),
    "dependencies": ("dependency impact", impact.look_at_dependents),
    "resources": ("requests against what the nodes have", capacity.look),
    "rollback-plan": ("rollback plan", rollback.look),
    "monitoring": ("an alert or monitor that covers it", monitoring.look),
    "baseline": ("a baseline to compare with afterwards", performance.keep),
}
POST: Mapping[str, tuple[str, Looking]] = {
    "health": ("health", health.look),
    "function": ("function", reachability.look),
    "performance": ("performance", performance.look),
    "security-posture": ("security posture", security.look),
    "documentation": ("documentation", repo_hygiene.docs_up_to_date),
}
"""The usual ones by their ids, with what they are called where the rules do not say."""
MORE: Mapping[str, Looking] = {
    "capacity": capacity.look,
    "dependency-review": impact.look_at_dependents,
    "prune": impact.look_at_removals,
    "kind-in-use": impact.kinds_in_use,
    "dropped-apis": impact.dropped_versions,
    "volumes-kept": impact.look_at_volumes,
    "own-branch": repo_hygiene.own_branch,
    "committed": repo_hygiene.committed,
    "cluster-well": health.nodes_and_engine,
    "node-joined": health.nodes_joined,
    "reconciled": health.engine_follows,
    "engine-follows": health.engine_follows,
    "routes-answer": reachability.look,
    "certificates-issued": health.certificates_issued,
    "secrets-arrive": health.secrets_arrive,
    "no-clear-text": repo_hygiene.no_clear_text,
}
"""What single rules ask for, and a program can look at."""


async def run(
    decision: Decision, moment: Moment, scene: CheckInput, *, only: Collection[str] | None = None
) -> tuple[ChangeCheck, ...]:
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
    usual = {id: ChangeCheck(id=id, moment=moment, title=title) for id, (title, _) in known.items()}
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


async def _looked(check: ChangeCheck, look: Looking, decision: Decision, scene: CheckInput) -> ChangeCheck:
    """A check made; one that cannot be made has failed, and the others go on."""
    try:
        answers = await look(decision, scene)
        if check.says and answers and all(each.state == CheckState.SKIPPED for each in answers) and check.id in MORE:
            # What a rule asks for and no program could look at is somebody's to do.
            answers = [answer.person("check-by-hand", check.says, fix=""), *answers]
    except errors.FirstlightError as error:
        answers = [answer.failed("check-not-made", f"it could not be looked at: {error.message}", fix=error.hint)]
    return answer.together(check, answers)


async def _for_people(check: ChangeCheck) -> ChangeCheck:
    """What no program can look at; one that says nothing has its title to say it."""
    return dataclasses.replace(check, state=CheckState.PERSON, says=check.says or check.title)
