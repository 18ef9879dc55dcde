"""Cases of the doctor: what is seen, and the one cause that must be on top."""

import functools
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.doctor import root_causes, symptoms
from firstlight.commands.doctor.symptoms import Diagnosis
from tests.unit.commands.doctor import scenes

_PLACE = Path(__file__).parents[3] / "scenarios" / "doctor"


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


BASES = _read(_PLACE / "_bases.yaml")
CASES: dict[str, Any] = {path.stem: _read(path) for path in sorted(_PLACE.glob("[a-z0-9]*.yaml"))}


@functools.cache
def diagnosed(name: str) -> Diagnosis:
    """What the doctor says of a case."""
    return root_causes.diagnose(scenes.scene(CASES[name], BASES))


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    """The expected cause is on top, alone unless the case says otherwise, with its effects beneath."""
    case = CASES[name]
    expected, diagnosis = case["expect"], diagnosed(name)
    told = [
        f"{cause.symptom.key}: {cause.symptom.message} -> {[each.key for each in cause.effects]}"
        for cause in diagnosis.causes
    ]
    if expected == "nothing":
        assert not told
        return
    assert told, "nothing was found"
    top = diagnosis.causes[0]
    assert top.symptom.key == expected["root"], told
    assert top.symptom.evidence, "no evidence"
    assert all(each.text for each in top.symptom.evidence), "evidence that says nothing"
    assert expected.get("says", "") in top.symptom.message
    assert any(expected.get("next", "") in each.command for each in top.symptom.next), top.symptom.next
    if "layer" in expected:
        assert top.symptom.layer.name.lower() == expected["layer"]
    assert [each.key for each in top.effects] == expected.get("effects", []), told
    assert [each.symptom.key for each in diagnosis.causes[1:]] == expected.get("also", []), told


def test_every_code_has_a_case() -> None:
    """Each code is a root or an effect somewhere."""
    found = {
        each.code for name in CASES for cause in diagnosed(name).causes for each in (cause.symptom, *cause.effects)
    }

    assert found == set(symptoms.cards())


def test_every_case_with_a_cause_has_a_next_command() -> None:
    """Whatever is wrong, there is something to type next."""
    for name in CASES:
        for cause in diagnosed(name).causes:
            assert cause.symptom.next, (name, cause.symptom.key)
            assert cause.symptom.message, name
            assert not cause.symptom.message.endswith("."), name
