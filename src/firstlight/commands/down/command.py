"""``firstlight down``: the machines of a test cluster wiped, after its name was typed."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option


@click.command()
@click.argument("cluster")
@click.option("--confirm", default="", metavar="CLUSTER", help="The cluster's name once more, instead of typing it.")
@repo_option
@output.option
def down(cluster: str, confirm: str, root: Path | None, form: str) -> int:
    """Wipe the machines of a test cluster, so that they boot into maintenance mode. All data on them is lost.

    Only machines that run with this cluster's own keys are touched.
    """
    from firstlight.commands.down import down as down_room

    return down_room.command(root, cluster, confirm=confirm, form=form)
