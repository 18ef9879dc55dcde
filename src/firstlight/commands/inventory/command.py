"""``firstlight inventory``: what a repo describes, read as it is."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option


@click.command()
@click.argument("cluster", default="")
@click.option("--tree", "as_tree", is_flag=True, help="Who brings what, as a tree.")
@click.option("--component", default="", metavar="NAME", help="One component, whole: sources, halves, dependents.")
@click.option("--everything", is_flag=True, help="Every diagnostic, where else some stand for many.")
@repo_option
@output.option
def inventory(cluster: str, as_tree: bool, component: str, everything: bool, root: Path | None, form: str) -> int:
    """Clusters, machines and components of a repo, and an honest list of what was not understood.

    Nothing is executed, and nothing outside the repo is read. Exit code 2 means that a file says something wrong.
    """
    from firstlight.commands.inventory import inventory as room

    return room.show(cluster, as_tree=as_tree, component=component, everything=everything, root=root, form=form)
