"""Verify a cluster with everything that a command line asks for, and print what was found."""

import asyncio
import dataclasses
import re
import time
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, screen, which_cluster, which_repo
from firstlight.clients import program_path
from firstlight.clients.cilium import Cilium
from firstlight.commands.up import up
from firstlight.commands.verify import idempotency, talos_inventory, text
from firstlight.commands.verify import verify as verify_room
from firstlight.commands.verify.verify import VerifyContext
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute import access_files
from firstlight.execute.means import Means, RunRequest
from firstlight.journal import journal_reader, state_files
from firstlight.model.platform import Platform
from firstlight.model.verdict import Verification, VerificationCheck
from firstlight.observe.gate_watch import Watching

HOUR = 3600.0
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """What was typed."""

    way: tuple[Path | None, str]
    since: str
    wait: float
    is_probed: bool
    image: str
    cilium_tests: str
    is_rendered: bool
    is_offline: bool
    is_rerun: bool
    audit_log: Path | None
    form: str


def verify(root: Path | None, cluster: str, wishes: VerifyRequest) -> int:
    """Verify a cluster of a repo; return the exit code.

    Raises:
        errors.UsageError: What was typed is not a duration.
    """
    since = _moment(wishes.since)
    found = asyncio.run(_verify(which_repo.platform(root), cluster, wishes, since=since))
    _print(found, wishes.form)
    return 0 if found.is_fine else ExitCode.FAILED


async def _verify(platform: Platform, name: str, wishes: VerifyRequest, *, since: float | None) -> Verification:
    one = which_cluster.cluster_of(platform, name)
    state = state_files.directory_of(platform.root)
    config = which_cluster.config(state, one.name, kubeconfig=wishes.way[0], context=wishes.way[1])
    means = await cli_means.user_means(platform, offline=wishes.is_offline, keep=False) if wishes.is_rendered else None
    opened = which_cluster.opened(config, agent="verify", state=state, cluster=one.name)
    async with opened as client, Watching(client) as watching:
        scene = verify_room.VerifyContext(
            cluster=one,
            client=client,
            watching=watching,
            since=_last_run(state, one.name) if since is None else since,
            wait=wishes.wait,
            is_probed=wishes.is_probed,
            image=wishes.image,
            cilium=_cilium(state, one.name, wishes.way) if wishes.is_probed else None,
            cilium_tests=wishes.cilium_tests,
            rerun=idempotency.run_again(platform, one, means) if wishes.is_rerun and means else None,
            machines=idempotency.machines_now(one, means) if wishes.is_rerun and means else None,
            audit_log=wishes.audit_log,
            talos=talos_inventory.release_look(one, means, lambda world: world.connect(config)) if means else None,
        )
        return await _shown(await _with_work(scene, platform, means, wishes.form), wishes.form)


def _cilium(state: Path, cluster: str, way: tuple[Path | None, str]) -> Cilium | None:
    """Cilium's own program, if the user has it, on the same way to the cluster."""
    program = program_path.find("cilium")
    if program is None:
        return None
    left = which_cluster.kept(state, cluster)
    if way == (None, "") and state_files.is_file(left):
        access_files.kept_kubeconfig(left)  # the program would do whatever the file says
        return Cilium(Path(program), kubeconfig=left)
    return Cilium(Path(program), kubeconfig=way[0], context=way[1], allow_exec=True)


async def _with_work(scene: VerifyContext, platform: Platform, means: Means | None, form: str) -> VerifyContext:
    """With the plan and what gates know, where the repo is to be rendered."""
    if means is None:
        return scene
    with screen.doing(is_shown=form == "text") as say:
        prepared = await up.prepare(platform, RunRequest(cluster=scene.cluster.name), means, is_checked=False, say=say)
    return dataclasses.replace(scene, work=prepared.work, ground=prepared.ground)


async def _shown(scene: VerifyContext, form: str) -> Verification:
    """All checks, each shown when it is made."""
    made: list[VerificationCheck] = []
    with screen.Screen() as shown:

        def tell(check: VerificationCheck) -> None:
            made.append(check)
            if form == "text":
                shown.draw(text.lines(made, columns=table.terminal_columns()))

        return await verify_room.verify(scene, tell=tell)


def _print(found: Verification, form: str) -> None:
    if form == "json":
        output.write_json(text.data(found))
    else:
        print(text.text(found, columns=table.terminal_columns()))


def _last_run(state: Path, cluster: str) -> float:
    """Return when the last run on the cluster itself began; an hour ago where there is none."""
    runs = [
        each
        for each in journal_reader.runs(state)
        if each.cluster == cluster and not each.is_dry_run and not each.is_rehearsal
    ]
    return runs[0].started if runs else time.time() - HOUR


def _moment(since: str) -> float | None:
    if not since:
        return None
    found = re.fullmatch(r"(\d+)([smhd])", since)
    if found is None:
        raise errors.UsageError(f"{since!r} is no duration", hint="Write 90s, 30m, 2h or 1d.")
    return time.time() - int(found[1]) * _UNITS[found[2]]
