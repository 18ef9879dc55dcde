"""Whether commands that are printed can be typed: each is read by the real command line, and nothing is run."""

import functools
import re
import shlex

import click

from firstlight.cli import main

_MENTIONED = re.compile(r"\bfirstlight ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)")


@functools.cache
def understand(line: str) -> None:
    """Read a line as ``firstlight`` does: commands, options and the form of their values.

    Raises:
        AssertionError: It is no command of firstlight's.
        click.ClickException: Options or arguments are wrong.
    """
    program, *words = shlex.split(line)
    assert program == "firstlight", line
    command: click.Command = main.cli
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0)) if words else None
        assert found is not None, line
        command = found
    command.make_context(line, words)


def mentioned(text: str) -> list[str]:
    """What a text names that is no command of firstlight's: ``firstlight nod``, ``firstlight node drop``."""
    return [match[0] for match in _MENTIONED.finditer(text) if not _exists(match[1].split())]


def _exists(words: list[str]) -> bool:
    command = main.cli.get_command(click.Context(main.cli), words[0])
    if not isinstance(command, click.Group) or len(words) == 1:
        return command is not None
    return command.get_command(click.Context(command), words[1]) is not None
