"""``firstlight demo``: an example platform brought up from bare machines in the lab, verified and drawn, in one go."""

from pathlib import Path

import click

PICTURE = "firstlight-demo.svg"


@click.command()
@click.option("--keep", is_flag=True, help="Leave the lab running, to look around in it.")
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path(PICTURE),
    show_default=True,
    help="Where the picture of the run goes.",
)
def demo(keep: bool, picture: Path) -> int:
    """Bring an example platform up on this computer: from bare machines to two apps that Git owns, with proof."""
    from firstlight.commands.demo import demo as room

    return room.play(keep=keep, picture=picture)
