"""``firstlight explain``: what a name means here, for people who are new to it."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option


@click.command()
@click.argument("name", nargs=-1, metavar="[COMPONENT|PHASE|SIDE|RULE|CODE|WORD]")
@click.option("--cluster", default="", metavar="NAME", help="Only what is so in this cluster.")
@repo_option
@output.option
def explain(name: tuple[str, ...], cluster: str, root: Path | None, form: str) -> None:
    """What something is and why it is here: a component, a phase, a side, a rule, the code of a diagnostic, or a word.

    Without a name: the chain of this repo, from the machines to the apps. Words, rules and codes are explained without
    a repo, too. Nothing is executed or fetched.
    """
    from firstlight.commands.explain import explain as explain_room

    explain_room.answer(" ".join(name), cluster=cluster, root=root, form=form)
