"""``firstlight doctor``: why something does not work: one cause on top, its evidence, and what to type next."""

from pathlib import Path

import click

from firstlight.cli import options, output
from firstlight.cli.options import cluster_options, repo_option


@click.command()
@click.argument("cluster", default="")
@click.argument("what", default="", metavar="[COMPONENT|OBJECT]")
@click.option("--all", "everything", is_flag=True, help="List all that follows from each cause, and all evidence.")
@click.option("--since", type=options.SECONDS, default=None, metavar="30m",
              help="Only causes that began since then, or nobody knows when.")  # fmt: skip
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE.tar.gz",
              help="Also write an archive for a bug report, with nothing secret in it.")  # fmt: skip
@click.option("--talosconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
              show_default="what up has left, else what the repo says", help="The way to the machines.")  # fmt: skip
@cluster_options
@repo_option
@output.option
def doctor(
    cluster: str, what: str, everything: bool, since: float | None, bundle: Path | None, talosconfig: Path | None,
    kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Why it does not work: machines, etcd, API, network, engine, sources and workloads, with cause and effect.

    A COMPONENT, a namespace or an OBJECT ("Deployment shop/web", shop/web) tells only why that one does not. Nothing is
    written to the cluster, and values of Secrets are not shown. It works without a repo (--kubeconfig), without the
    API (machines alone) and without machines. Exit code 0 means that nothing is wrong, 1 that something is, 3 that
    nothing could be looked at.
    """
    import asyncio

    from firstlight.commands.doctor import actions

    patient = actions.target_of(
        cluster, what, root=root, kubeconfig=kubeconfig, context=context, talosconfig=talosconfig
    )
    wishes = actions.DoctorWishes(everything=everything, since=since, bundle=bundle, form=form)
    return asyncio.run(actions.run(patient, wishes))
