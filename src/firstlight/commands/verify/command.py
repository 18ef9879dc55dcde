"""``firstlight verify``: whether a cluster is what it was brought up to be."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import cluster_options, repo_option


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--wait", type=click.FloatRange(0), default=0.0, metavar="SECONDS", help="Wait for what is not there yet."
)
@click.option("--probe", is_flag=True, help="Try DNS and the network with pods, which are removed again.")
@click.option("--image", default="", show_default="busybox", help="What the pods of --probe run.")
@click.option("--cilium-tests", default="no-policies", show_default=True, metavar="REGEX,…",
              help="Which of Cilium's own tests --probe runs, where its program is on the PATH; or all.")  # fmt: skip
@click.option("--idempotent", is_flag=True, help="Run up again, and prove that it writes nothing.")
@click.option("--audit-log", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
              help="The API server's audit log: counts the writes of --idempotent.")  # fmt: skip
@click.option("--since", default="", metavar="30m", show_default="the last run", help="From when on warnings count.")
@click.option("--render/--no-render", "wanted", default=True, show_default=True,
              help="Render the repo and ask the gates of all components.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@cluster_options
@repo_option
@output.option
def verify(
    cluster: str, wait: float, probe: bool, image: str, cilium_tests: str, idempotent: bool,
    audit_log: Path | None, since: str, wanted: bool, offline: bool, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Nodes, agents, operators, API, Talos inventory, engine, warnings; and the gates of all components once more.

    Nothing is written, but for the pods of --probe. Exit code 1 means that something is not as it must be.
    """
    from firstlight.commands.verify import run

    wishes = run.VerifyRequest(
        way=(kubeconfig, context), since=since, wait=wait, is_probed=probe, image=image,
        cilium_tests=cilium_tests, is_rendered=wanted or idempotent, is_offline=offline, is_rerun=idempotent,
        audit_log=audit_log, form=form,
    )  # fmt: skip
    return run.verify(root, cluster, wishes)
