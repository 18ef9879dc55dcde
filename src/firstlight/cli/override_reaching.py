"""How the commands of ``override`` come by a cluster: its API, and the right to work on it."""

import contextlib
import functools
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from firstlight.cli import which_cluster, which_repo

if TYPE_CHECKING:
    from firstlight.execute.overriding.ground import Event, Ground
    from firstlight.model.cluster import Cluster
    from firstlight.model.override import Override
    from firstlight.model.platform import Platform

P = ParamSpec("P")
R = TypeVar("R")

which = click.option("--id", "id", default="", show_default="the only one that is open", help="Which override.")


def options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds what all of them have: ``--kubeconfig``, ``--context`` and ``--repo``."""

    @which_cluster.options
    @which_repo.option
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


class Place:
    """Which cluster of which repo, and the way to it, as typed."""

    def __init__(self, cluster: str, *, root: Path | None, kubeconfig: Path | None, context: str) -> None:
        from firstlight.journal import directory
        from firstlight.operate import up

        self.platform: Platform = which_repo.platform(root)
        self.cluster: Cluster = up.cluster_of(self.platform, cluster)
        self.state = directory.of(self.platform.root)
        self._way = (kubeconfig, context)

    @contextlib.asynccontextmanager
    async def opened(self) -> "AsyncIterator[Ground]":
        """The API of the cluster, and what overrides work with.

        Raises:
            errors.ConfigError: There is no way to the API.
            errors.Refused: It is another cluster.
            errors.ClientError: The API does not answer.
        """
        from firstlight.execute.overriding.ground import Ground

        config = which_cluster.config(self.state, self.cluster.name, kubeconfig=self._way[0], context=self._way[1])
        async with which_cluster.opened(
            config, agent="override", state=self.state, cluster=self.cluster.name
        ) as client:
            yield Ground(client=client, cluster=self.cluster.name, state=self.state, tell=told)


def told(event: "Event") -> None:
    """What people see of the work."""
    from firstlight.execute.overriding.ground import Said
    from firstlight.report import safe

    if isinstance(event, Said):
        print(f"  {safe.name(event.text)}", file=sys.stderr, flush=True)


def agreed(question: str, *, yes: bool) -> None:
    """Ask before something is written.

    Raises:
        errors.Refused: The answer is no, or nobody can be asked.
    """
    from firstlight import errors
    from firstlight.report import safe

    if yes:
        return
    if not (sys.stdin.isatty() and click.confirm(f"{safe.text(question)}\nGo on?", default=False, err=True)):
        raise errors.Refused(f"not confirmed: {question}", hint="--yes answers yes.")


async def chosen(ground: "Ground", id: str) -> "Override":
    """The override that is meant.

    Raises:
        errors.Refused: There is none, or more than one.
    """
    from firstlight.operate.override import records

    return await records.read(ground, id)
