"""Paths that are not looked at: how they are written, and what they cover."""

from typing import Any

import pytest

from firstlight.ownership import ignore_paths
from firstlight.ownership.field_values import Path
from firstlight.ownership.ignore_paths import Each

POD: dict[str, Any] = {"spec": {"containers": [{"name": "web", "image": "a"}, {"name": "agent", "image": "b"}]}}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("/spec/replicas", ("spec", "replicas")),
        ("/metadata/annotations/example.org~1a~0b", ("metadata", "annotations", "example.org/a~b")),
        ("/spec/containers/0/image", ("spec", "containers", "0", "image")),
        ("", ()),
        ("/", ()),
    ],
)
def test_json_pointers(text: str, steps: ignore_paths.Steps) -> None:
    assert ignore_paths.of_pointer(text) == steps


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (".spec.replicas", ("spec", "replicas")),
        (".webhooks[].clientConfig.caBundle", ("webhooks", Each(), "clientConfig", "caBundle")),
        (".webhooks[]?.clientConfig.caBundle", ("webhooks", Each(), "clientConfig", "caBundle")),
        (".spec.containers[1].image", ("spec", "containers", 1, "image")),
        ('.metadata.annotations["example.org/a"]', ("metadata", "annotations", "example.org/a")),
        ('.metadata.annotations."example.org/a"', ("metadata", "annotations", "example.org/a")),
        ('.spec.containers[] | select(.name == "agent")', ("spec", "containers", Each("name", "agent"))),
        ('.spec.containers[] | select(.name == "agent") | .image',
         ("spec", "containers", Each("name", "agent"), "image")),
        ('.spec.containers[] | select(.name == "agent").image', ("spec", "containers", Each("name", "agent"), "image")),
        (".spec | to_entries", None),
        ('.spec.containers[] | select(.name | test("a"))', None),
        ('.spec | select(.name == "a")', None),
        ("..", None),
        ("", None),
        (".", None),
    ],
)  # fmt: skip
def test_jq_of_the_simple_kind(text: str, steps: ignore_paths.Steps | None) -> None:
    assert ignore_paths.of_jq(text) == steps


AGENT: Path = ("f:spec", "f:containers", 'k:{"name":"agent"}', "f:image")


@pytest.mark.parametrize(
    ("steps", "covered"),
    [
        (("spec",), True),
        (("spec", "containers", "1", "image"), True),
        (("spec", "containers", "0", "image"), False),
        (("spec", "containers", Each(), "image"), True),
        (("spec", "containers", Each("name", "agent")), True),
        (("spec", "containers", Each("image", "b")), True),
        (("spec", "containers", Each("name", "web")), False),
        (("spec", "containers", "1", "image", "more"), False),
        (("status",), False),
    ],
)
def test_what_they_cover(steps: ignore_paths.Steps, covered: bool) -> None:
    assert ignore_paths.covers(steps, AGENT, value=POD) is covered


def test_what_lies_below_a_field_is_taken_out_of_it() -> None:
    value = [{"to": "a", "weight": 1}, {"to": "b", "weight": 2}]
    assert ignore_paths.without(value, (Each(), "weight")) == [{"to": "a"}, {"to": "b"}]
    assert ignore_paths.without(value, (Each("to", "b"), "weight")) == [{"to": "a", "weight": 1}, {"to": "b"}]
    assert ignore_paths.without(value, ("7", "weight")) == value
    assert ignore_paths.rest(("spec", "rules", "0"), ("f:spec", "f:rules"), value={"spec": {"rules": value}}) == ("0",)
    assert ignore_paths.rest(("spec",), ("f:spec", "f:rules"), value={}) is None
    assert value[0] == {"to": "a", "weight": 1}
