import types
from pathlib import Path
from typing import Any, cast

import msgspec

from firstlight.lab import lab_directory, lab_settings
from firstlight.lab.machines.machine_node import MachineNode
from firstlight.lab.simulations import machine_kubelets
from firstlight.lab.simulations.simulated_cluster import SimulatedCluster


def node(name: str, *, up: bool = True) -> MachineNode:
    return MachineNode(name=name, address="10.5.0.2", up=up)


def test_a_node_is_written_by_the_first_machine_that_runs_under_its_name() -> None:
    said = {"a": node("same"), "b": node("same"), "c": node("other"), "d": node("down", up=False)}

    assert machine_kubelets.claims(["a", "b", "c", "d"], said, {"a", "b", "c", "d"}) == {"same": "a", "other": "c"}
    assert machine_kubelets.claims(["a", "b", "c", "d"], said, {"b", "d"}) == {"same": "b"}


def test_what_machines_say_is_noticed_once(tmp_path: Path) -> None:
    home = lab_directory.LabDirectory(tmp_path / "lab")
    home.make()
    wanted = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=1, workers=0)
    folder = home.machine("cp-1")
    folder.mkdir(parents=True)
    (folder / "hardware.json").write_text('{"uuid": "u"}')
    world = cast(SimulatedCluster, types.SimpleNamespace(home=home, settings=wanted))
    kubelets = machine_kubelets.MachineKubelets(world)

    def say(**content: Any) -> None:
        lab_directory.write_whole(folder / "node.json", msgspec.json.encode({"name": "n", "address": "a", **content}))

    assert not kubelets.look()
    lab_directory.write_whole(home.live, b'{"live": ["cp-1"]}')
    assert kubelets.look()
    say(bootId="one")
    assert kubelets.look()
    assert not kubelets.look()
    (folder / "node.json").unlink()
    assert kubelets.look()
