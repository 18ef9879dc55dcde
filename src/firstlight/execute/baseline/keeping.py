"""Where a baseline is kept: compressed in ConfigMaps of kube-system, and whole in a file beside the journal."""

import asyncio
import base64
import binascii
import gzip
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.journal import directory as state_directory
from firstlight.model.baseline import Baseline

NAMESPACE, NAME = "kube-system", "firstlight-baseline"
FILE = "baseline.json"
MANAGER = "firstlight"
PART = 900 * 1024
"""Bytes in one ConfigMap; the API takes a MiB, names included."""
_CLUSTER, _DIGEST, _PARTS = (f"firstlight.dev/{each}" for each in ("cluster", "digest", "parts"))
_KEY = "baseline.json.gz"
_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


async def is_kept(client: kube.Client, *, uid: str) -> bool:
    """Whether a whole baseline of this cluster is there: all of its parts, as they were written."""
    annotations, packed = await _packed(client)
    return text(annotations, _CLUSTER) == uid and _is_whole(annotations, packed)


async def load(client: kube.Client) -> Baseline | None:
    """The baseline of a cluster; None if there is none.

    Raises:
        errors.ClientError: It was changed, or a part of it is missing.
    """
    annotations, packed = await _packed(client)
    if annotations is None:
        return None
    if not _is_whole(annotations, packed):
        raise errors.ClientError(
            f"the baseline in ConfigMap {NAMESPACE}/{NAME} is not whole",
            hint=f"There is a copy beside the journal, in {FILE}.",
        )
    return msgspec.json.decode(gzip.decompress(packed), type=Baseline)


async def copy_of(client: kube.Client, path: Path) -> Baseline | None:
    """The baseline of which the cluster has lost a part, out of a file; None if the file is not that very one."""
    annotations, _ = await _packed(client)
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, ValueError):
        return None
    return found if _is_whole(annotations, _compressed(found)) else None


async def store(baseline: Baseline, client: kube.Client, *, part: int = PART) -> None:
    """Keep a baseline in the cluster; the ConfigMap that tells of it comes last.

    Args:
        baseline: What was seen.
        client: The API.
        part: Bytes in one ConfigMap.
    """
    packed = _compressed(baseline)
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
    state_directory.enter(path)
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


def _compressed(baseline: Baseline) -> bytes:
    return gzip.compress(encoded(baseline), mtime=0)


async def _packed(client: kube.Client) -> tuple[Mapping[str, Any] | None, bytes]:
    """The annotations of the first ConfigMap, None if it is not there; and what all of them hold together."""
    first = await _get(client, NAME)
    if not first:
        return None, b""
    annotations = mapping(first, "metadata", "annotations")
    written = text(annotations, _PARTS)
    number = int(written) if _NUMBER.fullmatch(written) else 1
    others = await asyncio.gather(*(_get(client, f"{NAME}-{index}") for index in range(1, number)))
    try:
        held = [base64.b64decode(text(mapping(each, "binaryData"), _KEY)) for each in (first, *others)]
    except binascii.Error:
        return annotations, b""
    return annotations, b"".join(held)


def _is_whole(annotations: Mapping[str, Any] | None, packed: bytes) -> bool:
    return hashlib.sha256(packed).hexdigest() == text(annotations, _DIGEST)


async def _get(client: kube.Client, name: str) -> Mapping[str, Any]:
    try:
        return await client.get("v1", "ConfigMap", name, namespace=NAMESPACE)
    except kube.NotFound:
        return {}
