"""What kubelets and Talos write of a machine's Node."""

from typing import Any

import msgspec
import pytest

from firstlight.lab import kubelet_objects
from firstlight.lab.machines import machine_node
from firstlight.lab.machines.machine_node import MachineNode, MachineTaint
from firstlight.model import talos_names

NOW = "2026-01-01T00:00:00Z"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
WANTED = MachineNode(
    name="cp-1",
    address="10.5.0.2",
    role="control-plane",
    labels={"zone": "a"},
    taints=(MachineTaint(key=CONTROL_PLANE, effect="NoSchedule"),),
    kubelet_version="v1.36.0",
    os_image="Talos (v1.13.0)",
    cpu=8,
    memory=32 << 30,
    boot_id="first",
    uuid="0fedfbe0-6135-56e3-a851-6cf9f85e3439",
)


def merged(node: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A merge patch, applied."""
    result = dict(node)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key) or {}, value) if isinstance(value, dict) else value
    return result


def ready(conditions: list[dict[str, str]]) -> tuple[str, str]:
    (found,) = [each for each in conditions if each["type"] == "Ready"]
    return found["status"], found["reason"]


def registered() -> dict[str, Any]:
    return machine_node.manifest("m-1", WANTED, now=NOW)


def test_a_node_registers_with_everything_that_is_known_of_it() -> None:
    node = registered()

    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "cp-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        CONTROL_PLANE: "",
        "zone": "a",
    }
    assert node["spec"]["taints"] == [{"key": CONTROL_PLANE, "effect": "NoSchedule"}]
    assert node["status"]["nodeInfo"]["bootID"] == "first"
    assert node["status"]["nodeInfo"]["osImage"] == "Talos (v1.13.0)"
    assert node["status"]["capacity"]["memory"] == "32Gi"
    assert ready(node["status"]["conditions"]) == ("False", "KubeletNotReady")
    assert node["metadata"]["annotations"][machine_node.MACHINE] == "m-1"


def test_a_node_that_is_as_it_should_be_is_not_written() -> None:
    node = registered()

    assert machine_node.as_kubelet(node, "m-1", WANTED, has_network=False, now=NOW) == {}
    assert machine_node.as_talos(node, WANTED) == {}


def test_an_upgrade_and_a_boot_show_in_the_status() -> None:
    later = msgspec.structs.replace(WANTED, boot_id="second", kubelet_version="v1.36.1")

    patch = machine_node.as_kubelet(registered(), "m-1", later, has_network=True, now=NOW)

    assert patch["status"]["nodeInfo"]["bootID"] == "second"
    assert patch["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.1"
    assert "conditions" not in patch["status"]


def test_a_kubelet_that_was_stopped_says_goodbye_once() -> None:
    node = registered()

    patch = machine_node.as_nobody(node, msgspec.structs.replace(WANTED, up=False), now=NOW)

    assert ready(patch["status"]["conditions"]) == ("False", "KubeletNotReady")
    assert patch["status"]["conditions"][0]["message"] == "node is shutting down"
    off = merged(node, {"metadata": patch["metadata"]})
    assert not machine_node.is_on(off)
    assert machine_node.as_nobody(off, msgspec.structs.replace(WANTED, up=False), now=NOW) == {}


def test_a_kubelet_that_was_cut_off_says_nothing() -> None:
    patch = machine_node.as_nobody(registered(), WANTED, now=NOW)

    assert patch == {"metadata": {"annotations": {machine_node.POWER: "off"}}}


@pytest.mark.parametrize(("has_network", "expected"), [(True, "True"), (False, "False")])
def test_a_kubelet_that_is_back_says_everything_again(has_network: bool, expected: str) -> None:
    node = registered()
    off = merged(node, machine_node.as_nobody(node, WANTED, now=NOW))

    patch = machine_node.as_kubelet(off, "m-1", WANTED, has_network=has_network, now=NOW)

    assert ready(patch["status"]["conditions"])[0] == expected
    assert {each["type"] for each in patch["status"]["conditions"]} > {"MemoryPressure", "DiskPressure"}
    assert machine_node.is_on(merged(off, {"metadata": patch["metadata"]}))


def test_what_a_cni_agent_wrote_goes_with_the_disk_and_stays_over_a_reboot() -> None:
    node = merged(registered(), {"metadata": {"annotations": {kubelet_objects.NETWORK_ANNOTATION: "ready"}}})

    rebooted = merged(node, machine_node.as_nobody(node, msgspec.structs.replace(WANTED, up=False), now=NOW))
    reset = merged(rebooted, machine_node.as_nobody(rebooted, None, now=NOW))

    assert kubelet_objects.has_network(rebooted)
    assert not kubelet_objects.has_network(reset)
    assert machine_node.as_nobody(reset, None, now=NOW) == {}


def test_talos_changes_and_removes_what_it_owns_and_nothing_else() -> None:
    node = merged(registered(), {"metadata": {"labels": {"mine": "1", "theirs": "x"}}})
    node["spec"]["taints"].append({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"})
    changed = msgspec.structs.replace(
        WANTED, labels={"zone": "b", "theirs": "y"}, annotations={"rack": "7"},
        taints=(MachineTaint(key="dedicated", effect="NoExecute", value="db"),),
    )  # fmt: skip

    after = merged(node, machine_node.as_talos(node, changed))

    assert after["metadata"]["labels"]["zone"] == "b"
    assert after["metadata"]["labels"]["theirs"] == "x"
    assert after["metadata"]["labels"]["mine"] == "1"
    assert after["metadata"]["annotations"]["rack"] == "7"
    assert [taint["key"] for taint in after["spec"]["taints"]] == ["node.kubernetes.io/unreachable", "dedicated"]
    assert machine_node.as_talos(after, changed) == {}

    bare = merged(
        after, machine_node.as_talos(after, msgspec.structs.replace(WANTED, role="worker", labels={}, taints=()))
    )
    assert bare["metadata"]["labels"].keys() & {"zone", CONTROL_PLANE} == set()
    assert "rack" not in bare["metadata"]["annotations"]
    assert [taint["key"] for taint in bare["spec"]["taints"]] == ["node.kubernetes.io/unreachable"]


def test_a_taint_of_somebody_else_with_the_same_key_stays() -> None:
    node = registered()
    node["metadata"]["annotations"].pop(talos_names.OWNED_TAINTS_ANNOTATION)
    node["spec"]["taints"] = [{"key": CONTROL_PLANE, "effect": "NoExecute"}]

    after = merged(node, machine_node.as_talos(node, WANTED))

    assert after["spec"]["taints"] == [{"key": CONTROL_PLANE, "effect": "NoExecute"}]
