"""Whatever stands in an object, an event or a log, the doctor has an answer: clusters hold objects of strangers."""

import copy
import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.commands.doctor import error_messages, root_causes
from tests.unit.commands.doctor import scenes, test_cases
from tests.unit.gates.test_hostile import JSON

EXAMPLES = int(os.environ.get("FIRSTLIGHT_EXAMPLES", "150"))
FILLED = [name for name, case in test_cases.CASES.items() if case.get("objects")]


def _paths(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [at] if at else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        found += _paths(each, (*at, key))
    return found


def _damaged(value: Any, path: tuple[str | int, ...], damage: Any) -> Any:
    made = copy.deepcopy(value)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = damage
    return made


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_a_damaged_object_is_diagnosed(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FILLED))
    scene = scenes.scene(test_cases.CASES[name], test_cases.BASES)
    objects = list(scene.objects)
    number = data.draw(st.integers(max(0, len(objects) - 6), len(objects) - 1))
    path = data.draw(st.sampled_from(_paths(objects[number])))
    objects[number] = _damaged(objects[number], path, data.draw(JSON))
    damaged = scenes.again(scene, objects=tuple(objects))

    root_causes.diagnose(damaged)
    error_messages.wanted_logs(damaged)


@settings(max_examples=EXAMPLES, deadline=None)
@given(value=st.dictionaries(st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), JSON))
def test_any_object_is_diagnosed(value: dict[str, Any]) -> None:
    scene = scenes.scene({"base": "flux"}, test_cases.BASES)
    root_causes.diagnose(scenes.again(scene, objects=(*scene.objects, value), events=(value,)))


def test_messages_are_told_on_one_line() -> None:
    """What strangers write does not break the screen."""
    scene = scenes.scene(test_cases.CASES["git-reference"], test_cases.BASES)
    objects = copy.deepcopy(list(scene.objects))
    for each in objects:
        for condition in each.get("status", {}).get("conditions", []) if isinstance(each, dict) else []:
            condition["message"] += "\n\x1b[31m" + "x" * 10_000
    diagnosis = root_causes.diagnose(scenes.again(scene, objects=tuple(objects)))

    for cause in diagnosis.causes:
        for line in (cause.symptom.message, *(one.text for one in cause.symptom.evidence)):
            assert line.isprintable()
            assert len(line) < 1_000
