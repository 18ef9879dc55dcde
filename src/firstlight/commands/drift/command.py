"""``firstlight drift``: how a cluster differs from what Git renders, who did it, and the way back."""

from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.cli.options import cluster_options, repo_option


@click.command()
@click.argument("cluster", default="")
@click.option("--component", "components", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option("--correct", is_flag=True, help="Ask the engine to put Git's form back, and wait for it.")
@click.option("--as-owner", is_flag=True, help="With --correct: in the engine's place, if it is down or leaves it.")
@click.option("--watch", is_flag=True, help="Go on looking, and print what comes and goes.")
@click.option("--yes", is_flag=True, help="Apply and remove in the engine's place without asking.")
@click.option("--uid", default="", help="With --correct: the UID of kube-system of the cluster that is meant.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@cluster_options
@repo_option
@output.option
def drift(
    cluster: str, components: tuple[str, ...], correct: bool, as_owner: bool, watch: bool, yes: bool, uid: str,
    offline: bool, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Live state against Git's render: changed, missing, extra, wrong owner; with who wrote it, and when.

    Defaults, other ways to write the same and what the repo declares to be ignored are no drift. Nothing is written
    without --correct. Exit code 2 means drift, 1 that something could not be compared.
    """
    import asyncio

    from firstlight.commands.drift import print_drift

    if as_owner and not correct:
        raise errors.UsageError("--as-owner is a way to correct", hint="Write --correct --as-owner.")
    if uid and not correct:
        raise errors.UsageError("--uid is for --correct", hint="Without it nothing is written.")
    if watch and correct:
        raise errors.UsageError("--watch only looks", hint="Correct first, then watch.")

    wishes = print_drift.DriftWishes(
        components=components, correct=correct, as_owner=as_owner, watch=watch, yes=yes, uid=uid, form=form,
        way=(kubeconfig, context), offline=offline,
    )  # fmt: skip
    return asyncio.run(print_drift.run(cluster, wishes, root=root))
