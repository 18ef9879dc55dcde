"""Measurements before and after, compared."""

import msgspec
import pytest

from firstlight.commands.decide.checks import performance
from firstlight.commands.decide.checks.performance import Measured
from firstlight.model.decision import CheckState

BEFORE = Measured(uid="u", restarts={"web/p/1/c": 2}, api=0.02, probes={"https://a": 0.1})


def after(**changes: object) -> list[tuple[CheckState, str]]:
    now = msgspec.structs.replace(BEFORE, **changes)
    return [(each.state, each.message) for each in performance.compared_measurements(BEFORE, now)]


def test_nothing_became_worse() -> None:
    assert after() == [
        (
            CheckState.PASSED,
            "1 pod without a new restart; the API answers in 20 ms, before 20 ms; 1 route as fast as before",
        )
    ]


def test_restarts_since() -> None:
    assert after(restarts={"web/p/1/c": 4}) == [(CheckState.FAILED, "restarted since: web/p (c) 2×")]


def test_all_restarts_of_a_new_pod_count() -> None:
    assert after(restarts={"web/p/2/c": 1}) == [(CheckState.FAILED, "restarted since: web/p (c) 1×")]
    assert after(restarts={"web/p/2/c": 0})[0][0] == CheckState.PASSED


@pytest.mark.parametrize(("api", "is_slower"), [(0.05, False), (0.11, False), (0.2, True), (0.01, False)])
def test_the_api(api: float, is_slower: bool) -> None:
    assert (after(api=api)[0][0] == CheckState.FAILED) is is_slower


def test_twice_as_slow_is_told_only_where_it_can_be_felt() -> None:
    assert after(probes={"https://a": 0.19})[0][0] == CheckState.PASSED
    assert after(probes={"https://a": 0.3}) == [(CheckState.FAILED, "https://a answers in 300 ms, before in 100 ms")]
    assert after(probes={"https://b": 3.0})[0][0] == CheckState.PASSED


def test_without_a_baseline_somebody_has_to_look() -> None:
    (found,) = performance.compared_measurements(None, BEFORE)

    assert found.state == CheckState.PERSON
    assert found.message == "there is no baseline: 1 pod, 20 ms for an answer of the API"


def test_another_cluster_is_not_compared() -> None:
    assert [state for state, _ in after(uid="other", restarts={})] == [CheckState.PERSON]


def test_restarts_of_pods() -> None:
    pod = {
        "metadata": {"namespace": "web", "name": "p", "uid": "1"},
        "status": {"containerStatuses": [{"name": "c", "restartCount": 3}, {"name": "d"}]},
    }

    assert performance.restarts([pod, {}]) == {"web/p/1/c": 3, "web/p/1/d": 0}
