"""``firstlight runs``: earlier runs, one of them whole, and a picture of where its time went."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option


@click.command()
@click.argument("run", default="")
@click.option("--cluster", default="", metavar="NAME", help="Only runs of one cluster.")
@click.option(
    "--timeline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg",
    help="Draw the run, or the newest, as a picture.",
)
@repo_option
@output.option
def runs(run: str, cluster: str, timeline: Path | None, root: Path | None, form: str) -> None:
    """Runs of this repo, newest first; or one by its id or a part of it: steps, gates, waits.

    Everything comes from the journals in .firstlight/runs.
    """
    from firstlight.commands.runs import runs as room

    room.show(run, cluster=cluster, timeline=timeline, root=root, form=form)
