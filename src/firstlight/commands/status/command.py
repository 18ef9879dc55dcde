"""``firstlight status``: how the newest run stands, from any terminal, while it goes on and after."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option
from firstlight.cli.output import Form


@click.command()
@click.argument("cluster", default="")
@click.option("--watch", is_flag=True, help="Follow it until it ends; without a run, wait for one.")
@repo_option
@output.option
def status(cluster: str, watch: bool, root: Path | None, form: Form) -> int:
    """How the newest run stands: its phases, what waits and why, whether it still goes on.

    It reads the run's journal and nothing else. Exit code 1 means that the run failed or was interrupted.
    """
    from firstlight.commands.status import status as room

    return room.show(cluster, watch=watch, root=root, form=form)
