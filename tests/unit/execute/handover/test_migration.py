"""What only goes, and what changes."""

from typing import Any

import pytest

from firstlight.execute.handover import migration

LIVE: dict[str, Any] = {
    "metadata": {"name": "a", "resourceVersion": "2", "labels": {"x": "1", "y": "2"}, "managedFields": [{"a": "b"}]},
    "data": {"word": "hello", "hacked": "yes"}, "list": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
    "status": {"ready": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "is_less"),
    [
        ({"data": {"word": "hello"}}, True),
        ({"metadata": {"name": "a", "resourceVersion": "3", "managedFields": [], "labels": {"x": "1"}}}, True),
        ({"list": [{"name": "b", "value": "2"}]}, True),
        ({"list": [{"name": "b"}]}, True),
        ({"status": {"ready": 2}}, True),
        ({"data": {"word": "bye"}}, False),
        ({"data": {"word": "hello", "more": "yes"}}, False),
        ({"list": [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]}, False),
        ({"metadata": {"name": "a", "labels": {"x": "2"}}}, False),
    ],
)
def test_only_less(change: dict[str, Any], is_less: bool) -> None:
    assert migration._is_less({**LIVE, **change}, LIVE, has_status=True) is is_less
