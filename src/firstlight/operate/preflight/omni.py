"""Whether Omni answers, and takes the template; nothing is changed there."""

import asyncio
from pathlib import Path

from firstlight import errors
from firstlight.clients import omnictl
from firstlight.model.cluster import Cluster
from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.work import SyncTemplate, Work


async def omni(work: Work, program: Path | None) -> list[Problem]:
    """What stands between a template and Omni."""
    wanted = [each for each in work.tasks.values() if isinstance(each, SyncTemplate)]
    if not wanted:
        return []
    if program is None:
        return [
            Problem(
                rule="program-missing",
                severity=Severity.ERROR,
                message="clusters of Omni are made by omnictl, and it is missing",
                way_out="firstlight tools install omnictl",
            )
        ]
    asked = omnictl.Omnictl(program)
    found = await asyncio.gather(*(_one(each, asked, work.cluster) for each in wanted))
    return [each for one in found for each in one]


async def _one(task: SyncTemplate, program: omnictl.Omnictl, cluster: Cluster) -> list[Problem]:
    try:
        await program.validate(task.template, directory=task.directory)
    except omnictl.Rejected as error:
        return [_problem("omni-template", f"omnictl refuses it: {each}", error, cluster) for each in error.problems]
    except errors.FirstlightError as error:
        return [_problem("omni-template", error.message, error, cluster)]
    try:
        await program.diff(task.template, directory=task.directory)
    except errors.FirstlightError as error:
        return [_problem("omni-silent", error.message, error, cluster)]
    return []


def _problem(rule: str, message: str, error: errors.FirstlightError, cluster: Cluster) -> Problem:
    link = Link(cluster.omni_template, "is the Omni template", cluster.place)
    return Problem(rule=rule, severity=Severity.ERROR, message=message, chain=(link,), way_out=error.hint)
