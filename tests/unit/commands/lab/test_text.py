from firstlight.commands.lab import text as lab_text
from firstlight.lab.lab_status import LabStatus, MachineStatus

BARE = MachineStatus(name="cp-1", endpoint="127.71.1.11:50000", address="10.5.0.2", power="on")
JOINED = MachineStatus(
    name="cp-2", endpoint="127.71.1.12:50002", address="10.5.0.3", power="off", stage="joined", node="b",
    role="control-plane",
)  # fmt: skip


def status(*machines: MachineStatus) -> LabStatus:
    return LabStatus(
        name="l", directory="/l", loopback="127.71.1.1", declared="10.71.1.1", parts=(), machines=machines,
        followed="cp-2",
    )  # fmt: skip


def test_a_machine_is_shown_with_where_it_is_and_what_it_has_become() -> None:
    assert lab_text.machine_rows(status(BARE, JOINED)) == [
        ["cp-1", "127.71.1.11", "10.5.0.2", "on", "maintenance mode"],
        ["cp-2", "127.71.1.12:50002", "10.5.0.3", "off", "control-plane b, whose control plane runs"],
    ]


def test_bare_machines_are_followed_by_what_to_do_with_them() -> None:
    text = "\n".join(lab_text.next_steps(status(BARE), option=" -n l"))

    assert "talosctl get disks --insecure --nodes 127.71.1.11" in text
    assert "https://127.71.1.1:6443" in text
    assert "firstlight lab kubeconfig -n l" in text


def test_machines_that_are_off_are_said_to_stay_so() -> None:
    text = "\n".join(lab_text.next_steps(status(BARE, JOINED), option=""))

    assert "cp-2 is off, and stays so: firstlight lab machine on cp-2" in text
    assert "export KUBECONFIG" in text


def test_a_lab_without_machines_says_nothing_of_them() -> None:
    text = "\n".join(lab_text.next_steps(status(), option=""))

    assert "kubectl get nodes" in text
    assert "talosctl" not in text
