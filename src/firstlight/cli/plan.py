"""``firstlight plan``: the steps of a run, what each would create, and what stands in the way."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import output, which_repo

if TYPE_CHECKING:
    from firstlight.model.component import Component
    from firstlight.model.platform import Platform
    from firstlight.model.rendition import Rendition

BLOCKED = 3

offline_option = click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--render/--no-render",
    "wanted",
    default=None,
    show_default="if helm and kustomize are there",
    help="Render everything first: objects are counted, and more deadlocks are found.",
)
@offline_option
@click.option("--everything", is_flag=True, help="Every step and every note, where else some stand for many.")
@which_repo.option
@output.option
def plan(cluster: str, wanted: bool | None, offline: bool, everything: bool, root: Path | None, form: str) -> int:
    """The steps of a run by phase: needs, gates, what each would create, what runs at once, the critical path.

    Cycles, missing needs and deadlocks of a cold start are told with the chain that causes them and the way out. Exit
    code 3 means that an error stands in the way.
    """
    from firstlight.plan import build
    from firstlight.report import plan as report
    from firstlight.report import plan_data, table

    platform = which_repo.only(which_repo.platform(root), cluster)
    renditions = rendered(platform, wanted=wanted, offline=offline)
    plans = [build.build(platform, each, renditions=renditions) for each in platform.clusters]
    if form == "json":
        output.write_json({"plans": [plan_data.data(each) for each in plans]})
    else:
        columns = table.terminal_columns()
        print("\n\n\n".join(report.text(each, columns=columns, everything=everything) for each in plans))
    return BLOCKED if any(each.is_blocked for each in plans) else 0


def rendered(
    platform: "Platform", *, wanted: bool | None, offline: bool, components: "Sequence[Component] | None" = None
) -> "tuple[Rendition, ...]":
    """What components deploy; nothing where that is not wanted, or cannot be had and was not asked for.

    Args:
        platform: Everything around them.
        wanted: Whether it must be, must not be, or is welcome.
        offline: Fetch nothing.
        components: Which ones; all of the platform if they are not given.

    Raises:
        errors.ToolError: It is wanted, and a program is missing.
    """
    if wanted is False:
        return ()
    try:
        return asyncio.run(_rendered(platform, platform.components if components is None else components, offline))
    except errors.ToolError as error:
        if wanted:
            raise
        print(f"nothing is rendered: {error.message}. {error.hint}", file=sys.stderr)
        return ()


async def _rendered(platform: "Platform", components: "Sequence[Component]", offline: bool) -> "tuple[Rendition, ...]":
    from firstlight.cli import renderers

    async with await renderers.open_renderer(platform, offline=offline) as renderer:
        return tuple(each.rendition for each in await renderer.render_all(components))
