"""How the commands of ``override`` come by a cluster and the right to work on it, and what was typed as a scope."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import click

from firstlight import errors
from firstlight.cli import which_cluster, which_repo
from firstlight.clients import kube
from firstlight.drawing import safe
from firstlight.engines import adapters
from firstlight.execute import lease as execute_lease
from firstlight.execute.lease import Lease
from firstlight.execute.overrides import object_snapshot, override_end, override_records, restore
from firstlight.execute.overrides.override_context import OverrideContext, OverrideEvent, OverrideMessage
from firstlight.journal import run_identity, state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Side, SourceForm
from firstlight.model.override import Override
from firstlight.model.platform import Platform
from firstlight.plan import final_owners


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
            await override_end.finish(ground)
            yield
        finally:
            await lease.release()


_FORMS = tuple(SourceForm(each) for each in adapters.SUSPENDABLE)


def owners_of(platform: Platform, cluster: Cluster, component: str) -> tuple[str, ...]:
    """The Kustomizations, HelmReleases or Applications that own a component.

    Raises:
        errors.UsageError: There is no such component.
        errors.Refused: No engine owns it.
    """
    everything = platform.components_of(cluster.name)
    found = next((each for each in everything if each.name == component), None)
    if found is None:
        names = ", ".join(sorted(each.name for each in everything))
        raise errors.UsageError(f"there is no component {component} in {cluster.name}", hint=f"There is {names}.")
    mine = [each for each in found.origins if each.side is Side.GITOPS and each.form in _FORMS]
    if not mine:
        raise errors.Refused(
            f"no engine owns {component}: nothing of it could rest",
            hint="Name the objects that you will change: --object Deployment/shop/web",
        )
    return tuple(dict.fromkeys(final_owners.owner_name(each) for each in mine))


async def object_named(written: str, client: kube.Client) -> ObjectId:
    """The object that ``Kind/namespace/name``, ``Kind/name`` or ``Kind.group/namespace/name`` means.

    Raises:
        errors.UsageError: It is written in another way, or the kind is not known, or several have that name.
        errors.ClientError: The API does not answer.
    """
    parts = written.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise errors.UsageError(
            f"{written!r:.100} is no object",
            hint="Write Deployment/shop/web, or ClusterRole/admin without a namespace.",
        )
    kind, _, group = parts[0].partition(".")
    served = await restore.all_versions(client)
    groups = sorted(
        each for each, one in served if one.lower() == kind.lower() and (not group or each == group)
    )  # fmt: skip
    if not groups:
        raise errors.UsageError(f"the server knows no kind {parts[0]}", hint="Write it as in manifests: Deployment")
    if len(groups) > 1 and "" not in groups and "apps" not in groups:
        choice = " or ".join(f"{kind}.{each}" for each in groups)
        raise errors.UsageError(f"there are several kinds {kind}", hint=f"Write {choice}.")
    chosen = next((each for each in ("", "apps") if each in groups), groups[0])
    exact = next(one for each, one in served if each == chosen and one.lower() == kind.lower())
    resource = await client.resource(served[chosen, exact], exact)
    if resource.is_namespaced != (len(parts) == 3):
        form = f"{exact}/NAMESPACE/NAME" if resource.is_namespaced else f"{exact}/NAME"
        raise errors.UsageError(f"{written} names no {exact}", hint=f"Write {form}.")
    return ObjectId(chosen, exact, parts[1] if len(parts) == 3 else "", parts[-1])
