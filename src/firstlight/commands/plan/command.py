"""``firstlight plan``: the steps of a run, what each would create, and what stands in the way."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import offline_option, repo_option


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
    from firstlight.commands.plan import plan as plan_room

    return plan_room.show(root, cluster, wanted=wanted, offline=offline, everything=everything, form=form)
