"""How the commands of ``override`` come by a cluster: its API, and the right to work on it."""

import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import click

from firstlight import errors
from firstlight.cli import which_cluster, which_repo
from firstlight.drawing import safe
from firstlight.execute import lease as execute_lease
from firstlight.execute.lease import Lease
from firstlight.execute.overrides import close, object_snapshot, override_records
from firstlight.execute.overrides.override_context import OverrideContext, OverrideEvent, OverrideMessage
from firstlight.journal import run_identity, state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.override import Override
from firstlight.model.platform import Platform


class OverrideTarget:
    """Which cluster of which repo, and the way to it, as typed."""

    def __init__(self, cluster: str, *, root: Path | None, kubeconfig: Path | None, context: str) -> None:
        self.platform: Platform = which_repo.platform(root)
        self.cluster: Cluster = which_cluster.cluster_of(self.platform, cluster)
        self.state = state_files.directory_of(self.platform.root)
        self._way = (kubeconfig, context)

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[OverrideContext]:
        """The API of the cluster, and what overrides work with.

        Raises:
            errors.ConfigError: There is no way to the API.
            errors.Refused: It is another cluster.
            errors.ClientError: The API does not answer.
        """
        config = which_cluster.config(self.state, self.cluster.name, kubeconfig=self._way[0], context=self._way[1])
        async with which_cluster.opened(
            config, agent="override", state=self.state, cluster=self.cluster.name
        ) as client:
            yield OverrideContext(client=client, cluster=self.cluster.name, state=self.state, tell=print_event)


def print_event(event: OverrideEvent) -> None:
    """What people see of the work."""
    if isinstance(event, OverrideMessage):
        print(f"  {safe.name(event.text)}", file=sys.stderr, flush=True)


def require_agreement(question: str, *, yes: bool) -> None:
    """Ask before something is written.

    Raises:
        errors.Refused: The answer is no, or nobody can be asked.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and click.confirm(f"{safe.text(question)}\nGo on?", default=False, err=True)):
        raise errors.Refused(f"not confirmed: {question}", hint="--yes answers yes.")


async def chosen_override(ground: OverrideContext, id: str) -> Override:
    """The override that is meant.

    Raises:
        errors.Refused: There is none, or more than one.
    """
    return await read_override(ground, id)


# The records of overrides: in the cluster, and as copies on this computer.


async def list_overrides(ground: OverrideContext) -> tuple[Override, ...]:
    """All that the cluster knows of, oldest first.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return await override_records.listed(ground.client)


def local_overrides(state: Path, cluster: str) -> tuple[Override, ...]:
    """The copies on this computer, oldest first; for when the API is gone."""
    return override_records.local(state, cluster)


async def read_override(ground: OverrideContext, id: str = "") -> Override:
    """The override that is meant: by its id, or the only one that is not over.

    Raises:
        errors.Refused: There is none, or more than one.
        errors.ClientError: The API does not answer.
    """
    if id:
        override_records.record_path(ground.state, ground.cluster, id)
        found = await override_records.read(id, ground.client)
        if found is None:
            raise errors.Refused(f"there is no override {id} in {ground.cluster}", hint="firstlight override status")
        return found
    open_ones = [each for each in await list_overrides(ground) if not each.is_over]
    if not open_ones:
        raise errors.Refused(f"no override is open in {ground.cluster}", hint="firstlight override begin opens one.")
    if len(open_ones) > 1:
        names = ", ".join(each.id for each in open_ones)
        raise errors.Refused(f"several overrides are open: {names}", hint="Say which one: --id ID")
    return open_ones[0]


async def objects_before(override: Override, ground: OverrideContext) -> Mapping[ObjectId, Mapping[str, Any]]:
    """The objects in scope as they were when it began; one that was not there is not among them.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return await object_snapshot.read(override, ground.client)


# The right to work on overrides of a cluster: one run at a time, and whatever was cut off is finished first.


@contextlib.asynccontextmanager
async def lease_held(ground: OverrideContext) -> AsyncIterator[None]:
    """Hold the lock of this computer and the lease of the cluster, and finish what was cut off.

    Raises:
        errors.Refused: Another run works on this cluster.
        errors.ClientError: The API does not answer.
    """
    holder = execute_lease.holder_name(run_identity.make_run_id(ground.cluster, now=ground.now()))
    with execute_lease.local_lock(ground.state / ground.cluster / "lock", who=holder):
        lease = Lease(ground.client, holder=holder, tell=ground.say)
        try:
            await lease.claim()
            await close.finish(ground)
            yield
        finally:
            await lease.release()
