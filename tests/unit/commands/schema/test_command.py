"""``firstlight schema`` as a user types it."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from firstlight.cli import main
from firstlight.document import yaml_reader

RULES = Path(__file__).parents[4] / "src/firstlight/commands/decide/rules"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> jsonschema_rs.Validator:
    assert main.run(["schema", *arguments]) == 0
    return jsonschema_rs.validator_for(json.loads(capsys.readouterr().out))


def test_of_rules(capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "rules")
    (ours,) = yaml_reader.read((RULES / "90-rest.yaml").read_bytes(), "90-rest.yaml").documents

    assert schema.is_valid(ours.value)
    assert not schema.is_valid({"rules": [{"id": "x"}]})


def test_of_tests(capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "tests")

    assert schema.is_valid({"tests": [{"name": "a", "change": {"kind": "/Namespace"}, "expect": {"risk": "low"}}]})
    assert not schema.is_valid({"rules": []})


def test_of_audit_rules(capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "audit")

    for file in sorted((RULES.parents[1] / "audit/rules").glob("*.yaml")):
        (ours,) = yaml_reader.read(file.read_bytes(), file.name).documents
        assert [str(each) for each in schema.iter_errors(ours.value)] == [], file.name
    assert not schema.is_valid({"rules": [{"id": "x"}]})


def test_of_audit_tests(capsys: pytest.CaptureFixture[str]) -> None:
    schema = printed(capsys, "audit-tests")

    assert schema.is_valid(
        {"tests": [{"name": "a", "rule": "b", "files": {"c.yaml": ""}, "finds": [{"place": "c.yaml"}]}]}
    )
    assert not schema.is_valid({"tests": [{"name": "a", "rule": "b"}]})


def test_of_firstlight_yaml_unless_something_else_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema"]) == main.run(["schema", "platform"]) == 0
    first, second = capsys.readouterr().out.strip().split("\n}\n{")
    assert f"{first}\n}}" == f"{{{second}"
    assert main.run(["schema", "other"]) == 64
