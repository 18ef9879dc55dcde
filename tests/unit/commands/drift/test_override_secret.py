"""``override apply`` of a Secret's ``stringData``: compared, written and recorded as the data that it becomes."""

import base64
import copy
import types
from pathlib import Path
from typing import Any, cast

import pytest

from firstlight.commands.override import apply
from firstlight.execute.overrides import override_records, owned_fields, suspend_resume
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Emergency, Override, OverrideStanding

LOGIN = ObjectId("", "Secret", "shop", "login")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class Api:
    """An API server with one Secret, which does with ``stringData`` what a real one does."""

    def __init__(self) -> None:
        self.live: dict[str, Any] = {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop", "uid": "1"},
            "data": {"password": encoded("old"), "user": encoded("ann")},
        }  # fmt: skip

    async def resource(self, version: str, kind: str) -> Any:
        return types.SimpleNamespace(is_namespaced=True)

    async def get(self, version: str, kind: str, name: str, *, namespace: str | None) -> dict[str, Any]:
        return copy.deepcopy(self.live)

    async def apply(self, body: dict[str, Any], *, manager: str, force: bool, dry_run: bool = False) -> dict[str, Any]:
        after = copy.deepcopy(self.live)
        after["data"] |= body.get("data", {})
        after["data"] |= {name: encoded(text) for name, text in body.get("stringData", {}).items()}
        given: dict[str, Any] = {
            f"f:{name}": {f"f:{key}": {} for key in body[name]} for name in ("data", "stringData") if name in body
        }
        after["metadata"]["managedFields"] = [
            {"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": given}
        ]
        if not dry_run:
            self.live = after
        return after


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Override:
    async def same(override: Override, ground: OverrideContext) -> Override:
        return override

    monkeypatch.setattr(suspend_resume, "hold", same)
    monkeypatch.setattr(override_records, "write", same)
    return Override(
        id="one", cluster="lab", emergency=Emergency.SECURITY, reason="leaked", who="ann", begun=0.0, until=9e9,
        scope=(), standing=OverrideStanding.OPEN, objects=(LOGIN,),
    )  # fmt: skip


@pytest.mark.parametrize("data", [{}, {"data": {"password": encoded("from data")}}], ids=["alone", "beside data"])
async def test_a_change_of_string_data_is_written_and_recorded_without_its_value(
    opened: Override, tmp_path: Path, data: dict[str, Any]
) -> None:
    api = Api()
    before = copy.deepcopy(api.live)
    ground = OverrideContext(client=cast(Any, api), cluster="lab", state=tmp_path, who="ann", now=lambda: 1.0)
    wanted = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "shop"}, **data,
        "stringData": {"password": "hunter2", "user": "ann"},
    }  # fmt: skip

    made = await apply.apply_objects(opened, [wanted], ground)

    assert api.live["data"] == {"password": encoded("hunter2"), "user": encoded("ann")}
    assert [change.fields for change in made.changes] == [("data.password",)]
    told = owned_fields.field_changes(LOGIN, api.live, before)
    assert [(each.field, each.before, each.after) for each in told] == [("data.password", "(hidden)", "(hidden)")]
    # An abort puts back what the override owns.
    restored = owned_fields.restored(api.live, before, owned_fields.of(api.live, MANAGER))
    assert restored["data"] == before["data"]
