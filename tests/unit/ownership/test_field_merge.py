"""What engines add to objects by themselves."""

from typing import Any

from firstlight.ownership import field_merge
from firstlight.ownership.field_set import FieldSet

GIT: dict[str, Any] = {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}}
LIVE: dict[str, Any] = {
    "spec": {
        "containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {}}],
        "strategy": {"type": "RollingUpdate"},
    }
}
PORT: dict[str, Any] = {'k:{"containerPort":80,"protocol":"TCP"}': {"f:protocol": {}}}


def test_defaults_and_empty_structs() -> None:
    item = {'k:{"name":"a"}': {"f:ports": PORT, "f:resources": {}}}
    extra = FieldSet.of({"f:spec": {"f:containers": item, "f:strategy": {}}})

    made = field_merge.with_engine_extras(GIT, LIVE, extra, are_structs_empty=True)

    port = {"containerPort": 80, "protocol": "TCP"}
    assert made == {"spec": {"containers": [{"name": "a", "ports": [port], "resources": {}}], "strategy": {}}}
    assert "strategy" not in GIT["spec"], "the given one is as it was"


def test_a_map_that_is_one_value() -> None:
    extra = FieldSet.of({"f:spec": {"f:strategy": {}}})

    made = field_merge.with_engine_extras(GIT, LIVE, extra, are_structs_empty=False)

    assert made is not None
    assert made["spec"]["strategy"] == {"type": "RollingUpdate"}


def test_an_item_that_git_does_not_have_is_no_default() -> None:
    extra = FieldSet.of({"f:spec": {"f:containers": {'k:{"name":"b"}': {".": {}, "f:image": {}}}}})

    assert field_merge.with_engine_extras(GIT, LIVE, extra, are_structs_empty=True) is None
