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
    from firstlight.operate.recover.fault import Fault, Ground
    from firstlight.operate.rehearsal.charts_at_hand import AtHand

LIST = "list"
FAILED = 1


def drill(
    platform: "Platform", cluster: "Cluster", scenario: str, *, charts: Path | None, offline: bool, keep: bool,
    form: "Form",
) -> int:  # fmt: skip
    """Practise a recovery; the exit code.

    Args:
        platform: The repo.
        cluster: The cluster.
        scenario: What is broken.
        charts: A directory of charts that need not be fetched.
        offline: Fetch none.
        keep: Leave the lab running.
        form: How the report is printed.

    Raises:
        errors.UsageError: There is no such scenario.
        errors.Refused: It cannot be rehearsed, or the cluster has nothing of that kind to break.
    """
    import time

    from firstlight.cli import rehearse
    from firstlight.document import mistakes
    from firstlight.operate.recover import drill_record, faults
    from firstlight.operate.rehearsal import charts_at_hand
    from firstlight.report import recover_drill as report

    fault = faults.FAULTS.get(scenario)
    if fault is None:
        near = mistakes.near(scenario, list(faults.FAULTS))
        raise errors.UsageError(f"there is no scenario {scenario[:63]!r}", hint=f"{near} See: --drill {LIST}".strip())
    fault.check(platform, cluster)
    given = charts_at_hand.read(charts) if charts else ()
    name = f"drill-{rehearse.lab_name(cluster.name).removeprefix('rehearsal-')}"[:32].rstrip("-")
    try:
        found = asyncio.run(_drilled(platform, cluster, fault, name=name, given=given, offline=offline, keep=keep))
    except KeyboardInterrupt:
        return rehearse.interrupted(name, keep=keep)
    recorded: Path | None = None
    if found.is_fine:
        recorded = drill_record.append(platform.root, found, now=time.time()).relative_to(platform.root)
    shown = report.text(found, fault.what, how=fault.how, untried=fault.untried, recorded=str(recorded or ""))
    output.answer(form, shown, report.data(found, untried=fault.untried, recorded=str(recorded or "")))
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
    platform: "Platform", cluster: "Cluster", fault: "Fault", *, name: str, given: "tuple[AtHand, ...]", offline: bool,
    keep: bool,
) -> "Drilled":  # fmt: skip
    from firstlight.cli import installing, rehearse
    from firstlight.operate.means import Wishes
    from firstlight.operate.recover import drill_seal
    from firstlight.operate.recover.fault import Ground
    from firstlight.operate.rehearsal import mapping, rehearsing, stand_ins

    one = await rehearse.fresh_lab(name)
    kit = await rehearse.kit(one, actors=mapping.actors(platform, cluster), given=given, offline=offline, keep=keep)
    try:
        played = await rehearsing.rehearse(platform, cluster, Wishes(cluster=cluster.name, until=fault.until), kit)
        if played.told.verdict != "passed":
            raise errors.Refused(
                f"{cluster.name} does not come up in the lab, so that nothing can be drilled",
                hint=f"See why: firstlight rehearse {cluster.name}",
            )
        playing = asyncio.create_task(stand_ins.play(one, kit.kinds))
        try:
            ground = Ground(lab=one, prepared=played.prepared, means=played.means)
            if fault.option not in drill_seal.OPTIONS:
                return await _broken(fault, ground)
            sops = (await installing.ensure(["sops"]))["sops"]
            with drill_seal.sealed(ground, sops=sops) as own:
                return await _broken(fault, own)
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
            option=option, what=on, is_dry_run=False, is_yes=True, timeout=coming_back.TIMEOUT, form="text",
            # The drill has taken the snapshot itself.
            unsigned=(Path(on).name,) if option == recover_doing.NEWEST else (),
        )  # fmt: skip
        # Standard output is for the report alone.
        with contextlib.redirect_stdout(sys.stderr):
            return await recover_doing.do(ground.prepared.platform, ground.cluster, ground.means, wishes)

    return await drilling.drill(fault, ground, do=do, say=lambda text: print(text, file=sys.stderr, flush=True))
