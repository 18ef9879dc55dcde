"""``firstlight override status``."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import output, override_reaching

if TYPE_CHECKING:
    from firstlight.execute.overriding.ground import Ground
    from firstlight.model.override import Seen

EXPIRED = 1
OPEN = 2


@click.command()
@click.argument("cluster", default="")
@click.option("--all", "is_all", is_flag=True, help="Also those that are over.")
@click.option("--git", "is_rendered", is_flag=True, help="Render the repo, and say whether Git has what was changed.")
@click.option("--offline", is_flag=True, help="With --git: fetch nothing, charts come from the cache.")
@override_reaching.options
@output.option
def status(
    cluster: str, is_all: bool, is_rendered: bool, offline: bool, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """What is overridden now: until when, who rests, what was changed, whether Git has it, and what comes next.

    Exit code 0 means that nothing is, 2 that an override is open, 1 that one has expired.
    """
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        from firstlight.operate.override import looking

        try:
            async with place.opened() as ground:
                found = await _looked(place, ground, is_all=is_all, is_rendered=is_rendered, offline=offline)
                now = ground.now()
        except errors.Unreachable as error:
            import time

            print(f"  {error.message}", file=sys.stderr)
            found, now = looking.kept(place.state, place.cluster.name), time.time()
            if not found:
                raise
        _print(found, cluster=place.cluster.name, now=now, form=form)
        return exit_code(found, now=now)

    return asyncio.run(run())


def exit_code(found: "tuple[Seen, ...]", *, now: float) -> int:
    """What it means to a shell."""
    if any(each.override.is_expired(now) for each in found):
        return EXPIRED
    return OPEN if any(not each.override.is_over for each in found) else 0


async def _looked(
    place: override_reaching.Place, ground: "Ground", *, is_all: bool, is_rendered: bool, offline: bool
) -> "tuple[Seen, ...]":
    from firstlight.cli import own_means
    from firstlight.operate.override import git_form, looking

    if not is_rendered:
        return await looking.look(ground, is_all=is_all)
    means = await own_means.means(place.platform, offline=offline, keep=False)
    try:
        git = await git_form.of(place.platform, place.cluster, means)
    finally:
        await means.close()
    return await looking.look(ground, git=git, is_all=is_all)


def _print(found: "tuple[Seen, ...]", *, cluster: str, now: float, form: str) -> None:
    import os

    from firstlight.report import override as report
    from firstlight.report import override_data, table

    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    text = report.status(found, cluster=cluster, now=now, is_coloured=is_coloured, columns=table.terminal_columns())
    output.answer(form, text, override_data.status(found, cluster=cluster, now=now))
