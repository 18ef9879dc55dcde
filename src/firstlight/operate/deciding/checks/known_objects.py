"""All objects that a check may find something in: rendered ones, those that stand in files, and live ones."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.model.component import ObjectId
from firstlight.operate.deciding.checks.scene import Version
from firstlight.repo.work_tree import YAML

_WORTH = 4 << 20
"""Bytes of the largest file that is searched."""


def in_repo(
    version: Version, kinds: Mapping[tuple[str, str], object] | set[tuple[str, str]]
) -> list[Mapping[str, Any]]:
    """Objects of some kinds, by group and kind: what was rendered, and what files say that were not."""
    found = [each.value for one in version.renditions for each in one.objects if (each.id.group, each.id.kind) in kinds]
    known = {_called(each) for each in found}
    for each in _in_files(version, {kind for _, kind in kinds}):
        name = _called(each)
        if name not in known and (name.group, name.kind) in kinds:
            found.append(each)
    return found


async def live(client: kube.Client, kinds: Mapping[tuple[str, str], str]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Objects of some kinds in the cluster, and which kinds could not be read.

    Args:
        client: The cluster.
        kinds: Versions by group and kind.
    """
    found: list[Mapping[str, Any]] = []
    unread: list[str] = []
    for (group, kind), version in kinds.items():
        try:
            found += (await client.list(f"{group}/{version}" if group else version, kind)).items
        except kube.UnknownKind:
            continue
        except (kube.Forbidden, kube.ServerError) as error:
            unread.append(error.message)
    return found, unread


def _in_files(version: Version, kinds: set[str]) -> Iterator[Mapping[str, Any]]:
    """Looked for as text first: most files have none, and reading YAML is slow."""
    words = tuple(each.encode() for each in sorted(kinds))
    for path in version.tree.files:
        if not path.endswith(YAML):
            continue
        data = version.tree.bytes(path)
        if data is None or len(data) > _WORTH or not any(each in data for each in words):
            continue
        for document in version.tree.documents(path):
            if isinstance(document.value, Mapping) and text(document.value, "kind") in kinds:
                yield document.value


def _called(value: Mapping[str, Any]) -> ObjectId:
    """Without its namespace, which files often leave to a kustomization."""
    return dataclasses.replace(ObjectId.of(value), namespace="")
