"""``firstlight backup``: what a cluster cannot be brought back without. Its commands are imported when called."""

import importlib

import click

COMMANDS: dict[str, tuple[str, str]] = {
    "create": ("firstlight.cli.backup_create:create", "etcd, Talos secrets, machine configs, access and journals"),
    "list": ("firstlight.cli.backup_list:list_backups", "The backups of a cluster, newest first"),
    "verify": ("firstlight.cli.backup_verify:verify", "Whether a cluster could be brought back with one"),
    "prune": ("firstlight.cli.backup_prune:prune", "Old ones deleted; never the newest that verifies"),
}
"""Command, where it lives, one line."""


class Commands(click.Group):
    """The commands of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Commands, no_args_is_help=True)
def backup() -> None:
    """What a cluster cannot be brought back without, kept encrypted, and proven by restoring it."""
