"""Gates that firstlight.yaml declares: read into components, or refused with the place and what to write instead."""

from pathlib import Path

import pytest

from firstlight.model import own_gates
from firstlight.model.component import Component
from firstlight.repo import platform_reader

HEAD = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\nclusters: {home: {}}\n"
HELMFILE = "releases:\n  - {name: db, namespace: data, chart: charts/db}\n"
WATCHED = "apiVersion: postgresql.cnpg.io/v1, kind: Cluster, namespace: data, name: db"


def read(path: Path, gates: str) -> tuple[Component | None, list[str]]:
    (path / "helmfile.yaml").write_text(HELMFILE)
    (path / "firstlight.yaml").write_text(f"{HEAD}components:\n  db:\n    gates:\n{gates}")
    found = platform_reader.read(path)
    diagnostics = [
        f"{each.code} {each.place}: {each.message} | {each.fix}"
        for each in found.diagnostics
        if each.place.path == "firstlight.yaml"
    ]
    return next((each for each in found.components if each.name == "db"), None), diagnostics


def test_each_kind_of_gate_is_read(tmp_path: Path) -> None:
    component, problems = read(
        tmp_path,
        f"""\
      - condition: {{{WATCHED}}}
      - condition: {{{WATCHED}, type: Archiving, status: "False"}}
      - field: {{{WATCHED}, path: status.readyInstances, equals: 3}}
      - cel: {{{WATCHED}, expression: object.status.readyInstances >= 2}}
      - http: {{url: "https://db.example.org/healthz", status: 204, timeout: 2.5}}
      - command: {{run: [./check, --quick]}}
""",
    )

    assert problems == []
    assert component is not None
    ready, archiving, field, cel, http, command = component.gates
    watched = own_gates.WatchedObject(api_version="postgresql.cnpg.io/v1", kind="Cluster", namespace="data", name="db")
    assert isinstance(ready, own_gates.ConditionGate)
    assert (ready.object, ready.type, ready.status) == (watched, "Ready", "True")
    assert isinstance(archiving, own_gates.ConditionGate)
    assert (archiving.type, archiving.status) == ("Archiving", "False")
    assert isinstance(field, own_gates.FieldGate)
    assert (field.path, field.equals) == ("status.readyInstances", 3)
    assert isinstance(cel, own_gates.CelGate)
    assert cel.expression == "object.status.readyInstances >= 2"
    assert isinstance(http, own_gates.HttpGate)
    assert (http.url, http.status, http.timeout) == ("https://db.example.org/healthz", 204, 2.5)
    assert isinstance(command, own_gates.CommandGate)
    assert (command.run, command.timeout) == (("./check", "--quick"), 30.0)
    assert str(http.place) == "firstlight.yaml:12:9"


@pytest.mark.parametrize(
    ("gate", "code", "problem"),
    [
        (
            "{}",
            "gate-kind-wrong",
            "8:9: components.db.gates[0] is empty | Write one of condition, field, cel, http, command.",
        ),
        (
            "{http: {url: 'https://example.org'}, command: {run: [a]}}",
            "gate-kind-wrong",
            "8:9: components.db.gates[0] has http and command | Write one of condition, field, cel, http, command.",
        ),
        (
            f"{{field: {{{WATCHED}, path: status..phase, equals: 1}}}}",
            "gate-path-wrong",
            "has no path in status..phase | Write it like status.phase, status.members[0].state or "
            "metadata.labels['example.org/tier'].",
        ),
        (
            "{http: {url: 'ftp://example.org'}}",
            "gate-url-wrong",
            "has a URL that is none | Write http:// or https:// and a host.",
        ),
        (
            "{http: {url: 'http://[x'}}",
            "gate-url-wrong",
            "has a URL that is none | Write http:// or https:// and a host.",
        ),
        (
            "{http: {url: 'https://me:hunter2@example.org'}}",
            "gate-url-with-login",
            "has a login in its URL | Leave it out",
        ),
        (
            "{http: {url: 'https://example.org', status: 99}}",
            "gate-status-wrong",
            "waits for the status 99 | Write a status of HTTP",
        ),
        (
            "{http: {url: 'https://example.org', timeout: 0}}",
            "gate-timeout-wrong",
            "has a timeout that is none | Write seconds, up to 3600.",
        ),
        (
            "{command: {run: [a], timeout: 99999}}",
            "gate-timeout-wrong",
            "has a timeout that is none | Write seconds, up to 3600.",
        ),
        (
            "{command: {run: []}}",
            "field-wrong",
            "components.db.gates[0].command.run is empty | Write at least one entry.",
        ),
        ("{command: {run: a}}", "field-wrong", "components.db.gates[0].command.run must be a list (- item)"),
        (
            "{condition: {kind: Cluster, name: db}}",
            "field-missing",
            "components.db.gates[0].condition.apiVersion is missing",
        ),
        (
            f"{{condition: {{{WATCHED}, status: True}}}}",
            "field-wrong",
            'must be False, True or Unknown | Write it in quotes: "True".',
        ),
        (
            f"{{feild: {{{WATCHED}}}}}",
            "field-unknown",
            "components.db.gates[0].feild is no field | Did you mean field?",
        ),
    ],
)
def test_each_mistake_is_refused_where_it_stands(tmp_path: Path, gate: str, code: str, problem: str) -> None:
    component, problems = read(tmp_path, f"      - {gate}\n")

    assert len(problems) == 1, problems
    assert problems[0].startswith(f"{code} firstlight.yaml:8:")
    assert problem in problems[0]
    assert "hunter2" not in problems[0]
    assert component is None or component.gates == ()


def test_a_wrong_gate_does_not_take_the_others_along(tmp_path: Path) -> None:
    component, problems = read(tmp_path, f"      - {{}}\n      - condition: {{{WATCHED}}}\n")

    assert len(problems) == 1
    assert component is not None
    assert len(component.gates) == 1
