"""How many pods the nodes take: taints, selectors, and rules that keep pods apart."""

from typing import Any

import pytest

from firstlight.gates import pod_placement, replicas

CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
APART: dict[str, Any] = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


def node(name: str, *taints: dict[str, str], **labels: str) -> dict[str, Any]:
    found = {"kubernetes.io/hostname": name, **{key.replace("_", "-"): value for key, value in labels.items()}}
    return {"metadata": {"name": name, "labels": found}, "spec": {"taints": list(taints)}}


def template(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web"}], **spec}}


@pytest.mark.parametrize(
    ("toleration", "is_taken"),
    [
        ({"key": CONTROL_PLANE["key"], "operator": "Exists"}, True),
        ({"key": CONTROL_PLANE["key"], "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": CONTROL_PLANE["key"], "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": CONTROL_PLANE["key"]}, True),
        ({"key": CONTROL_PLANE["key"], "value": "yes"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({}, False),
    ],
)
def test_tolerations_are_matched_as_the_scheduler_does(toleration: dict[str, str], is_taken: bool) -> None:
    refused = pod_placement.refusal(template(tolerations=[toleration]), node("cp-1", CONTROL_PLANE))

    assert refused == ("" if is_taken else "taint node-role.kubernetes.io/control-plane")


def test_a_taint_that_only_prefers_refuses_nothing() -> None:
    assert pod_placement.refusal(template(), node("w-1", {"key": "slow", "effect": "PreferNoSchedule"})) == ""


def test_a_cordoned_node_takes_nothing() -> None:
    cordoned = {**node("w-1"), "spec": {"unschedulable": True}}

    assert pod_placement.refusal(template(), cordoned) == "taint node.kubernetes.io/unschedulable"


def test_node_selectors_and_affinity() -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast"]}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w-2"]}]},
                ]
            }
        }
    }

    assert (
        pod_placement.refusal(template(nodeSelector={"disk": "fast"}), node("w-1", disk="slow")) == "no label disk=fast"
    )
    assert pod_placement.refusal(template(nodeSelector={"disk": "fast"}), node("w-1", disk="fast")) == ""
    assert pod_placement.refusal(template(affinity=affinity), node("w-1")) == "required node affinity"
    assert pod_placement.refusal(template(affinity=affinity), node("w-1", disk="fast")) == ""
    assert pod_placement.refusal(template(affinity=affinity), node("w-2")) == ""


def test_without_a_rule_any_number_fits() -> None:
    assert pod_placement.room(template(), [node("w-1")]).most is None
    assert pod_placement.room(template(), []).most == 0


def test_pods_that_are_kept_apart_need_a_node_each() -> None:
    nodes = [node("cp-1", CONTROL_PLANE), node("w-1"), node("w-2")]

    assert pod_placement.room(template(affinity=APART), nodes).most == 2
    assert pod_placement.room(template(affinity=APART, tolerations=[{"operator": "Exists"}]), nodes).most == 3


def test_a_rule_about_other_pods_keeps_no_replicas_apart() -> None:
    rule = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    other = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}

    assert pod_placement.room(template(affinity=other), [node("w-1")]).most is None


def test_pods_apart_by_zone_need_a_zone_each() -> None:
    rule = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    nodes = [node("w-1", zone="a"), node("w-2", zone="a"), node("w-3", zone="b")]

    assert pod_placement.room(template(affinity=apart), nodes).most == 2
    assert pod_placement.room(template(affinity=apart), [*nodes, node("w-4")]).most == 3  # in no zone: beside nobody


def test_a_host_port_keeps_pods_apart() -> None:
    ports = [{"name": "web", "ports": [{"containerPort": 80, "hostPort": 80}]}]

    assert pod_placement.room(template(containers=ports), [node("w-1"), node("w-2")]).most == 2


@pytest.mark.parametrize(
    ("total", "nodes", "now", "rest"),
    [
        (2, 1, 1, "second replica waits for a second node"),
        (3, 2, 2, "third replica waits for a third node"),
        (5, 2, 2, "3 replicas wait for more nodes"),
        (2, 2, 2, ""),
        (2, 3, 2, ""),
        (2, 0, 1, "second replica waits for a second node"),
        (1, 0, 1, ""),
        (9, 8, 8, "1 replicas wait for more nodes"),
    ],
)
def test_as_many_must_be_up_as_the_nodes_take(total: int, nodes: int, now: int, rest: str) -> None:
    value = {"spec": {"replicas": total, "template": template(affinity=APART)}}

    found = replicas.wanted(value, [node(f"w-{number}") for number in range(nodes)])

    assert (found.all, found.now, found.rest) == (total, now, rest)


def test_one_replica_is_wanted_where_nobody_says_how_many() -> None:
    assert replicas.wanted({"spec": {}}, []).all == 1
