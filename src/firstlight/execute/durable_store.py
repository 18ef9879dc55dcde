"""Contents that are kept for good: compressed in ConfigMaps of the cluster, and whole in files beside the journal."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import dataclasses
import gzip
import hashlib
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.clients import atomic_file, kube
from firstlight.document.within import mapping, text
from firstlight.journal import state_files

# What is kept in a cluster for good: compressed in ConfigMaps of kube-system; and whole in files beside the journal.
#
# The baseline and the certificate are kept so. The first ConfigMap tells of all parts and is written last: what is
# there is whole, or is seen not to be.


NAMESPACE = "kube-system"
MANAGER = "firstlight"
PART = 900 * 1024
"""Bytes in one ConfigMap; the API takes a MiB, names included."""
LARGEST = 256 << 20
"""Bytes that are unpacked at most: whoever may write to kube-system must not fill the memory of who reads it."""
_CLUSTER, _DIGEST, _PARTS = (f"firstlight.dev/{each}" for each in ("cluster", "digest", "parts"))
_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """What ConfigMaps hold together."""

    cluster: str
    """The uid of kube-system, as it was written down."""
    digest: str
    """Of what was packed, as it was written down."""
    packed: bytes = dataclasses.field(repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether all parts are there, as they were written."""
        return self.is_copy(self.packed)

    def is_copy(self, packed: bytes) -> bool:
        """Whether something is what was written."""
        return hashlib.sha256(packed).hexdigest() == self.digest

    def content(self) -> bytes:
        """What was stowed.

        Raises:
            ValueError: It is not what was packed here.
        """
        unpacking = zlib.decompressobj(wbits=31)
        try:
            found = unpacking.decompress(self.packed, LARGEST)
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if unpacking.unconsumed_tail:
            raise ValueError(f"more than {LARGEST >> 20} MiB")
        return found


def packed(content: bytes) -> bytes:
    """A content as it is kept; the same for the same content."""
    return gzip.compress(content, mtime=0)


async def read(client: kube.Client, name: str) -> StoredContent | None:
    """What is kept under a name; None if nothing is.

    Raises:
        errors.ClientError: The API does not answer.
    """
    first = await _get(client, name)
    if not first:
        return None
    annotations = mapping(first, "metadata", "annotations")
    written = text(annotations, _PARTS)
    number = int(written) if _NUMBER.fullmatch(written) else 1
    others = await asyncio.gather(*(_get(client, f"{name}-{index}") for index in range(1, number)))
    try:
        held = b"".join(base64.b64decode(text(mapping(each, "binaryData"), _key(name))) for each in (first, *others))
    except binascii.Error:
        held = b""
    return StoredContent(cluster=text(annotations, _CLUSTER), digest=text(annotations, _DIGEST), packed=held)


async def store(content: bytes, client: kube.Client, *, name: str, cluster: str, part: int = PART) -> None:
    """Keep a content in the cluster; the ConfigMap that tells of it comes last.

    Args:
        content: What to keep.
        client: The API.
        name: Of the first ConfigMap.
        cluster: The uid of kube-system.
        part: Bytes in one ConfigMap.
    """
    whole = packed(content)
    parts = [whole[start : start + part] for start in range(0, len(whole), part)]
    for index, piece in reversed(list(enumerate(parts))):
        annotations = {_CLUSTER: cluster}
        if not index:
            annotations |= {_DIGEST: hashlib.sha256(whole).hexdigest(), _PARTS: str(len(parts))}
        await client.apply(_config_map(name, index, piece, annotations), manager=MANAGER, force=True)


def write_beside_journal(content: bytes, path: Path) -> None:
    """Keep a content in a file of the state, whole or not at all, also through a power loss.

    Raises:
        errors.Refused: A link is on the way.
        OSError: It cannot be written.
    """
    state_files.enter(path)
    atomic_file.replace(path, content)


def remove(path: Path) -> None:
    """Let a file of the state go, if it is there.

    Raises:
        errors.Refused: A link is on the way.
    """
    state_files.check(path)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def _key(name: str) -> str:
    return f"{name.removeprefix('firstlight-')}.json.gz"


def _config_map(name: str, index: int, content: bytes, annotations: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{name}-{index}" if index else name, "namespace": NAMESPACE, "annotations": dict(annotations),
        },
        "binaryData": {_key(name): base64.b64encode(content).decode()},
    }  # fmt: skip


async def _get(client: kube.Client, name: str) -> Mapping[str, Any]:
    try:
        return await client.get("v1", "ConfigMap", name, namespace=NAMESPACE)
    except kube.NotFound:
        return {}
