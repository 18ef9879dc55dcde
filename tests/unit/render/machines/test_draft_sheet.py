"""JSON patches as strategic merge patches."""

from typing import Any

import pytest

from firstlight.render.machines import draft_sheet


def test_what_means_the_same_is_rewritten() -> None:
    value, problems = draft_sheet.as_merge_patch([
        {"op": "add", "path": "/machine/nodeLabels/example.org~1a", "value": "b"},
        {"op": "replace", "path": "/cluster/proxy/disabled", "value": True},
        {"op": "add", "path": "/machine/certSANs/-", "value": "one"},
        {"op": "add", "path": "/machine/certSANs/-", "value": "two"},
        {"op": "remove", "path": "/cluster/apiServer/admissionControl"},
        {"op": "add", "path": "/machine/kubelet/extraArgs", "value": {"a": "b"}},
    ])  # fmt: skip

    assert not problems
    assert value == {
        "machine": {
            "nodeLabels": {"example.org/a": "b"}, "certSANs": ["one", "two"], "kubelet": {"extraArgs": {"a": "b"}},
        },
        "cluster": {"proxy": {"disabled": True}, "apiServer": {"admissionControl": {"$patch": "delete"}}},
    }  # fmt: skip


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/machine/certSANs", "value": ["a"]},
        {"op": "replace", "path": "/machine/network/interfaces/0/mtu", "value": 1},
        {"op": "add", "path": "/machine/network/interfaces/0", "value": {}},
        {"op": "remove", "path": "/machine/network/interfaces/0"},
        {"op": "move", "path": "/machine/a", "from": "/machine/b"},
        {"op": "test", "path": "/machine/a", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "add"},
        "add",
    ],
    ids=str,
)
def test_what_has_no_counterpart_is_a_problem(operation: Any) -> None:
    _, problems = draft_sheet.as_merge_patch([operation])

    assert len(problems) == 1


def test_operations_that_do_not_fit_together_are_a_problem() -> None:
    _, problems = draft_sheet.as_merge_patch([
        {"op": "add", "path": "/machine/a", "value": "text"}, {"op": "add", "path": "/machine/a/b", "value": 1},
    ])  # fmt: skip

    assert problems == ["/machine/a/b is said twice, and the second does not fit the first"]
