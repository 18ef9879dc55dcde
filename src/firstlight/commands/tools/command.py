"""``firstlight tools``: which external programs there are. Each of its commands is imported when it is called."""

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.cli.lazy_group import LazyGroup

_HOME = "firstlight.commands.tools.tools"
COMMANDS: dict[str, tuple[str, str]] = {
    "list": (f"{_HOME}:list_command", "What is needed, and what is there"),
    "install": (f"{_HOME}:install_command", "Download, build or take out of Go modules what is not there yet"),
    "path": (f"{_HOME}:path_command", "Where a tool or content is; nothing is installed"),
    "verify": (f"{_HOME}:verify_command", "Compare everything in the cache with its checksums"),
    "remove": (f"{_HOME}:remove_command", "Take tools and content out of the cache, in every version that is there"),
}
"""Command, where it lives, one line."""


class _Group(LazyGroup):
    """``firstlight tools`` alone lists."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise errors.UsageError(error.message, hint=f"there are: {', '.join(COMMANDS)}") from error


@click.group(cls=_Group, table=COMMANDS, invoke_without_command=True)
@output.option
@click.pass_context
def tools(ctx: click.Context, form: str) -> None:
    """External programs, lab components and content: found, needed, installed.

    Without a command it lists them. FIRSTLIGHT_<NAME> gives a tool's path, FIRSTLIGHT_CACHE the place of what
    is installed, FIRSTLIGHT_ACQUIRE the ways that may be tried (download,build), FIRSTLIGHT_MIRROR a base URL
    instead of scheme and host of release downloads.
    """
    if ctx.invoked_subcommand is None:
        from firstlight.commands.tools import tools as room

        room.show(form)
