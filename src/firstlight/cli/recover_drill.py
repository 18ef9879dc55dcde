"""``firstlight recover --drill``: the recovery practised in the lab, on the user's own repo."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import output

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.model.cluster import Cluster
    from firstlight.model.platform import Platform
    from firstlight.model.recovery import Drilled
    from firstlight.operate.recover.faults import Fault, Ground

LIST = "list"
FAILED = 1


def drill(platform: "Platform", cluster: "Cluster", scenario: str, *, offline: bool, keep: bool, form: "Form") -> int:
    """Practise a recovery; the exit code.

    Raises:
        errors.UsageError: There is no such scenario.
        errors.Refused: It cannot be rehearsed, or the cluster has nothing of that kind to break.
    """
    import time

    from firstlight.cli import rehearse
    from firstlight.operate.recover import drill_record, faults
    from firstlight.report import recover_drill as report

    fault = faults.FAULTS.get(scenario)
    if fault is None:
        raise errors.UsageError(
            f"there is no scenario {scenario[:63]!r}", hint=f"There is {', '.join(faults.FAULTS)}; --drill {LIST}"
        )
    name = f"drill-{rehearse.lab_name(cluster.name).removeprefix('rehearsal-')}"[:32].rstrip("-")
    try:
        found = asyncio.run(_drilled(platform, cluster, fault, name=name, offline=offline, keep=keep))
    except KeyboardInterrupt:
        return rehearse.interrupted(name, keep=keep)
    recorded: Path | None = None
    if found.is_fine:
        recorded = drill_record.append(platform.root, found, now=time.time()).relative_to(platform.root)
    shown = report.text(found, what=fault.what, how=fault.how, recorded=str(recorded or ""))
    output.answer(form, shown, report.data(found, recorded=str(recorded or "")))
    return 0 if found.is_fine else FAILED


def listed(form: "Form") -> int:
    """Print the scenarios."""
    from firstlight.operate.recover import faults
    from firstlight.report import recover_drill as report
    from firstlight.report import table

    rows = [(each.id, each.what, each.how, each.option) for each in faults.FAULTS.values()]
    data = [{"id": id, "what": what, "how": how, "option": option} for id, what, how, option in rows]
    output.answer(form, report.listing(rows, columns=table.terminal_columns()), data)
    return 0


async def _drilled(
    platform: "Platform", cluster: "Cluster", fault: "Fault", *, name: str, offline: bool, keep: bool
) -> "Drilled":
    from firstlight.cli import rehearse
    from firstlight.operate.means import Wishes
    from firstlight.operate.recover.faults import Ground
    from firstlight.operate.rehearsal import mapping, rehearsing, stand_ins

    one = await rehearse.fresh_lab(name)
    kit = await rehearse.kit(one, actors=mapping.actors(platform, cluster), offline=offline, keep=keep)
    try:
        played = await rehearsing.rehearse(platform, cluster, Wishes(cluster=cluster.name, until=fault.until), kit)
        if played.told.verdict != "passed":
            raise errors.Refused(
                f"{cluster.name} does not come up in the lab, so that nothing can be drilled",
                hint=f"See why: firstlight rehearse {cluster.name}",
            )
        playing = asyncio.create_task(stand_ins.play(one, kit.kinds))
        try:
            return await _broken(fault, Ground(lab=one, prepared=played.prepared, means=played.means))
        finally:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
    finally:
        await rehearse.clean_up(one, keep=keep)


async def _broken(fault: "Fault", ground: "Ground") -> "Drilled":
    from firstlight.cli import recover_doing
    from firstlight.operate.node import coming_back
    from firstlight.operate.recover import drilling

    async def do(option: str, on: str) -> int:
        wishes = recover_doing.Wishes(
            option=option, what=on, is_dry_run=False, is_yes=True, timeout=coming_back.TIMEOUT, form="text"
        )
        # Standard output is for the report alone.
        with contextlib.redirect_stdout(sys.stderr):
            return await recover_doing.do(ground.prepared.platform, ground.cluster, ground.means, wishes)

    return await drilling.drill(fault, ground, do=do, say=lambda text: print(text, file=sys.stderr, flush=True))
