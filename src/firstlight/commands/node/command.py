"""``firstlight node``: the machines of a cluster that lives. Each of its commands is imported when it is called."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from firstlight.cli import options, output
from firstlight.cli.lazy_group import LazyGroup
from firstlight.cli.options import repo_option
from firstlight.cli.output import Form

Wipe = Literal["partitions", "system-disk", "all"]
COMMANDS: dict[str, tuple[str, str]] = {
    "list": (
        "firstlight.commands.node.command:list_nodes",
        "Every machine: declared, running, in etcd, and equal to the repo",
    ),
    "apply": ("firstlight.commands.node.command:apply", "The repo's machine configs, one machine first, then the rest"),
    "maintain": ("firstlight.commands.node.command:maintain", "Drained, rebooted, waited for, and given back"),
    "add": ("firstlight.commands.node.command:add", "A declared machine joins: configured, waited for, verified"),
    "upgrade": (
        "firstlight.commands.node.command:upgrade",
        "Talos or Kubernetes in another version, with a plan before",
    ),
    "migrate": (
        "firstlight.commands.node.command:migrate",
        "Rewrite old fields of machine configs as documents of Talos 1.14",
    ),
    "reset": ("firstlight.commands.node.command:reset", "A machine leaves, is wiped, and boots into maintenance mode"),
    "remove": ("firstlight.commands.node.command:remove", "A machine is gone: wiped, out of etcd, its node deleted"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def node() -> None:
    """The machines of a cluster that lives: one at a time, health between, and never past etcd's quorum."""


@click.command(name="list")
@click.argument("cluster", default="")
@repo_option
@output.option
def list_nodes(cluster: str, root: Path | None, form: str) -> int:
    """Every machine: what it runs, whether it is well, in etcd and schedulable, and whether its config is the repo's.

    Nothing is written. What does not answer is said. Exit code 2 means that something is not as declared, 1 that
    something could not be seen.
    """
    from firstlight.commands.node import list as node_list

    return node_list.list_nodes(cluster, root=root, form=form)


@click.command()
@click.argument("cluster", default="")
@click.option("--write", is_flag=True, help="Edit the work tree; without it the change is only shown.")
@repo_option
@output.option
def migrate(cluster: str, write: bool, root: Path | None, form: str) -> int:
    """Rewrite old fields of a cluster's machine configs and patches as the documents of Talos 1.14 that replaced them.

    The change is shown as a diff that git apply takes. What has no successor stays, and is named. talosctl checks the
    config of every machine before and after. Exit code 2 means that there is something to write, 3 that it is refused.
    """
    from firstlight.commands.node import migrate as node_migrate

    return node_migrate.migrate(cluster, write=write, root=root, form=form)


