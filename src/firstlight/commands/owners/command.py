"""``firstlight owners``: who owns every object of a cluster, and what is wrong with that."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import cluster_options, repo_option


@click.command()
@click.argument("cluster", default="")
@click.option("--fields", is_flag=True, help="Every field with its managers.")
@click.option("--namespace", default="", metavar="NAME", help="Only objects in it.")
@click.option("--kind", default="", metavar="KIND", help="Only objects of it; also those that others bring.")
@click.option("--owner", default="", metavar="PARTY", help="Only objects of flux, talos …, or of a part of a name.")
@click.option("--flaws", is_flag=True, help="Only objects that something is wrong with, all of them.")
@click.option("--all", "everything", is_flag=True, help="Also what others bring, and what the system makes; all names.")
@click.option("--check", is_flag=True, help="Exit with 2 if something is wrong, with 1 if not all could be read.")
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE.svg",
              help="Draw it: namespace, owner and kind, as large as they are many.")  # fmt: skip
@click.option("--render/--no-render", "wanted", default=True, show_default=True,
              help="Render the repo, to know who is to own what.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@cluster_options
@repo_option
@output.option
def owners(
    cluster: str, fields: bool, namespace: str, kind: str, owner: str, flaws: bool, everything: bool, check: bool,
    picture: Path | None, wanted: bool, offline: bool, kubeconfig: Path | None, context: str, root: Path | None,
    form: str,
) -> int:  # fmt: skip
    """Every object of a cluster with its owner: Talos, bootstrap, Flux, Argo CD, Helm, a controller or a person.

    Orphans, objects with two GitOps owners, stale co-owners, objects whose source is gone, and owners that differ from
    the declared ones are told with what to do. Nothing is written. It works without a repo, by --kubeconfig or
    --context alone. Exit code 2 means, with --check, that something is wrong, and 1 that something could not be read.
    """
    from firstlight.commands.owners import look
    from firstlight.commands.owners.look import OwnersRequest

    request = OwnersRequest(
        fields=fields, namespace=namespace, kind=kind, owner=owner, flaws=flaws, everything=everything,
        rendered=wanted, offline=offline,
    )  # fmt: skip
    return look.show(
        cluster, request, check=check, picture=picture, kubeconfig=kubeconfig, context=context, root=root, form=form
    )
