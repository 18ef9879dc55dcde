"""Where a baseline is kept: compressed in ConfigMaps of kube-system, and whole in a file beside the journal."""

import base64
import gzip
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.model.baseline import Baseline

NAMESPACE, NAME = "kube-system", "firstlight-baseline"
FILE = "baseline.json"
MANAGER = "firstlight"
PART = 900 * 1024
"""Bytes in one ConfigMap; the API takes a MiB, names included."""
_CLUSTER, _DIGEST, _PARTS = (f"firstlight.dev/{each}" for each in ("cluster", "digest", "parts"))
_KEY = "baseline.json.gz"


async def is_kept(client: kube.Client, *, uid: str) -> bool:
    """Whether a whole baseline of this cluster is there."""
    first = await _get(client, NAME)
    return text(mapping(first, "metadata", "annotations"), _CLUSTER) == uid


async def load(client: kube.Client) -> Baseline | None:
    """The baseline of a cluster; None if there is none.

    Raises:
        errors.ClientError: It was changed, or a part of it is missing.
    """
    first = await _get(client, NAME)
    if not first:
        return None
    annotations = mapping(first, "metadata", "annotations")
    number = int(text(annotations, _PARTS) or 1)
    parts = [first, *[await _get(client, f"{NAME}-{index}") for index in range(1, number)]]
    packed = b"".join(base64.b64decode(text(mapping(each, "binaryData"), _KEY)) for each in parts)
    if hashlib.sha256(packed).hexdigest() != text(annotations, _DIGEST):
        raise errors.ClientError(
            f"the baseline in ConfigMap {NAMESPACE}/{NAME} is not whole",
            hint=f"There is a copy beside the journal, in {FILE}.",
        )
    return msgspec.json.decode(gzip.decompress(packed), type=Baseline)


async def store(baseline: Baseline, client: kube.Client, *, part: int = PART) -> None:
    """Keep a baseline in the cluster; the ConfigMap that tells of it comes last.

    Args:
        baseline: What was seen.
        client: The API.
        part: Bytes in one ConfigMap.
    """
    packed = gzip.compress(encoded(baseline), mtime=0)
    parts = [packed[start : start + part] for start in range(0, len(packed), part)]
    for index, content in reversed(list(enumerate(parts))):
        annotations = {_CLUSTER: baseline.cluster}
        if not index:
            annotations |= {_DIGEST: hashlib.sha256(packed).hexdigest(), _PARTS: str(len(parts))}
        await client.apply(_config_map(index, content, annotations), manager=MANAGER, force=True)


def encoded(baseline: Baseline) -> bytes:
    """A baseline as JSON."""
    return msgspec.json.encode(baseline)


def write(baseline: Baseline, path: Path) -> None:
    """Keep a baseline in a file, whole or not at all, also through a power loss."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(encoded(baseline))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _config_map(index: int, content: bytes, annotations: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{NAME}-{index}" if index else NAME,
            "namespace": NAMESPACE,
            "annotations": dict(annotations),
        },
        "binaryData": {_KEY: base64.b64encode(content).decode()},
    }


async def _get(client: kube.Client, name: str) -> Mapping[str, Any]:
    try:
        return await client.get("v1", "ConfigMap", name, namespace=NAMESPACE)
    except kube.NotFound:
        return {}
