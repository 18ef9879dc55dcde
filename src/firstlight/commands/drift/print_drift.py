"""Drift as it is printed: once or for as long as somebody watches, corrected first where that is asked for."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import click

from firstlight.cli import means as cli_means
from firstlight.cli import output, which_cluster, which_repo
from firstlight.clients import kube
from firstlight.commands.drift import correct as drift_correct
from firstlight.commands.drift import drift as drift_room
from firstlight.commands.drift import expected_state
from firstlight.commands.drift import text as drift_text
from firstlight.commands.drift.applied_commit import CorrectionContext
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.drawing import safe, table
from firstlight.errors import ExitCode
from firstlight.journal import state_files
from firstlight.model.drift import Drift

DRIFTED = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class DriftWishes:
    """What was typed."""

    components: tuple[str, ...]
    correct: bool
    as_owner: bool
    watch: bool
    yes: bool
    uid: str
    form: str
    way: tuple[Path | None, str]
    """The kubeconfig and the context."""
    offline: bool


async def run(cluster: str, wishes: DriftWishes, *, root: Path | None) -> int:
    """Look once or go on looking, correct what differs if that is asked for; the exit code.

    Args:
        cluster: Its name; empty where there is only one.
        wishes: What was typed.
        root: The repo.

    Raises:
        errors.ClientError: The API does not answer.
    """
    async with _opened(cluster, wishes, root=root) as (scene, client, state):
        if wishes.watch:
            return await _watched(scene, client, wishes.form)
        return await _once(scene, client, wishes, state)


@contextlib.asynccontextmanager
async def _opened(
    cluster: str, wishes: DriftWishes, *, root: Path | None
) -> AsyncIterator[tuple[ExpectedState, kube.Client, Path]]:
    """What is compared, and the API; a cluster that does not answer is told before anything is rendered."""
    platform = which_repo.platform(root)
    one = which_cluster.cluster_of(platform, cluster)
    state = state_files.directory_of(platform.root)
    config = which_cluster.config(state, one.name, kubeconfig=wishes.way[0], context=wishes.way[1])
    async with which_cluster.opened(config, agent="drift", state=state, cluster=one.name) as client:
        means = await cli_means.user_means(platform, offline=wishes.offline, keep=False)
        try:
            scene = await expected_state.prepare(platform, one.name, means, components=wishes.components)
            yield scene, client, state
        finally:
            await means.close()


async def _once(scene: ExpectedState, client: kube.Client, wishes: DriftWishes, state: Path) -> int:
    found = await drift_room.look(scene, client)
    if wishes.correct and found.drifted:

        def tell(text: str) -> None:
            print(f"  {safe.name(text)}", file=sys.stderr, flush=True)

        how = drift_correct.CorrectionOptions(as_owner=wishes.as_owner)
        found = await drift_correct.correct(
            scene, client, found, wishes=how, tell=tell, ground=CorrectionContext(state=state, uid=wishes.uid),
            confirm=lambda text: wishes.yes or _agreed(text), agree=_agreed,
        )  # fmt: skip
    _print(found, scene, wishes.form)
    return exit_code(found, is_committed=_is_committed(scene))


async def _watched(scene: ExpectedState, client: kube.Client, form: str) -> int:
    """Until Ctrl-C, which is no failure."""
    last: Drift | None = None
    try:
        async with contextlib.aclosing(drift_room.watch(scene, client)) as looks:
            async for each in looks:
                if form == "json":
                    output.write_json_line(drift_text.data(each))
                elif last is None:
                    _print(each, scene, form)
                    print("\nwatching; Ctrl-C ends it", file=sys.stderr, flush=True)
                else:
                    print("\n".join(drift_text.news(last, each)), flush=True)
                last = each
    except (asyncio.CancelledError, KeyboardInterrupt):
        print("\nno longer watching", file=sys.stderr)
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    return exit_code(last, is_committed=_is_committed(scene)) if last is not None else ExitCode.FAILED


def _is_committed(scene: ExpectedState) -> bool:
    """Whether what was rendered is what the commit has."""
    return drift_text.is_committed(scene.problems)


def exit_code(found: Drift, *, is_committed: bool = True) -> int:
    """What it means to a shell: of what the engine does not have, neither drift nor its absence can be told."""
    if found.is_of_another_commit or not is_committed:
        return ExitCode.FAILED
    if found.drifted:
        return DRIFTED
    return ExitCode.FAILED if found.unread else 0


def _agreed(question: str) -> bool:
    return sys.stdin.isatty() and click.confirm(f"{safe.text(question)}\nGo on?", default=False, err=True)


def _print(found: Drift, scene: ExpectedState, form: str) -> None:
    if form == "json":
        output.write_json(drift_text.data(found))
    else:
        columns = table.terminal_columns()
        print(drift_text.text(found, columns=columns, kept=scene.kept, problems=scene.problems), flush=True)
