"""``firstlight backup``: what a cluster cannot be brought back without. Its commands are imported when called."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from firstlight.cli import output
from firstlight.cli.lazy_group import LazyGroup
from firstlight.cli.options import repo_option

COMMANDS: dict[str, tuple[str, str]] = {
    "create": (
        "firstlight.commands.backup.command:create",
        "etcd, Talos secrets, machine configs, access and journals",
    ),
    "list": ("firstlight.commands.backup.command:list_backups", "The backups of a cluster, newest first"),
    "verify": ("firstlight.commands.backup.command:verify", "Whether a cluster could be brought back with one"),
    "prune": ("firstlight.commands.backup.command:prune", "Old ones deleted; never the newest that verifies"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def backup() -> None:
    """What a cluster cannot be brought back without, kept encrypted, and proven by restoring it."""


P = ParamSpec("P")
R = TypeVar("R")

where_option = click.option(
    "--from",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    show_default=".firstlight/CLUSTER/backups",
    help="Where the backups are.",
)
signer_option = click.option(
    "--signer",
    "signers",
    multiple=True,
    metavar="SHA256:…",
    help="Also accept backups signed by this key. May be repeated.",
)
unsigned_option = click.option(
    "--trust-unsigned",
    "unsigned",
    multiple=True,
    metavar="NAME",
    help="Open this backup although nobody signed it. May be repeated.",
)


def retention_options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds ``--keep``, ``--keep-daily`` and ``--keep-weekly`` to a command."""
    many = click.IntRange(0)

    @click.option("--keep", "newest", type=many, default=0, metavar="N", help="The newest N stay.")
    @click.option("--keep-daily", "daily", type=many, default=0, metavar="N", help="The newest of each of N days.")
    @click.option("--keep-weekly", "weekly", type=many, default=0, metavar="N", help="The newest of each of N weeks.")
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--to",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    metavar="DIR",
    show_default=".firstlight/CLUSTER/backups",
    help="Where it is written, in a directory of its own.",
)
@click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="KEY",
    show_default="the age or SSH key that it is encrypted for",
    help="Sign it with this SSH key.",
)
@retention_options
@repo_option
@output.option
def create(
    cluster: str, place: Path | None, key: Path | None, newest: int, daily: int, weekly: int, root: Path | None,
    form: str,
) -> None:  # fmt: skip
    """Keep etcd, the Talos secrets, the machine configs, the access to the cluster and the journals of its runs.

    etcd is asked through Talos; the Kubernetes API need not answer. Everything but the manifest is encrypted for those
    who may read the Talos secrets, and the manifest is signed by whoever makes it. With --keep and its like older
    backups are pruned afterwards.
    """
    from firstlight.commands.backup import backup as backup_room

    backup_room.create(cluster, place=place, key=key, newest=newest, daily=daily, weekly=weekly, root=root, form=form)


@click.command(name="list")
@click.argument("cluster", default="")
@where_option
@signer_option
@repo_option
@output.option
def list_backups(
    cluster: str, place: Path | None, signers: tuple[str, ...], root: Path | None, form: str
) -> int:  # fmt: skip
    """The backups of a cluster, newest first, by their manifests and who signed them: nothing is decrypted.

    Exit code 2 means that one of them has no manifest that can be read.
    """
    from firstlight.commands.backup import backup as backup_room

    return backup_room.list_backups(cluster, place=place, signers=signers, root=root, form=form)


@click.command()
@click.argument("stamp", default="")
@click.option("--cluster", default="", metavar="NAME", help="Of which cluster.")
@click.option("--restore", is_flag=True, help="Restore its etcd in a lab on this computer, and compare every key.")
@where_option
@signer_option
@unsigned_option
@repo_option
@output.option
def verify(
    stamp: str, cluster: str, restore: bool, place: Path | None, signers: tuple[str, ...], unsigned: tuple[str, ...],
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Look through a backup, the newest if none is named: who signed it, its digests, and whether it opens.

    It must be signed by one of your keys, or by a --signer. The snapshot must be one of etcd, with the checksum that
    etcd gave it, of this cluster, at its revision. Exit code 1 means that the cluster could not be brought back with
    it.
    """
    from firstlight.commands.backup import backup as backup_room

    return backup_room.verify(
        stamp, cluster=cluster, restore=restore, place=place, signers=signers, unsigned=unsigned, root=root, form=form
    )


@click.command()
@click.argument("cluster", default="")
@retention_options
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@where_option
@signer_option
@repo_option
@output.option
def prune(
    cluster: str, newest: int, daily: int, weekly: int, dry_run: bool, place: Path | None, signers: tuple[str, ...],
    root: Path | None, form: str,
) -> None:  # fmt: skip
    """Delete backups that none of --keep, --keep-daily and --keep-weekly names.

    The newest that verifies stays, whatever they say; where none verifies, nothing is deleted. Backups that are not
    signed by you, or by a --signer, are counted apart.
    """
    from firstlight.commands.backup import backup as backup_room

    backup_room.prune(
        cluster, newest=newest, daily=daily, weekly=weekly, dry_run=dry_run, place=place, signers=signers,
        root=root, form=form,
    )  # fmt: skip
