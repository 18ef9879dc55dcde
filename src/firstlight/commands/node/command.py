"""``firstlight node``: the machines of a cluster that lives. Each of its commands is imported when it is called."""

import click

from firstlight.cli.lazy_group import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "list": (
        "firstlight.commands.node.list:list_nodes",
        "Every machine: declared, running, in etcd, and equal to the repo",
    ),
    "apply": ("firstlight.commands.node.apply:apply", "The repo's machine configs, one machine first, then the rest"),
    "maintain": ("firstlight.commands.node.maintain:maintain", "Drained, rebooted, waited for, and given back"),
    "add": ("firstlight.commands.node.add:add", "A declared machine joins: configured, waited for, verified"),
    "upgrade": (
        "firstlight.commands.node.upgrade:upgrade",
        "Talos or Kubernetes in another version, with a plan before",
    ),
    "reset": ("firstlight.commands.node.remove:reset", "A machine leaves, is wiped, and boots into maintenance mode"),
    "remove": ("firstlight.commands.node.remove:remove", "A machine is gone: wiped, out of etcd, its node deleted"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def node() -> None:
    """The machines of a cluster that lives: one at a time, health between, and never past etcd's quorum."""
