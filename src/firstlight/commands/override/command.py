"""``firstlight override``: break-glass as a transaction. Each of its commands is imported when it is called."""

import click

from firstlight.cli.lazy_group import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "begin": (
        "firstlight.commands.override.begin:begin",
        "Let the engine rest, with a reason, a scope, an end, a snapshot",
    ),
    "apply": (
        "firstlight.commands.override.apply:apply",
        "Change objects past Git: recorded, and found again by its manager",
    ),
    "delete": ("firstlight.commands.override.apply:delete", "Delete an object past Git; abort makes it again"),
    "status": (
        "firstlight.commands.override.status:status",
        "What is open, until when, what rests, and whether Git has it",
    ),
    "align": ("firstlight.commands.override.align:align", "Bring what was changed into the repo"),
    "end": (
        "firstlight.commands.override.end:end",
        "Git has it: the engine goes on, and an incident record is written",
    ),
    "abort": ("firstlight.commands.override.end:abort", "Back to the snapshot, and the engine goes on"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def override() -> None:
    """An emergency change past Git, with a way back to Git: begin, apply, align, end; or abort.

    Whatever a crash cuts off, the next override, up, handover, node, change or recover on the cluster finishes.
    """
