"""``firstlight boundary``: what bootstrap applies against what GitOps applies."""

from pathlib import Path

import click

from firstlight.cli import options, output
from firstlight.cli.options import repo_option


@click.command()
@click.argument("cluster", default="")
@click.option("--component", default="", metavar="NAME", help="One component alone.")
@click.option("--everything", is_flag=True, help="Every difference, and the objects that are equal.")
@options.offline_option
@repo_option
@output.option
def boundary(cluster: str, component: str, everything: bool, offline: bool, root: Path | None, form: str) -> int:
    """Object by object, bootstrap's render against GitOps': only here, only there, different, and what comes of it.

    Told for the first reconcile, for bootstrap that is run again, and for talosctl upgrade-k8s. The data of Secrets is
    never shown. Exit code 2 means that there are differences, 1 that something could not be compared.
    """
    from firstlight.commands.boundary import boundary as boundary_room

    return boundary_room.show(root, cluster, component=component, everything=everything, offline=offline, form=form)
