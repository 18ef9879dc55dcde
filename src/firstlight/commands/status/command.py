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
    """Show how the newest run stands: its phases, what waits and why, and which overrides are open.

    It reads what this computer has recorded, and asks no cluster. Exit code 1 means that the run failed or was
    interrupted, or that an override has expired.
    """
    from firstlight.commands.status import status as room

    return room.show(cluster, watch=watch, root=root, form=form)
