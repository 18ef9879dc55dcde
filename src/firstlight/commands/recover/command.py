"""``firstlight recover``: what is broken, what only follows from it, and the way back, carried out if one is chosen."""

from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import options, output
from firstlight.cli.options import repo_option
from firstlight.cli.output import Form

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
    addresses, secrets, engine and workloads are looked at as far as they answer. Killed anywhere, the same command goes
    on. Exit code 2 means that something is broken, 3 that nothing could be looked at, or that it was refused.
    """
    import asyncio

    from firstlight.commands.recover import assess, drill
    from firstlight.commands.recover.repair import RecoverRequest

    if scenario and (option or what):
        raise errors.UsageError("a drill chooses its option itself", hint="Leave out --do and --on.")
    for name, is_given in (("--keep", keep), ("--charts", charts is not None)):
        if is_given and not scenario:
            raise errors.UsageError(f"{name} is for --drill", hint="Nothing else makes a lab.")
    if option is None and not scenario and (what or dry_run or merge):
        raise errors.UsageError("nothing is to be done", hint="Name an option: --do OPTION")

    if scenario:
        return drill.drill_or_list(cluster, scenario, root=root, charts=charts, offline=offline, keep=keep, form=form)
    wishes = RecoverRequest(
        option=option or "", what=what, is_dry_run=dry_run, is_yes=yes, timeout=timeout, form=form, signers=signers,
        unsigned=unsigned, pin=pin, is_merged=merge, kubeconfig=kubeconfig, is_offline=offline,
    )  # fmt: skip
    return asyncio.run(assess.assess_or_repair(cluster, wishes, root=root))
