"""Rehearse a cluster in a lab of its own, and print the report."""

import asyncio
import dataclasses
from pathlib import Path

from firstlight.cli import allow_commands as cli_allow_commands
from firstlight.cli import output, which_cluster, which_repo, which_run
from firstlight.commands.rehearse import chart_copies, lab_mapping
from firstlight.commands.rehearse import rehearse as rehearse_room
from firstlight.commands.rehearse import text as rehearse_text
from firstlight.commands.rehearse.lab_kit import clean_up, fresh_lab, interrupted, kit, lab_name
from firstlight.commands.rehearse.rehearsal import Rehearsal
from firstlight.commands.rehearse.text import verdict_of
from firstlight.commands.verify import text as verify_text
from firstlight.drawing import table
from firstlight.execute.means import RunRequest
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.model.verdict import Verification

EXIT_CODES = {"passed": 0, "failed": 1, "refused": 3}


def rehearse(
    root: Path | None, cluster: str, *, charts: Path | None, offline: bool, until: str | None, verify: bool,
    allow_commands: bool, yes: bool, keep: bool, markdown: Path | None, everything: bool, form: str,
) -> int:  # fmt: skip
    """Rehearse a cluster of a repo; return the exit code."""
    platform = which_repo.platform(root)
    chosen = which_cluster.cluster_of(platform, cluster)
    wishes = RunRequest(cluster=chosen.name, until=Phase(until) if until else None)
    if allow_commands:
        cli_allow_commands.allow(platform, chosen, yes=yes, also=rehearse_room.executed_commands(platform, chosen))
    try:
        told, verified = asyncio.run(
            _rehearse(platform, chosen, wishes, charts=charts, offline=offline, keep=keep, verify=verify)
        )
    except KeyboardInterrupt:
        return interrupted(lab_name(chosen.name), keep=keep)
    show(told, verified, markdown=markdown, everything=everything, form=form)
    return EXIT_CODES[verdict_of(told, verified)]


async def _rehearse(
    platform: Platform, cluster: Cluster, wishes: RunRequest, *, charts: Path | None, offline: bool, keep: bool,
    verify: bool,
) -> tuple[Rehearsal, Verification | None]:  # fmt: skip
    given = chart_copies.read(charts) if charts else ()
    one = await fresh_lab(lab_name(cluster.name))
    tools = await kit(one, actors=lab_mapping.actors(platform, cluster), given=given, offline=offline, keep=keep)
    tools = dataclasses.replace(tools, journals=which_run.state_directory(platform.root))
    try:
        played = await rehearse_room.rehearse(platform, cluster, wishes, tools)
        # There is nothing to prove of a run that did not get to its end.
        is_over = verify and played.told.verdict == "passed" and wishes.until is None
        verified = await rehearse_room.verify_rehearsal(one, played) if is_over else None
        return dataclasses.replace(played.told, is_kept=keep), verified
    finally:
        await clean_up(one, keep=keep)


def show(
    told: Rehearsal, verified: Verification | None = None, *, markdown: Path | None, everything: bool, form: str
) -> None:
    """Print the report, and write it where that is wanted."""
    if markdown is not None:
        markdown.write_text(rehearse_text.markdown(told, verified))
    if form == "json":
        output.write_json(rehearse_text.data(told, verified))
    else:
        columns = table.terminal_columns()
        print(rehearse_text.text(told, verified, columns=columns, everything=everything))
        if verified is not None:
            print(f"\n{verify_text.text(verified, columns=columns)}")
