"""How a command comes by a cluster's API: the kubeconfig that ``up`` has left, or the user's own.

Whatever the way, another cluster than the one that ``up`` has written down is refused, also for looking: what is said
of it would be believed of the one that is meant.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube.client_config import ClientConfig
from firstlight.clients.kube.kubeconfig import KubeconfigMissing
from firstlight.document import mistakes
from firstlight.execute import access_files, cluster_identity
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform


def kept(state: Path, cluster: str) -> Path:
    """Where ``up`` leaves the kubeconfig of a cluster."""
    return state / cluster / "kubeconfig"


def config(state: Path, cluster: str, *, kubeconfig: Path | None, context: str) -> ClientConfig:
    """The way to a cluster's API.

    Args:
        state: ``.firstlight`` of the repo.
        cluster: Its name.
        kubeconfig: What was typed.
        context: What was typed.

    Raises:
        errors.ConfigError: There is no kubeconfig, or it says something wrong.
        errors.Refused: The one that up left may be somebody else's work, or leads out of the file.
    """
    left = kept(state, cluster)
    if kubeconfig is None and not context and state_files.is_file(left):
        return access_files.kept_kubeconfig(left)
    try:
        return kube.load(kubeconfig, context=context, allow_exec=True)
    except KubeconfigMissing as error:
        if kubeconfig is None:
            error.hint = f"firstlight up {cluster} leaves one in {left}, once the API answers; else: --kubeconfig FILE"
        raise


@contextlib.asynccontextmanager
async def opened(config: ClientConfig, *, agent: str, state: Path | None, cluster: str) -> AsyncIterator[kube.Client]:
    """The API of a cluster that answers and is the one that was written down, if one was.

    Args:
        config: The way to it.
        agent: What the API server hears as the user agent.
        state: ``.firstlight`` of the repo; None where no repo says which cluster is meant.
        cluster: Its name.

    Raises:
        errors.Refused: It is another cluster.
        errors.ClientError: The API does not answer.
    """
    async with kube.Client(config, agent=agent) as client:
        await client.version()
        if state is not None:
            await check(client, state=state, cluster=cluster)
        yield client


async def check(client: kube.Client, *, state: Path, cluster: str) -> None:
    """See that this is the cluster that ``up`` has written down; where none was, nobody can tell.

    Raises:
        errors.Refused: It is another cluster.
        errors.ClientError: The API does not answer.
    """
    known = cluster_identity.known(state, cluster)
    if not known:
        return
    found = str((await client.get("v1", "Namespace", "kube-system", metadata_only=True))["metadata"]["uid"])
    if found != known:
        raise errors.Refused(
            f"{client.config.server} is not {cluster}: its kube-system has the UID {found}, and that of {cluster} "
            f"had {known} when firstlight up wrote it down",
            hint="Check the kubeconfig and its context. If the cluster was made anew on purpose, delete "
            f"{state / cluster / 'identity.json'}.",
        )


def cluster_of(platform: Platform, name: str) -> Cluster:
    """The cluster that is meant; where there is only one, it need not be named.

    Raises:
        errors.UsageError: There is none of that name, or several and none is named.
    """
    names = ", ".join(each.name for each in platform.clusters)
    if not name and len(platform.clusters) == 1:
        return platform.clusters[0]
    if not name:
        raise errors.UsageError("which cluster?", hint=f"There is {names}." if names else "The repo declares none.")
    found = platform.cluster(name)
    if found is None:
        hint = mistakes.near(name, [each.name for each in platform.clusters])
        raise errors.UsageError(f"there is no cluster {name}", hint=hint or "The repo declares none.")
    return found
