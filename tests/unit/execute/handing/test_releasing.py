"""What Talos has, told from what machines and nodes say."""

import types
from typing import Any

import pytest

from firstlight import errors
from firstlight.execute.handing import releasing
from firstlight.execute.handing.releasing import TalosState
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.place import Place


def machine(name: str, address: str) -> Machine:
    return Machine(name=name, role=MachineRole.CONTROL_PLANE, place=Place("firstlight.yaml", 1), address=address)


def node(name: str, *addresses: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"addresses": [{"address": each} for each in addresses]}}


ONE, TWO = machine("cp-1", "10.5.0.2"), machine("cp-2", "10.5.0.3")
NAMED = machine("second", "cp-2.example.org")
ALIAS = machine("third", "k8s-c.example.org")


@pytest.mark.parametrize(
    ("planes", "nodes", "strange"),
    [
        ([ONE, TWO], [node("a", "10.5.0.2"), node("cp-2", "192.0.2.7")], ()),
        ([ONE, TWO], [node("a", "10.5.0.2"), node("b", "10.5.0.9", "b")], ("b",)),
        ([ONE, TWO], [node("cp-1", "10.5.0.2"), node("b")], ()),
        # A host name of one does not hide the others.
        ([ONE, NAMED], [node("cp-1", "10.5.0.2"), node("cp-2", "10.5.0.3"), node("cp-3", "10.5.0.4")], ("cp-3",)),
        ([ONE, NAMED], [node("cp-1", "10.5.0.2"), node("cp-2", "10.5.0.3")], ()),
        # Which of the two was declared is not known; that one was not, is.
        ([ONE, ALIAS], [node("cp-1", "10.5.0.2"), node("x", "10.5.0.3")], ()),
        ([ONE, ALIAS], [node("cp-1", "10.5.0.2"), node("x", "10.5.0.3"), node("y", "10.5.0.4")], ("x", "y")),
    ],
)
def test_control_planes_that_nobody_declared(
    planes: list[Machine], nodes: list[dict[str, Any]], strange: tuple[str, ...]
) -> None:
    assert releasing.undeclared(planes, nodes) == strange


def test_one_that_nobody_declared_is_no_release() -> None:
    assert TalosState(configs={"cp-1": ()}).is_released
    assert not TalosState(configs={"cp-1": ()}, undeclared=("cp-2",)).is_released


@pytest.mark.parametrize(
    ("state", "is_half"),
    [
        (TalosState(configs={"cp-1": (), "cp-2": ()}), False),
        (TalosState(configs={"cp-1": ("net",), "cp-2": ("net",)}), False),
        (TalosState(configs={"cp-1": ("net",), "cp-2": ()}), True),
        (TalosState(configs={"cp-1": ("net",), "cp-2": ()}, bare=("cp-2",)), False),
        (TalosState(configs={"cp-1": ()}, silent={"cp-2": "off"}), True),
        (TalosState(configs={"cp-1": ("net",)}, silent={"cp-2": "off"}), False),
        (TalosState(configs={"cp-1": ()}, undeclared=("cp-2",)), True),
        (TalosState(configs={"cp-1": ()}, keys=("_a__ConfigMap",), doomed=("_a__ConfigMap",)), True),
    ],
)
def test_half_released(state: TalosState, is_half: bool) -> None:
    assert state.is_half is is_half


class Way:
    """How a machine is asked that shows these configs."""

    def __init__(self, **configs: object) -> None:
        self.admin = self
        self.configs = configs

    def at(self, machine: Machine) -> str:
        return machine.address

    async def get(self, target: str, type: str) -> tuple[object, ...]:
        return tuple(types.SimpleNamespace(id=id, spec=spec) for id, spec in self.configs.items())


@pytest.mark.parametrize(
    "shown", [{}, {"v1alpha1": None}, {"v1alpha1": "a: 1", "persistent": None}, {"persistent": "a: 1"}]
)
async def test_a_machine_that_shows_no_config_is_silent(shown: dict[str, object]) -> None:
    way: Any = Way(**shown)

    assert await releasing._config(ONE, ["net"], way) == "cp-1 shows no config that can be read"
    with pytest.raises(errors.Refused, match="cp-1 shows no config"):
        await releasing.configs(ONE, way)


async def test_what_cannot_be_parsed_is_not_none() -> None:
    way: Any = Way(v1alpha1="a: [")
    assert isinstance(await releasing._config(ONE, ["net"], way), str)


async def test_the_config_in_force_and_the_one_on_the_disk_count() -> None:
    listing = "cluster: {inlineManifests: [{name: net, contents: ''}]}"
    assert await releasing._config(ONE, ["net"], Way(v1alpha1="a: 1", persistent=listing)) == ("net",)  # type: ignore[arg-type]
    assert await releasing._config(ONE, ["net"], Way(v1alpha1="a: 1", maintenance=listing)) == ()  # type: ignore[arg-type]
