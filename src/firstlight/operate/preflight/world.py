"""What must be so outside of the repo."""

import asyncio

from firstlight.execute import identity
from firstlight.journal import reading
from firstlight.model.plan import Problem, Severity
from firstlight.model.work import Install, Work
from firstlight.operate.means import Means
from firstlight.operate.preflight import machines, omni, secrets


async def world(work: Work, means: Means) -> list[Problem]:
    """Everything that can be asked before the first write, asked at once."""
    is_first = not reading.paths(means.state)
    lived = identity.known(means.state, work.cluster.name)
    found = await asyncio.gather(
        secrets.secrets(work, means.masks.remembering(means.resolve)),
        machines.machines(work, means.programs.talosctl, means.reach, is_first=is_first, lived=lived),
        omni.omni(work, means.programs.omnictl),
    )
    return [*_programs(work, means), *(each for one in found for each in one)]


def _programs(work: Work, means: Means) -> list[Problem]:
    if means.programs.helm is None and any(isinstance(each, Install) for each in work.tasks.values()):
        message = "charts are installed by helm, and it is missing"
        return [
            Problem(
                rule="program-missing",
                severity=Severity.ERROR,
                message=message,
                way_out="firstlight tools install helm",
            )
        ]
    return []
