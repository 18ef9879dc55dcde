"""``firstlight plan``: the steps of a run, what each would create, and what stands in the way."""

from pathlib import Path

import click

from firstlight.cli import output, which_repo
from firstlight.cli.options import offline_option, repo_option
from firstlight.cli.renderers import rendered
from firstlight.commands.plan import data, text
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.plan import build


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
@repo_option
@output.option
def plan(cluster: str, wanted: bool | None, offline: bool, everything: bool, root: Path | None, form: str) -> int:
    """The steps of a run by phase: needs, gates, what each would create, what runs at once, the critical path.

    Cycles, missing needs and deadlocks of a cold start are told with the chain that causes them and the way out. Exit
    code 3 means that an error stands in the way.
    """
    platform = which_repo.only(which_repo.platform(root), cluster)
    renditions = rendered(platform, wanted=wanted, offline=offline)
    plans = [build.build(platform, each, renditions=renditions) for each in platform.clusters]
    if form == "json":
        output.write_json({"plans": [data.data(each) for each in plans]})
    else:
        columns = table.terminal_columns()
        print("\n\n\n".join(text.text(each, columns=columns, everything=everything) for each in plans))
    return ExitCode.BLOCKED if any(each.is_blocked for each in plans) else 0
