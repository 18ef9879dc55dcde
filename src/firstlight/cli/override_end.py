"""``firstlight override end`` and ``override abort``."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import output, override_reaching

if TYPE_CHECKING:
    from firstlight.execute.overriding.ground import Ground
    from firstlight.model.override import Override
    from firstlight.operate.override.agreeing import Git

FAILED = 1


@click.command()
@click.argument("cluster", default="")
@click.option("--discard", is_flag=True, help="Let Git win: what was changed goes back to what it was first.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@click.option("--yes", is_flag=True, help="Do not ask before changes are thrown away.")
@override_reaching.which
@override_reaching.options
@output.option
def end(
    cluster: str, discard: bool, offline: bool, yes: bool, id: str, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Close an override when Git has what was changed: the engine owns it, goes on, and is waited for.

    Refused (exit code 3) while Git and cluster differ in what was changed, or while the engine's source does not have
    the commit. Exit code 1 means that it is over, and something did not go as it should: the record tells.
    """
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        from firstlight.operate.override import ending
        from firstlight.operate.override.working import working

        async with place.opened() as ground:
            override = await override_reaching.chosen(ground, id)
            if discard and override.changes:
                override_reaching.agreed(_discarded(override), yes=yes)
            git = await _rendered(place, offline) if override.changes and not discard else None
            async with working(ground):
                now = await override_reaching.chosen(ground, override.id)
                over = now if now.is_over else await ending.end(now, ground, git=git, discard=discard)
            return _print(over, ground, form)

    return asyncio.run(run())


@click.command()
@click.argument("cluster", default="")
@click.option("--yes", is_flag=True, help="Do not ask before changes are taken back.")
@override_reaching.which
@override_reaching.options
@output.option
def abort(
    cluster: str, yes: bool, id: str, kubeconfig: Path | None, context: str, root: Path | None, form: str
) -> int:  # fmt: skip
    """Put everything back that an override has changed, as it was before, and let the engine go on.

    Only what the override itself has changed: what somebody else has changed meanwhile stays, and is named.
    """
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        from firstlight.operate.override import aborting
        from firstlight.operate.override.working import working

        async with place.opened() as ground:
            override = await override_reaching.chosen(ground, id)
            if override.changes:
                override_reaching.agreed(_discarded(override), yes=yes)
            async with working(ground):
                now = await override_reaching.chosen(ground, override.id)
                over = now if now.is_over else await aborting.abort(now, ground)
            return _print(over, ground, form)

    return asyncio.run(run())


def _discarded(override: "Override") -> str:
    named = ", ".join(map(str, override.changed))
    return f"takes back what was changed past Git: {named}"


async def _rendered(place: override_reaching.Place, offline: bool) -> "Git | None":
    """What Git has; None if it cannot be rendered at all, which is told."""
    from firstlight.cli import own_means
    from firstlight.execute.overriding.ground import Said
    from firstlight.operate.override import git_form

    means = await own_means.means(place.platform, offline=offline, keep=False)
    try:
        return await git_form.of(place.platform, place.cluster, means)
    except errors.FirstlightError as error:
        override_reaching.told(Said(f"the repo cannot be rendered: {error}"))
        return None
    finally:
        await means.close()


def _print(override: "Override", ground: "Ground", form: str) -> int:
    from firstlight.execute.overriding import incident
    from firstlight.report import override as report
    from firstlight.report import override_data

    path = str(incident.path(ground.state, ground.cluster, override.id))
    data = {**override_data.one(override, now=ground.now()), "incident": path}
    output.answer(form, report.ended(override, incident=path), data)
    return FAILED if override.notes else 0
