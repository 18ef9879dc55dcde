"""What an abort does with an object whose snapshot is gone: it deletes only what the override has made."""

from pathlib import Path
from typing import Any, cast

import pytest

from firstlight.clients import kube
from firstlight.execute.overrides import restore
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER

MAP = ObjectId("", "ConfigMap", "shop", "map")
LIVE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "map",
        "namespace": "shop",
        "uid": "1",
        "managedFields": [
            {"manager": MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:a": {}}}}
        ],
    },
    "data": {"a": "1"},
}


class Api:
    """An API with one object, or none."""

    def __init__(self, live: dict[str, Any] | None) -> None:
        self._live = live
        self.deleted: list[str] = []

    async def get(self, version: str, kind: str, name: str, *, namespace: str | None) -> dict[str, Any]:
        if self._live is None:
            raise kube.UnknownKind(version, kind, server="lab")
        return self._live

    async def delete(self, version: str, kind: str, name: str, *, namespace: str | None, uid: str) -> None:
        self.deleted.append(uid)


@pytest.mark.parametrize(
    ("live", "is_new", "is_deleted", "deleted", "said"),
    [
        (LIVE, True, False, ["1"], ""),
        (LIVE, False, False, [], "there is no snapshot of ConfigMap shop/map: it stays as it is"),
        (None, False, True, [], "there is no snapshot of ConfigMap shop/map: it stays as it is"),
        (None, True, True, [], ""),
        ({**LIVE, "metadata": {**LIVE["metadata"], "managedFields": []}}, False, False, [], ""),
    ],
    ids=["made", "changed", "deleted", "made-and-deleted", "put-back-already"],
)
async def test_without_a_snapshot(
    live: dict[str, Any] | None, is_new: bool, is_deleted: bool, deleted: list[str], said: str, tmp_path: Path
) -> None:
    api = Api(live)
    ground = OverrideContext(client=cast(kube.Client, api), cluster="lab", state=tmp_path)
    found = await restore.object_back(MAP, "v1", None, ground, is_new=is_new, is_deleted=is_deleted)
    assert (api.deleted, found) == (deleted, said)
