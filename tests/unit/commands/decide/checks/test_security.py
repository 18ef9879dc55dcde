"""What exposes more than before."""

from typing import Any

import pytest

from firstlight.commands.decide.checks import security
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import ObjectPair
from firstlight.model.component import ObjectId
from firstlight.model.decision import CheckState
from firstlight.model.place import Place

FAILED, PERSON = CheckState.FAILED, CheckState.PERSON


def deployment(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    inner = {"containers": [{"name": "web", **(container or {})}], **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "web"},
        "spec": {"template": {"spec": inner}},
    }


def namespace(level: str = "") -> dict[str, Any]:
    labels = {"pod-security.kubernetes.io/enforce": level} if level else {}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "labels": labels}}


def policy(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "web"}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def added(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[CheckAnswer]:
    one = ObjectPair(id=ObjectId.of(after or before or {}), place=Place("web.yaml", 4), before=before, after=after)
    return security.added_exposures(one)


def codes(found: list[CheckAnswer]) -> list[str]:
    return [each.diagnostic.code for each in found if each.diagnostic is not None]


@pytest.mark.parametrize(
    ("after", "state", "says"),
    [
        (deployment({"securityContext": {"privileged": True}}), FAILED, "container web is privileged"),
        (deployment(hostNetwork=True), FAILED, "its pods use the node's network (hostNetwork)"),
        (deployment(hostPID=True), FAILED, "its pods use the node's processes (hostPID)"),
        (deployment(volumes=[{"name": "x", "hostPath": {"path": "/var"}}]), FAILED, "see /var of the node (hostPath)"),
        (
            deployment({"securityContext": {"capabilities": {"add": ["CAP_SYS_ADMIN", "NET_BIND_SERVICE"]}}}),
            FAILED,
            "container web has the capability SYS_ADMIN",
        ),
        (deployment({"securityContext": {"runAsUser": 0}}), PERSON, "container web runs as root"),
        (deployment(securityContext={"runAsUser": 0}), PERSON, "container web runs as root"),
        (
            deployment({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}),
            PERSON,
            "container web has the Secret s in its environment",
        ),
        (deployment({"envFrom": [{"secretRef": {"name": "s"}}]}), PERSON, "has all of the Secret s"),
        (deployment({"ports": [{"containerPort": 1, "hostPort": 80}]}), PERSON, "opens port 80 of the node"),
    ],
)
def test_what_a_pod_may(after: dict[str, Any], state: CheckState, says: str) -> None:
    for before in (deployment(), None):
        (found,) = added(before, after)
        assert found.state == state
        assert says in found.message
        assert found.message.startswith("Deployment web/web: ")
        assert found.place == Place("web.yaml", 4)
        assert codes([found]) == ["exposure-added"]
    assert added(after, after) == []
    assert added(after, deployment()) == []
    assert added(after, None) == []


def test_what_only_moves_to_another_container_is_told() -> None:
    before = deployment({"securityContext": {"privileged": True}})
    after = deployment({"name": "other", "securityContext": {"privileged": True}})

    assert [each.message for each in added(before, after)] == ["Deployment web/web: container other is privileged"]


def test_levels_of_pod_security() -> None:
    assert [each.message for each in added(namespace("restricted"), namespace("baseline"))] == [
        "Namespace web enforces baseline instead of restricted pods"
    ]
    assert added(namespace("baseline"), namespace())[0].state == FAILED
    assert codes(added(namespace("baseline"), namespace())) == ["pod-security-lowered"]
    assert added(namespace("baseline"), namespace("restricted")) == []
    assert added(None, namespace()) == []
    assert added(namespace("baseline"), {**namespace("baseline"), "spec": {}}) == []


def test_policies() -> None:
    assert [(each.state, each.message) for each in added(policy(), None)] == [
        (FAILED, "NetworkPolicy web/web is removed, and allows what it forbade")
    ]
    assert [each.state for each in added(policy(), policy(ingress=[{}]))] == [PERSON]
    assert codes([*added(policy(), None), *added(policy(), policy(ingress=[{}]))]) == [
        "policy-removed",
        "policy-changed",
    ]
    assert added(None, policy()) == []


def test_services_that_are_reached_from_outside() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "ClusterIP"}}

    assert [each.state for each in added(service, {**service, "spec": {"type": "LoadBalancer"}})] == [PERSON]
    assert [each.state for each in added(service, {**service, "spec": {"externalIPs": ["10.0.0.1"]}})] == [FAILED]


def test_what_is_live_and_not_in_git() -> None:
    declared = ObjectPair(id=ObjectId("apps", "Deployment", "web", "web"), place=Place(""), after=deployment())

    (found,) = security.live_only_exposures(declared, deployment({"securityContext": {"privileged": True}}))

    assert found.message == "Deployment web/web as it is: container web is privileged, which Git does not say"
    assert security.live_only_exposures(declared, deployment()) == []
