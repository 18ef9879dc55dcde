"""``firstlight verify``: whether a cluster is what it was brought up to be."""

import asyncio
import dataclasses
import re
import time
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, screen, which_cluster, which_repo
from firstlight.cli.options import cluster_options, repo_option
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


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--wait", type=click.FloatRange(0), default=0.0, metavar="SECONDS", help="Wait for what is not there yet."
)
@click.option("--probe", is_flag=True, help="Try DNS and the network with pods, which are removed again.")
@click.option("--image", default="", show_default="busybox", help="What the pods of --probe run.")
@click.option("--cilium-tests", default="no-policies", show_default=True, metavar="REGEX,…",
              help="Which of Cilium's own tests --probe runs, where its program is on the PATH; or all.")  # fmt: skip
@click.option("--idempotent", is_flag=True, help="Run up again, and prove that it writes nothing.")
@click.option("--audit-log", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
              help="The API server's audit log: counts the writes of --idempotent.")  # fmt: skip
@click.option("--since", default="", metavar="30m", show_default="the last run", help="From when on warnings count.")
@click.option("--render/--no-render", "wanted", default=True, show_default=True,
              help="Render the repo and ask the gates of all components.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@cluster_options
@repo_option
@output.option
def verify(
    cluster: str, wait: float, probe: bool, image: str, cilium_tests: str, idempotent: bool,
    audit_log: Path | None, since: str, wanted: bool, offline: bool, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Nodes, agents, operators, API, Talos inventory, engine, warnings; and the gates of all components once more.

    Nothing is written, but for the pods of --probe. Exit code 1 means that something is not as it must be.
    """
    wishes = _Wishes(
        way=(kubeconfig, context), since=_moment(since), wait=wait, is_probed=probe, image=image,
        cilium_tests=cilium_tests, is_rendered=wanted or idempotent, is_offline=offline, is_rerun=idempotent,
        audit_log=audit_log, form=form,
    )  # fmt: skip
    found = asyncio.run(_verify(which_repo.platform(root), cluster, wishes))
    _print(found, form)
    return 0 if found.is_fine else ExitCode.FAILED


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Wishes:
    """What was typed."""

    way: tuple[Path | None, str]
    since: float | None
    wait: float
    is_probed: bool
    image: str
    cilium_tests: str
    is_rendered: bool
    is_offline: bool
    is_rerun: bool
    audit_log: Path | None
    form: str


async def _verify(platform: Platform, name: str, wishes: _Wishes) -> Verification:
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
            since=_last_run(state, one.name) if wishes.since is None else wishes.since,
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
    """When the last run began that was no dry run; an hour ago where there is none."""
    runs = [each for each in journal_reader.runs(state) if each.cluster == cluster and not each.is_dry_run]
    return runs[0].started if runs else time.time() - HOUR


def _moment(since: str) -> float | None:
    if not since:
        return None
    found = re.fullmatch(r"(\d+)([smhd])", since)
    if found is None:
        raise errors.UsageError(f"{since!r} is no duration", hint="Write 90s, 30m, 2h or 1d.")
    return time.time() - int(found[1]) * _UNITS[found[2]]
