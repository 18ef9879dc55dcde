from typing import Any

import pytest

from firstlight.lab.lab_status import LabStatus, MachineStatus, PartStatus, Power


def lab(*parts: PartStatus, machines: tuple[MachineStatus, ...] = ()) -> LabStatus:
    return LabStatus(name="l", directory="", loopback="", declared="", parts=parts, machines=machines)


def part(state: Any, *, idle: bool = False) -> PartStatus:
    return PartStatus(name="p", what="", reality="real", state=state, idle=idle)


def plane(power: Power) -> MachineStatus:
    return MachineStatus(name="m", endpoint="", address="", power=power, role="control-plane")


def test_a_lab_is_ready_when_all_that_have_something_to_do_are() -> None:
    assert lab(part("ready"), part("slowed"), part("resting", idle=True)).is_ready
    assert not lab(part("ready"), part("resting")).is_ready
    assert not lab().is_ready


@pytest.mark.parametrize(
    ("powers", "expected"),
    [
        (["on"], False),
        (["off"], False),
        (["on", "on", "off"], False),
        (["on", "off", "off"], True),
        (["on", "off"], True),
        (["off", "off", "off"], False),
    ],
)
def test_quorum_is_lost_when_half_are_off_and_some_still_wait(powers: list[Power], expected: bool) -> None:
    assert lab(part("ready"), machines=tuple(map(plane, powers))).has_lost_quorum is expected
