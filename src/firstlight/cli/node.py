"""``firstlight node``: the machines of a cluster that lives. Each of its commands is imported when it is called."""

import importlib

import click

COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("firstlight.cli.node_list:list_nodes", "Every machine: declared, running, in etcd, and equal to the repo"),
    "apply": ("firstlight.cli.node_apply:apply", "The repo's machine configs, one machine first, then the rest"),
    "maintain": ("firstlight.cli.node_maintain:maintain", "Drained, rebooted, waited for, and given back"),
    "add": ("firstlight.cli.node_add:add", "A declared machine joins: configured, waited for, verified"),
    "upgrade": ("firstlight.cli.node_upgrade:upgrade", "Talos or Kubernetes in another version, with a plan before"),
    "reset": ("firstlight.cli.node_reset:reset", "A machine leaves, is wiped, and boots into maintenance mode"),
    "remove": ("firstlight.cli.node_remove:remove", "A machine is gone: wiped, out of etcd, its node deleted"),
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
def node() -> None:
    """The machines of a cluster that lives: one at a time, health between, and never past etcd's quorum."""
