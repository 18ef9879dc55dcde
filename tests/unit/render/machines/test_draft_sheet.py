"""JSON patches as strategic merge patches."""

from typing import Any

import pytest
import yaml

from firstlight.model.cluster import MachineRole
from firstlight.model.place import Place
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


def documents_of(**value: Any) -> list[Any]:
    made = draft_sheet.patch(Place("firstlight.yaml", 1), value, HOSTNAME, role=MachineRole.CONTROL_PLANE)
    assert made.text is not None
    assert made.documents is not None
    assert list(yaml.safe_load_all(made.text.reveal())) == [value, HOSTNAME]
    return list(yaml.safe_load_all(made.documents.reveal()))


HOSTNAME = {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "cp-1", "auto": "off"}


def test_what_is_declared_is_said_in_documents_too() -> None:
    found = documents_of(
        cluster={"network": {"podSubnets": ["10.42.0.0/16"]}, "allowSchedulingOnControlPlanes": True},
        machine={
            "install": {"diskSelector": {"model": "X*", "size": ">= 1TB"}}, "network": {"interfaces": [{"dhcp": True}]},
        },
    )  # fmt: skip

    assert found == [
        {"machine": {"network": {"interfaces": [{"dhcp": True}]}}},
        {"apiVersion": "v1alpha1", "kind": "KubeNetworkConfig", "podSubnets": ["10.42.0.0/16"]},
        {
            "apiVersion": "v1alpha1", "kind": "KubeNodeConfig",
            "taints": {"node-role.kubernetes.io/control-plane": {"$patch": "delete"}},
        },
        {
            "apiVersion": "v1alpha1", "kind": "UnattendedInstallConfig",
            "provisioning": {
                "diskSelector": {
                    "match": 'glob("X*", disk.model) && disk.size >= 1000000000000u && disk.transport != "" && '
                    "!disk.readonly && !disk.cdrom",
                },
            },
        },
        HOSTNAME,
    ]  # fmt: skip


def test_what_somebody_wrote_has_one_form() -> None:
    assert draft_sheet.patch(Place("talconfig.yaml", 1), {"cluster": {"proxy": {"disabled": True}}}).documents is None
