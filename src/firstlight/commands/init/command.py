"""``firstlight init``: the shortest firstlight.yaml, from what the repo says."""

from collections.abc import Sequence
from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option


@click.command()
@click.option("--answer", "given", multiple=True, metavar="KEY=VALUE", help="An answer beforehand; may be repeated.")
@click.option("--force", is_flag=True, help="Write it even where there is one; the old one is lost.")
@click.option("--dry-run", is_flag=True, help="Print it, write nothing.")
@repo_option
@output.option
def init(given: Sequence[str], force: bool, dry_run: bool, root: Path | None, form: str) -> None:
    """Write firstlight.yaml: what was inferred, and what you answer to what could not be.

    Nothing else of the repo is touched, except that .firstlight/schema.json is written for editors.
    """
    from firstlight.commands.init import declare

    declare.declare(given, force=force, dry_run=dry_run, root=root, form=form)
