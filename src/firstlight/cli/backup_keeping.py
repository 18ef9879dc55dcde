"""What the commands of ``firstlight backup`` share: where backups are, and how many stay."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from firstlight.model.platform import Platform
    from firstlight.policy.retention import Keep

P = ParamSpec("P")
R = TypeVar("R")

where = click.option(
    "--from",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    show_default=".firstlight/CLUSTER/backups",
    help="Where the backups are.",
)
signer = click.option(
    "--signer",
    "signers",
    multiple=True,
    metavar="SHA256:…",
    help="Also accept backups signed by this key. May be repeated.",
)
unsigned = click.option(
    "--trust-unsigned",
    "unsigned",
    multiple=True,
    metavar="NAME",
    help="Open this backup although nobody signed it. May be repeated.",
)


def retention(function: Callable[P, R]) -> Callable[P, R]:
    """Adds ``--keep``, ``--keep-daily`` and ``--keep-weekly`` to a command."""
    many = click.IntRange(0)

    @click.option("--keep", "newest", type=many, default=0, metavar="N", help="The newest N stay.")
    @click.option("--keep-daily", "daily", type=many, default=0, metavar="N", help="The newest of each of N days.")
    @click.option("--keep-weekly", "weekly", type=many, default=0, metavar="N", help="The newest of each of N weeks.")
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


def keep(newest: int, daily: int, weekly: int) -> "Keep":
    """What is to stay."""
    from firstlight.policy.retention import Keep

    return Keep(newest=newest, daily=daily, weekly=weekly)


def place_of(platform: "Platform", cluster: str, place: Path | None) -> Path:
    """Where the backups of a cluster are."""
    from firstlight.journal import directory
    from firstlight.operate.backup import shelf

    return place.absolute() if place is not None else shelf.home(directory.of(platform.root), cluster)
