"""What pods ask of nodes, as the scheduler counts it; and whether the nodes have it."""

from decimal import Decimal
from typing import Any

import pytest

from firstlight.commands.decide.checks import capacity
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.capacity import Amount
from firstlight.commands.decide.checks.check_input import ObjectPair
from firstlight.model.component import ObjectId
from firstlight.model.decision import CheckState
from firstlight.model.place import Place

MEBI = 1 << 20


def container(cpu: str = "", memory: str = "", *, always: bool = False, **more: Any) -> dict[str, Any]:
    asked = {key: value for key, value in {"cpu": cpu, "memory": memory}.items() if value}
    restart = {"restartPolicy": "Always"} if always else {}
    return {"name": "c", "resources": {"requests": asked}, **restart, **more}


def workload(
    *containers: dict[str, Any], kind: str = "Deployment", replicas: int | None = None, **spec: Any
) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "web"},
        "spec": {
            **({"replicas": replicas} if replicas is not None else {}),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": list(containers), **spec}},
        },
    }


def pair(before: dict[str, Any] | None, after: dict[str, Any] | None) -> ObjectPair:
    return ObjectPair(id=ObjectId.of(after or before or {}), place=Place("web.yaml"), before=before, after=after)


def node(name: str, cpu: str = "4", memory: str = "8Gi", *, taint: str = "") -> dict[str, Any]:
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return {
        "metadata": {"name": name},
        "spec": {"taints": taints},
        "status": {"allocatable": {"cpu": cpu, "memory": memory}},
    }


def pod(on: str, *containers: dict[str, Any], app: str = "other", phase: str = "Running") -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "web", "labels": {"app": app}},
        "spec": {"nodeName": on, "containers": list(containers)},
        "status": {"phase": phase},
    }


def judge(before: Any, after: Any, nodes: list[Any], pods: list[Any] | None = None) -> list[CheckAnswer]:
    return capacity.judged_capacity(
        capacity.resource_demands((pair(before, after),)), capacity.node_capacities(nodes, pods or [])
    )


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        ({"containers": [container("1", "1Mi"), container("500m", "2Mi")]}, "1.5", 3),
        ({"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]}, "2", 0),
        ({"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]}, "1", 0),
        ({"initContainers": [container("3")], "containers": [container("1")]}, "3", 0),
        ({"initContainers": [container("1"), container("1")], "containers": [container("1")]}, "1", 0),
        ({"initContainers": [container("2", always=True)], "containers": [container("1")]}, "3", 0),
        ({"initContainers": [container("2", always=True), container("3")], "containers": [container("1")]}, "5", 0),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, "1.25", 0),
        ({"containers": [container("nonsense")]}, "0", 0),
        ({}, "0", 0),
    ],
)
def test_what_a_pod_asks_for(spec: dict[str, Any], cpu: str, memory: int) -> None:
    assert capacity.of_template({"spec": spec}) == Amount(Decimal(cpu), Decimal(memory * MEBI))


def test_replicas_count() -> None:
    (demand,) = capacity.resource_demands(
        (pair(workload(container("1"), replicas=2), workload(container("1"), replicas=5)),)
    )

    assert demand.difference() == Amount(Decimal(3))


def test_what_runs_on_every_node_is_counted_by_nodes() -> None:
    before, after = (workload(container(cpu), kind="DaemonSet") for cpu in ("1", "2"))
    (demand,) = capacity.resource_demands((pair(before, after),))

    assert demand.difference(3) == Amount(Decimal(3))
    (gone,) = capacity.resource_demands((pair(after, None),))
    assert gone.difference(3) == Amount(Decimal(-6))


def test_what_stays_the_same_is_no_demand() -> None:
    one = workload(container("1"))

    assert capacity.resource_demands((pair(one, workload(container("1"), hostNetwork=True)),)) == ()
    assert capacity.resource_demands((pair(None, {**one, "kind": "Job", "apiVersion": "batch/v1"}),)) == ()


def test_amounts_for_people() -> None:
    assert str(Amount(Decimal("1.5"), Decimal(256 * MEBI))) == "1.5 CPU and 256Mi"
    assert str(Amount(Decimal("0.25"), Decimal(3 << 29))) == "250m CPU and 1.5Gi"
    assert capacity.difference(Amount(Decimal(1), Decimal(-MEBI))) == "1 CPU more and 1Mi less"
    assert capacity.difference(Amount()) == "no more than before"


def test_there_is_room() -> None:
    (found,) = judge(None, workload(container("1"), replicas=2), [node("a"), node("b")], [pod("a", container("1"))])

    assert found.state == CheckState.PASSED
    assert found.message == "the change asks for 2 CPU more, and 7 CPU and 16Gi is free on 2 nodes"


def test_there_is_no_room_in_all() -> None:
    (found,) = judge(workload(container("3")), workload(container("3"), replicas=4), [node("a"), node("b")])

    assert found.state == CheckState.FAILED
    assert "asks for 9 CPU more" in found.message
    assert code(found) == "requests-beyond-capacity"


def test_no_node_is_large_enough() -> None:
    (found,) = judge(
        None, workload(container("3")), [node("a"), node("b")], [pod(each, container("2")) for each in "ab"]
    )

    assert found.state == CheckState.FAILED
    assert "no node has that: a has 2 CPU" in found.message
    assert code(found) == "pod-too-large"


def test_pods_that_have_ended_take_nothing() -> None:
    (found,) = judge(None, workload(container("3")), [node("a")], [pod("a", container("2"), phase="Succeeded")])

    assert found.state == CheckState.PASSED


def test_it_fits_once_the_old_one_has_gone() -> None:
    (found,) = judge(
        workload(container("2")), workload(container("3")), [node("a")], [pod("a", container("2"), app="web")]
    )

    assert found.state == CheckState.PERSON
    assert "once an old one has gone from a" in found.message
    assert code(found) == "rollout-needs-room"


def test_a_pod_on_every_node_must_fit_on_each() -> None:
    before, after = (workload(container(cpu), kind="DaemonSet") for cpu in ("1", "2"))
    there = [pod("a", container("1"), app="web"), pod("b", container("1"), app="web")]

    assert judge(before, after, [node("a"), node("b")], there)[0].state == CheckState.PASSED
    full = [*there, pod("a", container("2"))]
    assert judge(before, after, [node("a"), node("b")], full)[0].state == CheckState.PASSED, "the old pod goes first"
    (found,) = judge(before, after, [node("a"), node("b")], [*there, pod("b", container("2.5"))])
    assert found.state == CheckState.FAILED
    assert "which b (500m CPU and 8Gi free) does not have" in found.message
    assert code(found) == "pod-too-large"


def code(found: CheckAnswer) -> str:
    return found.diagnostic.code if found.diagnostic is not None else ""


def test_no_node_takes_it() -> None:
    (found,) = judge(None, workload(container("1")), [node("a", taint="node-role.kubernetes.io/control-plane")])

    assert found.state == CheckState.FAILED
    assert found.message.startswith(
        "no node takes a pod of Deployment web/web: taint node-role.kubernetes.io/control-plane"
    )
    assert code(found) == "pod-taken-by-no-node"


def test_what_goes_needs_no_room() -> None:
    (found,) = judge(workload(container("2")), None, [node("a")], [pod("a", container("4"))])

    assert found.state == CheckState.PASSED
    assert "2 CPU less" in found.message
