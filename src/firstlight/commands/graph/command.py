"""``firstlight graph``: a plan as a picture."""

from pathlib import Path

import click

from firstlight.cli import options
from firstlight.cli.options import repo_option

FORMATS = ("svg", "mermaid", "dot", "text")


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=None,
    show_default="by the name of the file; text on a terminal, else svg",
    help="What to draw.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write it to a file.")
@click.option("--render/--no-render", "wanted", default=False, help="Render first, so that more needs are known.")
@options.offline_option
@repo_option
def graph(cluster: str, form: str | None, out: Path | None, wanted: bool, offline: bool, root: Path) -> None:
    """What needs what, phase by phase: as SVG for any browser, as Mermaid, DOT or text."""
    from firstlight.commands.graph import graph as room

    room.draw(cluster, form=form, out=out, wanted=wanted, offline=offline, root=root)
