"""Where a baseline is kept: compressed in ConfigMaps of kube-system, and whole in a file beside the journal."""

from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute import stowing
from firstlight.journal import directory
from firstlight.model.baseline import Baseline

NAMESPACE, NAME = stowing.NAMESPACE, "firstlight-baseline"
FILE = "baseline.json"


async def is_kept(client: "kube.Client", *, uid: str) -> bool:
    """Whether a whole baseline of this cluster is there: all of its parts, as they were written."""
    found = await stowing.read(client, NAME)
    return found is not None and found.cluster == uid and found.is_whole


async def load(client: "kube.Client") -> Baseline | None:
    """The baseline of a cluster; None if there is none.

    Raises:
        errors.ClientError: It was changed, or a part of it is missing.
    """
    found = await stowing.read(client, NAME)
    if found is None:
        return None
    try:
        if found.is_whole:
            return msgspec.json.decode(found.content(), type=Baseline)
    except ValueError:
        pass
    raise errors.ClientError(
        f"the baseline in ConfigMap {NAMESPACE}/{NAME} is not whole",
        hint=f"There is a copy beside the journal, in {FILE}.",
    )


async def copy_of(client: "kube.Client", path: Path, *, uid: str) -> Baseline | None:
    """The baseline that the cluster has lost, or a part of it, out of a file.

    Args:
        client: The API.
        path: The file beside the journal.
        uid: Of the cluster.

    Returns:
        None if the file is not this cluster's, or another one than the cluster still knows of.
    """
    kept = await stowing.read(client, NAME)
    try:
        content = directory.read(path)
        found = msgspec.json.decode(content, type=Baseline)
    except (OSError, ValueError):
        return None
    is_that_one = kept is None or kept.cluster != uid or kept.is_copy(stowing.packed(content))
    return found if found.cluster == uid and is_that_one else None


async def store(baseline: Baseline, client: "kube.Client", *, part: int = stowing.PART) -> None:
    """Keep a baseline in the cluster.

    Args:
        baseline: What was seen.
        client: The API.
        part: Bytes in one ConfigMap.
    """
    await stowing.store(encoded(baseline), client, name=NAME, cluster=baseline.cluster, part=part)


def encoded(baseline: Baseline) -> bytes:
    """A baseline as JSON."""
    return msgspec.json.encode(baseline)


def write(baseline: Baseline, path: Path) -> None:
    """Keep a baseline in a file, whole or not at all, also through a power loss."""
    stowing.write(encoded(baseline), path)
