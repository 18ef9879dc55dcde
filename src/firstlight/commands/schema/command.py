"""``firstlight schema``: the JSON Schemas of the files that people write for firstlight, and of what it prints."""

import click

FILES = ("platform", "rules", "tests", "audit", "audit-tests")
OUTPUT = "output"


@click.command()
@click.argument("file", type=click.Choice([*FILES, OUTPUT]), default=FILES[0])
@click.argument("command", nargs=-1)
@click.option("--list", "is_list", is_flag=True, help="List the names of all schemas.")
def schema(file: str, command: tuple[str, ...], is_list: bool) -> None:
    """Print the JSON Schema of a file that you write, or of a command's JSON output.

    \b
      firstlight schema                      firstlight.yaml
      firstlight schema rules                a team's rules for decide; tests for their tests
      firstlight schema audit                a team's rules for audit; audit-tests for their tests
      firstlight schema output               list the commands that print JSON
      firstlight schema output node list     what "firstlight node list --output json" prints

    An editor finds the first one by a comment at the top of the file:
    # yaml-language-server: $schema=.firstlight/schema.json
    """  # noqa: D301 - the mark keeps lines as they are
    from firstlight.commands.schema import schema as room

    room.show(file, command, is_list=is_list, files=FILES)
