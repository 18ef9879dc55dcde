"""How a command comes by a cluster's API: the kubeconfig that ``up`` has left, or the user's own."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from firstlight.clients.kube import Config

P = ParamSpec("P")
R = TypeVar("R")


def options(function: Callable[P, R]) -> Callable[P, R]:
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


def kept(state: Path, cluster: str) -> Path:
    """Where ``up`` leaves the kubeconfig of a cluster."""
    return state / cluster / "kubeconfig"


def config(state: Path, cluster: str, *, kubeconfig: Path | None, context: str) -> "Config":
    """The way to a cluster's API.

    Args:
        state: ``.firstlight`` of the repo.
        cluster: Its name.
        kubeconfig: What was typed.
        context: What was typed.

    Raises:
        errors.ConfigError: There is no kubeconfig, or it says something wrong.
        errors.Refused: Somebody put a link in its place.
    """
    from firstlight.clients import kube
    from firstlight.journal import directory

    left = kept(state, cluster)
    if kubeconfig is None and not context and left.is_file():
        # It lies in the repo's directory, where others may write: no program that it names is run, no link followed.
        directory.check(left)
        return kube.load(left)
    return kube.load(kubeconfig, context=context, allow_exec=True)
