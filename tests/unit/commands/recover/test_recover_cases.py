"""Cases of recover: what the doctor says of a scene, and the ways back that must be offered, in their order."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.doctor import root_causes, symptoms
from firstlight.commands.recover import options, text
from firstlight.commands.recover.assessment import Assessment, LocalMeans, RecoveryContext, RecoveryOption
from tests.unit.commands.doctor import scenes, test_cases
from tests.unit.commands.doctor.test_cases import BASES

_PLACE = Path(__file__).parents[3] / "scenarios" / "recover"
_MET = {True: "met", False: "missing", None: "open"}
OWN = {"kubeconfig-missing", "talosconfig-missing", "cluster-wiped", "etcd-data-missing"}
"""What recover finds by itself, without the doctor."""
CASES: dict[str, Any] = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(_PLACE.glob("*.yaml"))}


def assessed(case: dict[str, Any]) -> Assessment:
    """What is said of a case."""
    scene = scenes.scene(case["scene"] if "scene" in case else test_cases.CASES[case["of"]], BASES)
    given = case.get("hand", {})
    hand: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in given.items()}
    return options.judge(RecoveryContext(scene=scene, diagnosis=root_causes.diagnose(scene), hand=LocalMeans(**hand)))


def called(option: RecoveryOption) -> str:
    return f"{option.name} {option.on}".rstrip()


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    """Parts are as they must be said to be, and exactly these options are offered, the best first."""
    case, found = CASES[name], assessed(CASES[name])
    expected = case["expect"]
    if expected == "nothing":
        assert (found.causes, found.options) == ((), ())
        return
    said = {each.name: each.condition.value for each in found.parts}
    assert {key: said[key] for key in expected.get("parts", {})} == expected.get("parts", {})
    assert [called(each) for each in found.options] == expected["options"]
    needs = {called(each): [_MET[one.is_met] for one in each.needs] for each in found.options}
    assert {key: needs[key] for key in expected.get("needs", {})} == expected.get("needs", {})
    answers = {called(each): list(each.answers) for each in found.options}
    assert {key: answers[key] for key in expected.get("answers", {})} == expected.get("answers", {})
    if "by_hand" in expected:
        assert [one.command for each in found.causes for one in each.symptom.next][:1] == expected["by_hand"]


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_told(name: str) -> None:
    """Whatever is broken and whatever helps stands on the page and in the data."""
    found = assessed(CASES[name])

    page, data = text.text(found, now=scenes.NOW, columns=100), text.data(found)

    assert max(map(len, page.splitlines())) <= 100
    assert [each["key"] for each in data["broken"]] == [each.symptom.key for each in found.causes]
    for number, each in enumerate(found.options, 1):
        assert f"  {number} {each.name}" in page
        assert each.risk, "an option that does not say what may be lost"
        if not each.is_by_hand:
            assert each.commands == (f"firstlight recover home --do {each.name}{f' --on {each.on}' * bool(each.on)}",)


def test_the_table_holds_together() -> None:
    """Codes are the doctor's, options are defined, each is offered for something, each need is known."""
    found = options.read_options()
    named = {each.partition(" ")[0] for answer in found.answers for each in answer.options}

    assert {each.code for each in found.answers} - OWN <= set(symptoms.cards())
    assert named == set(found.options)
    assert {need for each in found.options.values() for need in each.needs} <= set(found.needs)
    layers = [layer for each in found.parts.values() for layer in each]
    assert sorted(layers) == sorted({each.layer.name.lower() for each in symptoms.cards().values()})


def test_every_answer_has_a_case() -> None:
    """Whatever the table answers is tried by a scenario; so is every option."""
    offered = {each.name for case in CASES.values() for each in assessed(case).options}

    assert offered == set(options.read_options().options)
