"""``firstlight change``: a decided change carried through, from the commit to the checks, and back if need be."""

from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.cli.options import repo_option

KINDS = ("cluster-down", "security", "data-loss", "outage")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

_merge = click.option("--merge", "is_merging", is_flag=True, help="Merge it here, where its approval is there.")
_no_wait = click.option("--no-wait", is_flag=True, help="Push, and end: `change resume` goes on once it is merged.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_patience = click.option(
    "--patience", type=click.FloatRange(1), default=600.0, show_default=True, metavar="SECONDS",
    help="For the engine, and again for the checks.",
)  # fmt: skip
_back = click.option("--revert-on-failure", "is_reverted", is_flag=True, help="Take it back where its checks fail.")
_kubeconfig = click.option(
    "--kubeconfig", type=_FILE, default=None, help="The way to a cluster of which the repo has no machines."
)
_no_backup = click.option(
    "--no-backup", "without_backup", default="", metavar="REASON",
    help="Keep nothing of etcd and machines before bootstrap's half; it is recorded.",
)  # fmt: skip
_offline = click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
_emergency = click.option(
    "--emergency", type=click.Choice(KINDS), default=None, help="What is so urgent that nobody reviews it first."
)


@click.group()
def change() -> None:
    """A change of the repo carried through: decided, committed, merged, reconciled, checked, recorded."""


@change.command()
@click.option("--why", default="", metavar="TEXT", help="Why it is done; it goes into the commit and the record.")
@click.option("--title", default="", metavar="TEXT", help="In one line; else made from what changes.")
@click.option(
    "--diff", "revisions", default=None, metavar="A...B", help="What is committed already, as a review sees it."
)
@click.option("--staged", is_flag=True, help="What git commit would commit.")
@click.option("--cluster", "clusters", multiple=True, metavar="NAME", help="Only this cluster. May be repeated.")
@click.option("--order", default="", metavar="A,B", help="Which clusters get it first.")
@click.option("--at-once", "is_at_once", is_flag=True, help="All clusters get what they share at the same moment.")
@click.option("--expedited", is_flag=True, help="The emergency path while the engine works; needs --emergency.")
@_emergency
@click.option("--anyway", default="", metavar="REASON", help="Go on although checks before it fail; it is recorded.")
@_no_backup
@_merge
@_no_wait
@_back
@_patience
@_yes
@_kubeconfig
@_offline
@repo_option
@output.option
def start(
    why: str, title: str, revisions: str | None, staged: bool, clusters: tuple[str, ...], order: str, is_at_once: bool,
    expedited: bool, emergency: str | None, anyway: str, without_backup: str, is_merging: bool, no_wait: bool,
    is_reverted: bool, patience: float, yes: bool, kubeconfig: Path | None, offline: bool, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Carry a change through: staged changes if there are any, else those of the work tree.

    It is decided, shown and checked, committed on a branch of its own, pushed, and waited for until the branch that
    the engine follows has it. Then the engine is watched until that very commit is applied, and the checks of after
    the change are made. Exit code 1 means that it failed, 3 that it was refused or waits for a merge.
    """
    import asyncio

    from firstlight.commands.change import change_start
    from firstlight.commands.change.ongoing_change import ChangeRequest
    from firstlight.commands.decide import change_source

    if not why.strip():
        raise errors.UsageError("a change needs a reason", hint='firstlight change start --why "REASON"')
    if expedited != (emergency is not None):
        raise errors.UsageError(
            "--expedited and --emergency go together", hint=f"--expedited --emergency {'|'.join(KINDS)}"
        )
    if revisions is not None and staged:
        raise errors.UsageError("--diff and --staged cannot be asked together", hint="Give one of them.")
    wanted = (
        change_source.between(revisions)
        if revisions is not None
        else change_source.StagedChanges()
        if staged
        else change_source.WorkTreeChanges()
    )
    if isinstance(wanted, change_source.RevisionRange) and not wanted.head:
        raise errors.UsageError(f"{revisions!r} names no end", hint="Write --diff main...BRANCH.")
    wishes = ChangeRequest(
        why=why.strip(), title=title.strip(), clusters=clusters, order=tuple(filter(None, order.split(","))),
        emergency=emergency or "", is_merging=is_merging, is_waiting=not no_wait, is_at_once=is_at_once,
        anyway=anyway.strip(), without_backup=without_backup.strip(), is_reverted_on_failure=is_reverted,
        patience=patience,
    )  # fmt: skip
    how = change_start.ChangeCommandOptions(root=root, kubeconfig=kubeconfig, offline=offline, yes=yes, form=form)
    return asyncio.run(change_start.start(wanted, wishes, how))


@change.command()
@click.argument("id", default="")
@_no_backup
@_merge
@_no_wait
@_back
@_patience
@_yes
@_kubeconfig
@_offline
@repo_option
@output.option
def resume(
    id: str, without_backup: str, is_merging: bool, no_wait: bool, is_reverted: bool, patience: float, yes: bool,
    kubeconfig: Path | None, offline: bool, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Go on with a change, or with a revert, from where Git and the clusters are; the newest if none is named."""
    import asyncio

    from firstlight.commands.change import change_start
    from firstlight.commands.change.ongoing_change import ChangeRequest

    wishes = ChangeRequest(
        without_backup=without_backup.strip(), is_merging=is_merging, is_waiting=not no_wait,
        is_reverted_on_failure=is_reverted, patience=patience,
    )  # fmt: skip
    how = change_start.ChangeCommandOptions(root=root, kubeconfig=kubeconfig, offline=offline, yes=yes, form=form)
    return asyncio.run(change_start.resume(id, wishes, how))


@change.command()
@click.argument("id")
@click.option("--why", default="", metavar="TEXT", help="Why it is taken back; else what failed.")
@_emergency
@_no_wait
@_patience
@_yes
@_kubeconfig
@_offline
@repo_option
@output.option
def revert(
    id: str, why: str, emergency: str | None, no_wait: bool, patience: float, yes: bool, kubeconfig: Path | None,
    offline: bool, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Take a change back: exactly what it brought, whatever was merged since, and see that clusters are as before.

    Where its risk needs nobody's approval, or in an emergency, it goes to the followed branch at once; else on a
    branch of its own, which is waited for.
    """
    import asyncio

    from firstlight.commands.change import change_start
    from firstlight.commands.change.ongoing_change import ChangeRequest

    wishes = ChangeRequest(why=why.strip(), emergency=emergency or "", is_waiting=not no_wait, patience=patience)
    how = change_start.ChangeCommandOptions(root=root, kubeconfig=kubeconfig, offline=offline, yes=yes, form=form)
    return asyncio.run(change_start.revert(id, wishes, how))


@change.command(name="list")
@repo_option
@output.option
def listed(root: Path | None, form: str) -> None:
    """All changes that were carried through from this clone, the newest first."""
    from firstlight.commands.change import change_start

    change_start.print_changes(root, form)


@change.command()
@click.argument("id", default="")
@click.option("--markdown", is_flag=True, help="The record as it is kept for people.")
@repo_option
@output.option
def show(id: str, markdown: bool, root: Path | None, form: str) -> None:
    """What a change is, why, by whom, how far, with its checks and times; the newest if none is named."""
    from firstlight.commands.change import change_start

    change_start.print_change(id, root=root, form=form, is_markdown=markdown)
