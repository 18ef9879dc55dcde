from pathlib import Path

import msgspec
import pytest

from firstlight.lab import lab_directory, lab_settings, loopback_network
from firstlight.lab.control_plane import control_plane_follower, control_plane_parts
from firstlight.lab.machines import virtual_machines
from firstlight.lab.part_keeper import Keeper

NET = loopback_network.LoopbackNetwork(7)
BARE = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=2, workers=0)


@pytest.mark.parametrize(
    ("able", "current", "expected"),
    [
        (set(), "", ""),
        ({"a", "b"}, "", "a"),
        ({"b"}, "a", "b"),
        ({"a", "b"}, "b", "b"),
        ({"c"}, "b", "c"),
        (set(), "b", ""),
    ],
)
def test_a_machine_is_followed_until_it_is_gone_then_the_first_that_can_be(
    able: set[str], current: str, expected: str
) -> None:
    assert control_plane_follower.choose(["a", "b", "c"], able, current=current) == expected


def lab(tmp_path: Path) -> tuple[lab_directory.LabDirectory, dict[str, Keeper]]:
    home = lab_directory.LabDirectory(tmp_path / "lab")
    home.make()
    virtual_machines.prepare_machines(home, NET, BARE)
    programs = {"lab-machine": Path("/p/lab-machine"), "etcd": Path("/p/etcd")}
    parts = [
        *(virtual_machines.machine_part(home, each.name, programs) for each in BARE.machines),
        *control_plane_parts.unknown(),
    ]
    keepers = {
        part.name: Keeper(part, log=home.logs / "x", cwd=home.run, env={}, tls=lambda: None, is_ready=lambda _: False)
        for part in parts
    }
    return home, keepers


def joined(home: lab_directory.LabDirectory, name: str, role: str) -> None:
    node = {"name": name, "address": "10.5.0.2", "role": role}
    (home.machine(name) / "node.json").write_bytes(msgspec.json.encode(node))


async def test_before_a_bootstrap_the_control_plane_waits_and_need_not_be_there(tmp_path: Path) -> None:
    home, keepers = lab(tmp_path)
    joined(home, "cp-1", "control-plane")

    await control_plane_follower.ControlPlaneFollower(home, NET, programs={}, keepers=keepers).look(BARE)

    status = keepers["kube-apiserver"].status()
    assert (status.state, status.detail, status.idle) == ("waiting", "waits for a bootstrap", True)
    assert msgspec.json.decode(home.live.read_bytes())["live"] == []


async def test_after_a_bootstrap_it_is_awaited_unless_all_its_machines_are_off(tmp_path: Path) -> None:
    home, keepers = lab(tmp_path)
    joined(home, "cp-1", "control-plane")
    joined(home, "cp-2", "control-plane")
    home.kubeconfig.touch()
    one = control_plane_follower.ControlPlaneFollower(home, NET, programs={}, keepers=keepers)

    (home.machine("cp-1") / "off").write_text("switched off")
    await one.look(BARE)
    some = keepers["kube-apiserver"].status()
    (home.machine("cp-2") / "off").write_text("switched off")
    await one.look(BARE)
    none = keepers["kube-apiserver"].status()

    assert (some.state, some.detail, some.idle) == ("resting", "waits for a live control-plane machine", False)
    assert (none.detail, none.idle) == ("waits for a live control-plane machine", True)
    assert home.kubeconfig.exists()


async def test_when_every_control_plane_was_reset_the_way_in_is_gone(tmp_path: Path) -> None:
    home, keepers = lab(tmp_path)
    joined(home, "cp-2", "worker")
    home.kubeconfig.touch()
    home.kubeconfig_faults.touch()

    await control_plane_follower.ControlPlaneFollower(home, NET, programs={}, keepers=keepers).look(BARE)

    assert not home.kubeconfig.exists()
    assert not home.kubeconfig_faults.exists()
    assert keepers["kwok"].status().idle
