"""``firstlight override status``."""

import asyncio
import dataclasses
import os
import sys
import time
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output
from firstlight.commands.override import data, git_agreement, session
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.drawing import override_text, table
from firstlight.execute.overrides import suspend_resume
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.override import Override, OverrideStatus

EXPIRED = 1
OPEN = 2


def status(
    cluster: str, *, is_all: bool, is_rendered: bool, offline: bool, kubeconfig: Path | None, context: str, root: Path
    | None, form: str,
) -> int:  # fmt: skip
    """What is overridden now: until when, who rests, what was changed, whether Git has it, and what comes next."""
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        try:
            async with place.opened() as ground:
                found = await _looked(place, ground, is_all=is_all, is_rendered=is_rendered, offline=offline)
                now = ground.now()
        except errors.Unreachable as error:
            print(f"  {error.message}", file=sys.stderr)
            found, now = local_status(place.state, place.cluster.name), time.time()
            if not found:
                raise
        _print(found, cluster=place.cluster.name, now=now, form=form)
        return exit_code(found, now=now)

    return asyncio.run(run())


def exit_code(found: tuple[OverrideStatus, ...], *, now: float) -> int:
    """What it means to a shell."""
    if any(each.override.is_expired(now) for each in found):
        return EXPIRED
    return OPEN if any(not each.override.is_over for each in found) else 0


async def _looked(
    place: session.OverrideTarget, ground: OverrideContext, *, is_all: bool, is_rendered: bool, offline: bool
) -> tuple[OverrideStatus, ...]:
    if not is_rendered:
        return await look_at_overrides(ground, is_all=is_all)
    means = await cli_means.user_means(place.platform, offline=offline, keep=False)
    try:
        git = await git_agreement.rendered_git(place.platform, place.cluster, means)
    finally:
        await means.close()
    return await look_at_overrides(ground, git=git, is_all=is_all)


def _print(found: tuple[OverrideStatus, ...], *, cluster: str, now: float, form: str) -> None:
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    text = override_text.status(
        found, cluster=cluster, now=now, is_coloured=is_coloured, columns=table.terminal_columns()
    )
    output.answer(form, text, data.status(found, cluster=cluster, now=now))


# ``override status``: every override with what rests, what does not rest any more, and whether Git has it.


async def look_at_overrides(
    ground: OverrideContext, *, git: RenderedGit | None = None, is_all: bool = False
) -> tuple[OverrideStatus, ...]:
    """What is open, or everything that there was; nothing is written.

    Args:
        ground: Where.
        git: What Git has, where it was rendered.
        is_all: Whether those that are over are wanted too.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = [each for each in await session.list_overrides(ground) if is_all or not each.is_over]
    return tuple([await _seen(each, ground, git) for each in found])


def local_status(state: Path, cluster: str) -> tuple[OverrideStatus, ...]:
    """What the copies on this computer say; for when the API does not answer."""
    found = session.local_overrides(state, cluster)
    return tuple(OverrideStatus(override=each, is_copy=True) for each in found if not each.is_over)


async def _seen(override: Override, ground: OverrideContext, git: RenderedGit | None) -> OverrideStatus:
    if override.is_over:
        return OverrideStatus(override=override)
    awake = await suspend_resume.awake(override, ground)
    seen = OverrideStatus(override=override, awake=tuple(map(str, awake)))
    if git is None or not override.changes:
        return seen
    found = await git_agreement.differences(override, ground, git.wanted)
    return dataclasses.replace(seen, differences=tuple(map(str, found)), is_compared=True)