@click.command()
@click.argument("cluster", default="")
@click.option("--machine", "names", multiple=True, metavar="NAME", help="This one; may be repeated, in your order.")
@click.option("--all", "every", is_flag=True, help="All machines: workers first, then control planes.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and who would reboot; write nothing.")
@click.option(
    "--try", "tried", type=options.SECONDS, default=None, metavar="DURATION",
    help="Only try it: a machine that is not well with it, or not kept by then, goes back by itself.",
)  # fmt: skip
@click.option("--revision", default="", metavar="COMMIT", help="The configs of an earlier commit of the repo.")
@click.option(
    "--timeout", type=options.SECONDS, default="30m", show_default=True, help="How long each may take to be well."
)
@click.option("--yes", is_flag=True, help="Do not ask before reboots, nor before what was tried is kept.")
@repo_option
@output.option
def apply(
    cluster: str, names: tuple[str, ...], every: bool, dry_run: bool, tried: float | None, revision: str,
    timeout: float, yes: bool, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Give machines of a cluster that lives the configs of the repo, one after the other.

    What changes is shown first, field by field, without secrets. The next machine is touched when the one before it
    is well. Inline manifests that were released to Git do not come back. Exit code 2: a dry run has found differences.
    """
    from firstlight.commands.node import apply as node_apply

    return node_apply.apply(
        cluster, names=names, every=every, dry_run=dry_run, tried=tried, revision=revision, timeout=timeout,
        yes=yes, root=root, form=form,
    )  # fmt: skip


@click.command()
@click.argument("machine")
@click.option("--cluster", default="", help="Of which cluster, where several have one of that name.")
@click.option("--no-reboot", is_flag=True, help="Leave it drained, for work on its hardware; --done ends it.")
@click.option("--done", is_flag=True, help="The work is done: wait until it is well, and give it back.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and what stands in the way; write nothing.")
@click.option("--delete-emptydir-data", "scratch", is_flag=True, help="Also evict pods that have emptyDir volumes.")
@click.option("--force", is_flag=True, help="Also evict pods that have no controller: nobody makes them again.")
@click.option("--accept-storage", is_flag=True, help="Go on although the last healthy copy of something is on it.")
@click.option(
    "--drain-timeout", type=options.SECONDS, default="15m", show_default=True, help="How long budgets may hold it up."
)
@click.option(
    "--timeout", type=options.SECONDS, default="30m", show_default=True, help="How long it may take to come back."
)
@click.option("--yes", is_flag=True, help="Do not ask before it is drained and reboots.")
@repo_option
@output.option
def maintain(
    machine: str, cluster: str, no_reboot: bool, done: bool, dry_run: bool, scratch: bool, force: bool,
    accept_storage: bool, drain_timeout: float, timeout: float, yes: bool, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Drain a machine, reboot it, wait until it is well, and give it back.

    Pods go by the Eviction API: disruption budgets are respected, and named while they hold it up. Killed, and run
    again, it goes on. A node that somebody else has cordoned stays cordoned.
    """
    from firstlight.commands.node import maintain as node_maintain

    return node_maintain.maintain(
        machine, cluster=cluster, no_reboot=no_reboot, done=done, dry_run=dry_run, scratch=scratch, force=force,
        accept_storage=accept_storage, drain_timeout=drain_timeout, timeout=timeout, yes=yes, root=root,
        form=form,
    )  # fmt: skip


@click.command()
@click.argument("machine")
@click.option("--cluster", default="", help="Of which cluster, where several have one of that name.")
@click.option("--pin", default="", metavar="FINGERPRINT", help="The certificate that its console shows.")
@click.option("--dry-run", is_flag=True, help="Look at everything, say what would be written, write nothing.")
@click.option("--timeout", type=options.SECONDS, default="30m", show_default=True, help="How long it may take to join.")
@repo_option
@output.option
def add(machine: str, cluster: str, pin: str, dry_run: bool, timeout: float, root: Path | None, form: Form) -> int:
    """Add a machine to a cluster that lives. It is declared in the repo, and waits in maintenance mode.

    It is configured as the others are, joins, is labelled and verified; nothing is ever bootstrapped. Run again it goes
    on, and does nothing where the machine is in the cluster already.
    """
    from firstlight.commands.node import add as node_add

    return node_add.add(machine, cluster=cluster, pin=pin, dry_run=dry_run, timeout=timeout, root=root, form=form)


@click.command()
@click.argument("cluster", default="")
@click.option("--talos", multiple=True, metavar="VERSION", help="Of Talos; one for each minor on the way.")
@click.option("--kubernetes", default="", metavar="VERSION", help="Of Kubernetes, at most one minor further.")
@click.option("--machine", multiple=True, metavar="NAME", help="Talos on this machine only. May be repeated.")
@click.option("--dry-run", is_flag=True, help="Only the plan.")
@click.option("--yes", is_flag=True, help="Do not ask before it begins.")
@click.option("--no-snapshot", is_flag=True, help="Keep no snapshot of etcd before control planes are touched.")
@click.option("--delete-emptydir-data", "scratch", is_flag=True, help="Also evict pods that have emptyDir volumes.")
@click.option("--force", is_flag=True, help="Also evict pods that have no controller: nobody makes them again.")
@click.option(
    "--accept-storage", is_flag=True, help="Go on although the last healthy copy of something is on a machine."
)
@click.option("--no-prune", is_flag=True, help="Of Kubernetes: delete nothing that Talos's manifests brought once.")
@click.option("--accept-manifests", is_flag=True, help="Of Kubernetes: write over, and delete, also what Git owns.")
@click.option(
    "--drain-timeout", type=options.SECONDS, default="15m", show_default=True, help="How long budgets may hold it up."
)
@click.option(
    "--timeout", type=options.SECONDS, default="30m", show_default=True, help="How long one may take to come back."
)
@repo_option
@output.option
def upgrade(
    cluster: str, talos: tuple[str, ...], kubernetes: str, machine: tuple[str, ...], dry_run: bool, yes: bool,
    no_snapshot: bool, scratch: bool, force: bool, accept_storage: bool, no_prune: bool, accept_manifests: bool,
    drain_timeout: float, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Bring a cluster to another version of Talos, or of Kubernetes. The plan is shown first.

    Machines go one after the other, each well before the next. The first that does not come back ends it, and the
    others are not touched. Run again it goes on.
    """
    from firstlight.commands.node import upgrade as node_upgrade

    return node_upgrade.upgrade(
        cluster, talos=talos, kubernetes=kubernetes, machine=machine, dry_run=dry_run, yes=yes,
        no_snapshot=no_snapshot, scratch=scratch, force=force, accept_storage=accept_storage, no_prune=no_prune,
        accept_manifests=accept_manifests, drain_timeout=drain_timeout, timeout=timeout, root=root, form=form,
    )  # fmt: skip


_OPTIONS = (
    click.argument("machine"),
    click.option("--cluster", default="", help="Of which cluster, where several have one of that name."),
    click.option(
        "--wipe", type=click.Choice(["partitions", "system-disk", "all"]), default="partitions", show_default=True,
        help="STATE and EPHEMERAL; or the system disk, after which it boots from elsewhere; or every disk.",
    ),
    click.option("--dry-run", is_flag=True, help="Say what would go, and what speaks against it; write nothing."),
    click.option("--yes", is_flag=True, help="Do not ask for the name once more."),
    click.option("--delete-emptydir-data", "scratch", is_flag=True, help="Also evict pods that have emptyDir volumes."),
    click.option("--force", is_flag=True, help="Also evict pods that have no controller: nobody makes them again."),
    click.option("--accept-storage", is_flag=True, help="Go on although the last healthy copy of something is on it."),
    click.option(
        "--timeout", type=options.SECONDS, default="15m", show_default=True, help="How long it may take to be wiped."
    ),
    repo_option,
    output.option,
)  # fmt: skip


def departure_options(command: Callable[..., int]) -> Callable[..., int]:
    """The argument and the options of both commands."""
    for each in reversed(_OPTIONS):
        command = each(command)
    return command


@click.command()
@departure_options
def remove(
    machine: str, cluster: str, wipe: Wipe, dry_run: bool, yes: bool, scratch: bool, force: bool,
    accept_storage: bool, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Take a machine out of its cluster: wiped if it answers, its member of etcd and its node gone.

    Refused where etcd would lose its quorum. What in the repo still declares it is said. Killed, and run again, it
    goes on; also where the repo does not declare the machine any more.
    """
    from firstlight.commands.node import remove as node_remove

    return node_remove.remove(
        machine, cluster=cluster, wipe=wipe, dry_run=dry_run, yes=yes, scratch=scratch, force=force,
        accept_storage=accept_storage, timeout=timeout, root=root, form=form,
    )  # fmt: skip


@click.command()
@departure_options
def reset(
    machine: str, cluster: str, wipe: Wipe, dry_run: bool, yes: bool, scratch: bool, force: bool,
    accept_storage: bool, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Let a machine leave its cluster, wipe it, and boot it into maintenance mode. What is on it is lost.

    It is drained and leaves etcd first, unless etcd would lose its quorum; its node is deleted. Killed, and run again,
    it goes on. firstlight node add brings it back.
    """
    from firstlight.commands.node import remove as node_remove

    return node_remove.reset(
        machine, cluster=cluster, wipe=wipe, dry_run=dry_run, yes=yes, scratch=scratch, force=force,
        accept_storage=accept_storage, timeout=timeout, root=root, form=form,
    )  # fmt: skip
