"""Options that commands share, and what is typed there; light, because ``--help`` of every command needs them."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

P = ParamSpec("P")
R = TypeVar("R")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_WHOLE = re.compile(r"([0-9]{1,6}[smhd])+")
_PART = re.compile(r"([0-9]+)([smhd])")


class DurationType(click.ParamType[float]):
    """The seconds of a duration."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, float):
            return value
        if not _WHOLE.fullmatch(str(value)):
            self.fail(f"{str(value)[:40]!r} is no duration; write 90s, 30m or 1h30m", param, ctx)
        return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(value))


SECONDS = DurationType()
PHASES = ("machine", "inline", "crds", "core", "engine", "handover", "gitops")

offline_option = click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
repo_option = click.option(
    "--repo",
    "root",
    type=click.Path(path_type=Path),
    default=None,
    show_default="the one around this directory",
    help="The GitOps repo.",
)
allow_commands_option = click.option(
    "--allow-commands", is_flag=True, help="Show the commands that the repo wants to run, and allow them as they are."
)


def cluster_options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds ``--kubeconfig`` and ``--context`` to a command."""

    @click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        default=None,
        show_default="the one that up has left, else what KUBECONFIG says",
        help="The way to the cluster.",
    )
    @click.option("--context", default="", show_default="the current one", help="A context of the kubeconfig.")
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper
