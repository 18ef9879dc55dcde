"""``firstlight override end`` and ``override abort``."""

import asyncio
import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output
from firstlight.commands.override import data as override_data
from firstlight.commands.override import git_agreement, session
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.commands.override.session import lease_held
from firstlight.drawing import override_text
from firstlight.errors import ExitCode
from firstlight.execute.overrides import override_end, override_records, suspend_resume
from firstlight.execute.overrides.override_context import OverrideContext, OverrideMessage
from firstlight.model.override import Override, OverrideStanding


def end(
    cluster: str, *, discard: bool, offline: bool, yes: bool, id: str, kubeconfig: Path | None, context: str, root:
    Path | None, form: str,
) -> int:  # fmt: skip
    """Close an override when Git has what was changed: the engine owns it, goes on, and is waited for."""
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        async with place.opened() as ground:
            override = await session.chosen_override(ground, id)
            if discard and override.changes:
                session.require_agreement(_discarded(override), yes=yes)
            git = await _rendered(place, offline) if override.changes and not discard else None
            async with lease_held(ground):
                now = await session.chosen_override(ground, override.id)
                over = now if now.is_over else await end_override(now, ground, git=git, discard=discard)
            return _print(over, ground, form)

    return asyncio.run(run())


def abort(
    cluster: str, *, yes: bool, id: str, kubeconfig: Path | None, context: str, root: Path | None, form: str
) -> int:
    """Put everything back that an override has changed, as it was before, and let the engine go on."""
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        async with place.opened() as ground:
            override = await session.chosen_override(ground, id)
            if override.changes:
                session.require_agreement(_discarded(override), yes=yes)
            async with lease_held(ground):
                now = await session.chosen_override(ground, override.id)
                over = now if now.is_over else await abort_override(now, ground)
            return _print(over, ground, form)

    return asyncio.run(run())


def _discarded(override: Override) -> str:
    named = ", ".join(map(str, override.changed))
    return f"takes back what was changed past Git: {named}"


async def _rendered(place: session.OverrideTarget, offline: bool) -> RenderedGit | None:
    """What Git has; None if it cannot be rendered at all, which is told."""
    means = await cli_means.user_means(place.platform, offline=offline, keep=False)
    try:
        return await git_agreement.rendered_git(place.platform, place.cluster, means)
    except errors.FirstlightError as error:
        session.print_event(OverrideMessage(f"the repo cannot be rendered: {error}"))
        return None
    finally:
        await means.close()


def _print(override: Override, ground: OverrideContext, form: str) -> int:
    path = str(override_records.incident_path(ground.state, ground.cluster, override.id))
    data = {**override_data.one(override, now=ground.now()), "incident": path}
    output.answer(form, override_text.ended(override, incident=path), data)
    return ExitCode.FAILED if override.notes else 0


# ``override end``: only when Git has what was changed, or is to win; then the engine goes on.


_MOST = 10


async def end_override(
    override: Override, ground: OverrideContext, *, git: RenderedGit | None = None, discard: bool = False
) -> Override:
    """Close an override; the caller holds the lease.

    Args:
        override: One that is open.
        ground: Where.
        git: What Git has; not needed if nothing was changed, or if Git is to win.
        discard: Let Git win: what was changed goes back first.

    Raises:
        errors.Refused: It is over; or Git and cluster do not agree; or the engine's source has not got that commit.
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    if override.is_over:
        raise errors.Refused(f"override {override.id} is over", hint="firstlight override status")
    if override.standing is OverrideStanding.OPEN:
        override = await override_end.looked(override, ground)
        if override.changes and not discard:
            await _check(override, ground, git)
        at = (git.revision, git.repository) if git is not None and not discard else ("", "")
        override = await override_records.write(
            dataclasses.replace(
                override, standing=OverrideStanding.ENDING, is_discarded=discard, revision=at[0], repository=at[1]
            ),
            ground,
        )
    return await override_end.close(override, ground)


async def _check(override: Override, ground: OverrideContext, git: RenderedGit | None) -> None:
    hint = f"firstlight override align {ground.cluster} brings it into Git; --discard lets Git win."
    if git is None:
        raise errors.Refused("nobody knows whether Git has what was changed", hint=hint)
    if git.problems:
        raise errors.Refused(f"the engine would not get what is here: {git.problems[0]}", hint="Push it, then end.")
    found = await git_agreement.differences(override, ground, git.wanted)
    if found:
        more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
        lines = "\n".join([*(f"  {each}" for each in found[:_MOST]), *more])
        why = f"\nnot everything could be rendered: {git.unread[0]}" if git.unread else ""
        raise errors.Refused(f"Git does not have what was changed:\n{lines}{why}", hint=hint)
    for each in override.held:
        live = await suspend_resume.look_held(each, ground)
        where = git.repository
        problem = await suspend_resume.ask_source(live, git.revision, ground, url=where) if live is not None else ""
        if problem:
            raise errors.Refused(
                f"the engine does not have that commit yet: {problem}",
                hint="Push it to the branch that the engine follows, then end again.",
            )


# ``override abort``: back to the snapshot, and the engine goes on.


async def abort_override(override: Override, ground: OverrideContext) -> Override:
    """Undo an override: only what it changed itself; the caller holds the lease.

    Raises:
        errors.Refused: It is over.
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    if override.is_over:
        raise errors.Refused(f"override {override.id} is over", hint="firstlight override status")
    if override.standing is OverrideStanding.OPEN:
        override = await override_end.looked(override, ground)
    override = await override_records.write(dataclasses.replace(override, standing=OverrideStanding.ABORTING), ground)
    return await override_end.close(override, ground)
