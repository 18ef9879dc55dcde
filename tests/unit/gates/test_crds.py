"""CRDs stuck in Installing: which they are, and the write that wakes them."""

from typing import Any

import pytest

from firstlight.gates import crds

SINCE = "2026-11-18T13:24:07Z"
AT = 1795008247.0


def crd(established: str = "False", reason: str = "Installing", *, names: str = "True", **metadata: str) -> Any:
    return {
        "metadata": {"name": "widgets.example.org", **metadata},
        "status": {
            "conditions": [
                {"type": "NamesAccepted", "status": names, "reason": "NoConflicts", "lastTransitionTime": SINCE},
                {"type": "Established", "status": established, "reason": reason, "lastTransitionTime": SINCE},
            ]
        },
    }


def test_a_crd_with_accepted_names_that_is_not_established_is_installing() -> None:
    assert crds.is_installing(crd())


@pytest.mark.parametrize(
    "other",
    [
        crd("True", "InitialNamesAccepted"),
        crd("False", "InvalidCABundle"),
        crd("False", "NotAccepted", names="False"),
        crd(deletionTimestamp=SINCE),
        {"metadata": {"name": "new"}},
        {"status": {"conditions": "nonsense"}},
    ],
    ids=["established", "invalid", "names", "going", "new", "nonsense"],
)
def test_one_that_a_push_does_not_help_is_not(other: Any) -> None:
    assert not crds.is_installing(other)
    assert not crds.is_stuck_crd(other, AT + 3600)


def test_it_is_stuck_when_a_healthy_api_server_would_be_done() -> None:
    assert not crds.is_stuck_crd(crd(), AT + 9)
    assert crds.is_stuck_crd(crd(), AT + 11)


def test_it_is_woken_by_a_write_to_what_the_api_server_overwrites_if_it_is_still_so() -> None:
    path = "/status/conditions/1"

    assert crds.wake_patch(crd(), AT) == [
        {"op": "test", "path": f"{path}/type", "value": "Established"},
        {"op": "test", "path": f"{path}/reason", "value": "Installing"},
        {"op": "replace", "path": f"{path}/message", "value": "woken at 13:24:07Z"},
    ]
    assert crds.wake_patch(crd(), AT) != crds.wake_patch(crd(), AT + 1), "a write that changes nothing is not seen"
