"""``firstlight recover``: what is broken, what only follows from it, and the way back, carried out if one is chosen."""

import asyncio
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import options, output, which_cluster, which_repo
from firstlight.cli.follow_run import Form
from firstlight.cli.options import repo_option
from firstlight.commands.recover import assess, data, drill, repair, text
from firstlight.drawing import table
from firstlight.execute.means import Means
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform

BROKEN = 2
BLIND = 3
OPTIONS = (
    "talosconfig", "kubeconfig", "rerun", "cni", "engine", "pending-release", "rebuild-machine", "etcd-quorum",
    "etcd-restore", "rebuild",
)  # fmt: skip
"""Those that need no person; ``options.yaml`` has all of them."""


@click.command()
@click.argument("cluster", default="")
@click.option("--do", "option", type=click.Choice(OPTIONS), default=None, help="Carry this option out.")
@click.option("--on", "what", default="", metavar="NAME", help="What it is done to, as the assessment names it.")
@click.option("--drill", "scenario", default="", metavar="SCENARIO", help="Practise it in the lab; or: list.")
@click.option("--keep", is_flag=True, help="With --drill: leave the lab running, to look around in it.")
@click.option("--dry-run", is_flag=True, help="Look at everything, say what would be written, write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
@click.option("--pin", default="", metavar="FINGERPRINT", help="The certificate that the machine's console shows.")
@click.option(
    "--signer",
    "signers",
    multiple=True,
    metavar="SHA256:…",
    help="With etcd-restore: also accept backups signed by this key.",
)
@click.option(
    "--trust-unsigned",
    "unsigned",
    multiple=True,
    metavar="NAME",
    help="With etcd-restore: restore this backup or file although nobody signed it.",
)
@click.option("--merge", is_flag=True, help="With kubeconfig, talosconfig: also add it to your own file.")
@click.option(
    "--timeout", type=options.SECONDS, default="30m", show_default=True, help="How long a machine may take to join."
)
@click.option(
    "--kubeconfig", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=None,
    show_default="the one that up has left, else what a control plane gives", help="The way to the API.",
)  # fmt: skip
@click.option(
    "--charts", type=click.Path(path_type=Path), default=None, metavar="DIRECTORY",
    help="With --drill: charts as files, .tgz or unpacked, taken before any is fetched.",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache, or from --charts.")
@repo_option
@output.option
def recover(
    cluster: str, option: str | None, what: str, scenario: str, keep: bool, dry_run: bool, yes: bool, pin: str,
    signers: tuple[str, ...], unsigned: tuple[str, ...],
    merge: bool, timeout: float, kubeconfig: Path | None, charts: Path | None, offline: bool,
    root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Assess a broken cluster from the outside in, or carry out the way back that was chosen with --do.

    --drill SCENARIO practises one in the lab. Without either nothing is written: machines, etcd, API, CNI, DNS,
    secrets, engine and workloads are looked at as far as they answer. Killed anywhere, the same command goes on. Exit
    code 2 means that something is broken, 3 that nothing could be looked at, or that it was refused.
    """
    if scenario and (option or what):
        raise errors.UsageError("a drill chooses its option itself", hint="Leave out --do and --on.")
    for name, is_given in (("--keep", keep), ("--charts", charts is not None)):
        if is_given and not scenario:
            raise errors.UsageError(f"{name} is for --drill", hint="Nothing else makes a lab.")
    if scenario == drill.LIST:
        return drill.listed(form)
    platform = which_repo.platform(root)
    one = which_cluster.cluster_of(platform, cluster)
    if scenario:
        return drill.drill(platform, one, scenario, charts=charts, offline=offline, keep=keep, form=form)
    if option is None and (what or dry_run or merge):
        raise errors.UsageError("nothing is to be done", hint="Name an option: --do OPTION")
    wishes = repair.RecoverRequest(
        option=option or "", what=what, is_dry_run=dry_run, is_yes=yes, timeout=timeout, form=form, signers=signers,
        unsigned=unsigned,
    )  # fmt: skip
    repair.check(one, wishes)

    async def run() -> int:
        pins = {what: pin} if pin else {}
        means = await cli_means.user_means(
            platform, offline=offline, fingerprints=pins, keep=False, merge=merge, kubeconfig=kubeconfig
        )
        try:
            if option is None:
                return await _assessed(platform, one, means, form)
            return await repair.do(platform, one, means, wishes)
        finally:
            await means.close()

    return asyncio.run(run())


async def _assessed(platform: Platform, cluster: Cluster, means: Means, form: str) -> int:
    found = (await assess.assess(platform, cluster, means)).assessment
    shown = text.text(found, now=means.now(), columns=table.terminal_columns())
    output.answer(form, shown, data.data(found))
    if found.is_blind:
        return BLIND
    return BROKEN if found.causes else 0
