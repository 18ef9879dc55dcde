"""``firstlight backup``: what a cluster cannot be brought back without. Its commands are imported when called."""

import click

from firstlight.cli.lazy_group import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "create": ("firstlight.cli.backup_create:create", "etcd, Talos secrets, machine configs, access and journals"),
    "list": ("firstlight.cli.backup_list:list_backups", "The backups of a cluster, newest first"),
    "verify": ("firstlight.cli.backup_verify:verify", "Whether a cluster could be brought back with one"),
    "prune": ("firstlight.cli.backup_prune:prune", "Old ones deleted; never the newest that verifies"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def backup() -> None:
    """What a cluster cannot be brought back without, kept encrypted, and proven by restoring it."""
