"""The schemas of JSON outputs: every command has one, and they hold what they are said to hold."""

import json

import jsonschema_rs
import pytest

from firstlight.cli import main, output_form
from firstlight.commands.schema import output_schemas
from firstlight.journal import event_lines
from firstlight.lab import lab_directory
from firstlight.model.component import Phase
from firstlight.model.event import RunStarted, StepBrief, StepEnded
from tests import outputs

MISSING: frozenset[str] = frozenset()
"""Commands whose JSON has no schema yet; none may be added."""


def test_every_command_has_a_schema() -> None:
    commands = set(outputs.commands())

    assert len(commands) > 60
    assert commands - set(output_schemas.names()) == MISSING
    assert set(output_schemas.names()) - commands == {output_form.ERROR, output_form.EVENT}


@pytest.mark.parametrize("name", output_schemas.names())
def test_a_schema_is_valid_and_has_an_address_and_a_version(name: str) -> None:
    schema = output_schemas.schema(name)

    jsonschema_rs.validator_for(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://firstlight.dev/schemas/output/v{schema['version']}/{name.replace(' ', '-')}.json"
    described = {key: each.get("description") for key, each in schema["$defs"].items() if key.endswith("Data")}
    assert all(described.values()), described


def test_it_is_printed_by_the_words_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema", "output", "node", "list"]) == 0

    assert json.loads(capsys.readouterr().out) == output_schemas.schema("node list")


def test_the_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema", "output"]) == 0
    assert capsys.readouterr().out.splitlines() == output_schemas.names()

    assert main.run(["schema", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[:2] == ["platform", "rules"]
    assert "output node list" in listed


@pytest.mark.parametrize("words", [["output", "absent"], ["rules", "more"]])
def test_what_does_not_exist_is_a_mistake(words: list[str]) -> None:
    assert main.run(["schema", *words]) == 64


def test_published_schemas_are_open_and_those_of_tests_closed() -> None:
    answer = {"name": "home", "kubeconfig": "/a"}
    published = jsonschema_rs.validator_for(output_schemas.schema("lab kubeconfig"))

    assert published.is_valid({**answer, "new": 1})
    assert not published.is_valid({"name": "home"})
    outputs.check("lab kubeconfig", json.dumps(answer))
    with pytest.raises(AssertionError, match="new"):
        outputs.check("lab kubeconfig", json.dumps({**answer, "new": 1}))


def test_an_answer_that_is_not_declared_fails_its_test(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_directory, "all_labs", list)
    assert main.run(["lab", "list", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"labs": []}

    monkeypatch.setattr(outputs, "validator", lambda name: jsonschema_rs.validator_for(False))
    monkeypatch.setattr(output_schemas, "schema", lambda name: {"type": "string", "$defs": {}})
    with pytest.raises(AssertionError, match="lab list"):
        main.run(["lab", "list", "-o", "json"])


def test_an_error_is_declared() -> None:
    outputs.check("error", json.dumps({"error": {"message": "x", "hint": ""}}))


def test_events_are_declared() -> None:
    step = StepBrief(id="a", phase=Phase.CORE, name="a")
    started = RunStarted(at=1.0, run="r", cluster="home", steps=(step,))
    for event in (started, StepEnded(at=2.0, step="a", verdict="passed")):
        for name in ("event", "up", "node add"):
            outputs.check(name, event_lines.event_line(event).decode())
    with pytest.raises(AssertionError):
        outputs.check("event", json.dumps({"v": 1, "type": "Other", "at": 1.0}))
