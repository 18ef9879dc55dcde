"""Selectors, times, revisions, paths and expressions."""

import importlib
import types
from typing import Any

import pytest

from firstlight.document import conditions as gates_conditions
from firstlight.engines import revisions
from firstlight.engines.flux import verdicts
from firstlight.gates import label_selector, own_gates, reconciled, replicas
from firstlight.model.observation import GateView
from firstlight.model.own_gates import CelGate, WatchedObject
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Waiting

SHA = "3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594"
LONG = f"{SHA}{SHA[:24]}"
"""A commit of a repository with SHA-256."""


@pytest.mark.parametrize(
    ("selector", "written"),
    [
        ({"matchLabels": {"app": "web", "example.org/tier": ""}}, "app=web,example.org/tier="),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "y"]}]}, "a in (x,y)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]}, "a notin (x)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]}, "a,!b"),
        ({"matchLabels": {"app": "a,b=c"}}, ""),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "a", "operator": "Maybe"}]}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_selector_as_a_watch_takes_it(selector: Any, written: str) -> None:
    assert label_selector.written(selector) == written


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ({"key": "cores", "operator": "Gt", "values": ["3"]}, True),
        ({"key": "cores", "operator": "Gt", "values": ["4"]}, False),
        ({"key": "cores", "operator": "Lt", "values": ["5"]}, True),
        ({"key": "none", "operator": "Lt", "values": ["5"]}, False),
        ({"key": "none", "operator": "NotIn", "values": ["5"]}, True),
        ({"key": "none", "operator": "In", "values": [None]}, False),
        ({"key": "cores", "operator": "In", "values": ["4"]}, True),
    ],
)
def test_expressions(expression: dict[str, Any], holds: bool) -> None:
    assert label_selector.holds(expression, {"cores": "4"}) is holds


def test_an_empty_selector_selects_nothing_here() -> None:
    assert not label_selector.matches({}, {"app": "web"})


def test_the_day_is_told_only_where_it_is_another() -> None:
    then, now = gates_conditions.moment("2026-11-15T23:59:58Z"), gates_conditions.moment("2026-11-16T00:00:01+00:00")
    assert then is not None
    assert now is not None

    assert gates_conditions.clock(then, now) == "2026-11-15 23:59:58Z"
    assert gates_conditions.clock(now, now) == "00:00:01Z"


@pytest.mark.parametrize("written", ["", "yesterday", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_what_is_no_time_is_none(written: str) -> None:
    assert gates_conditions.moment(written) is None or gates_conditions.clock(
        gates_conditions.moment(written) or 0, 0.0
    )


def test_a_message_is_told_on_one_short_line() -> None:
    assert gates_conditions.said("first\n\tsecond\x1b[31m.") == "first second [31m"
    assert len(gates_conditions.said("x" * 1000)) == 240


@pytest.mark.parametrize(
    ("generation", "observed", "is_seen"),
    [(2, 2, True), (2, 1, False), (1, -1, False), (None, 1, True), (2, None, True)],
)
def test_whether_the_last_change_was_seen(generation: int | None, observed: int | None, is_seen: bool) -> None:
    value = {"metadata": {"generation": generation}, "status": {"observedGeneration": observed}}

    assert gates_conditions.is_seen(value) is is_seen


@pytest.mark.parametrize(
    ("revision", "expected", "is_at"),
    [
        (f"main@sha1:{SHA}", SHA, True),
        (f"refs/heads/main@sha1:{SHA}", SHA, True),
        (SHA, SHA, True),
        (f"main@sha1:{'0' * 40}", SHA, False),
        (f"main@sha1:{SHA}", "", True),
        ("latest@sha256:2c1f", SHA, True),
        ("1.2.0", SHA, True),
        (f"latest@sha256:{'0' * 64}", SHA, True),
        (f"main@sha256:{LONG}", LONG, True),
        (LONG, LONG, True),
        (f"main@sha256:{'0' * 64}", LONG, False),
        ("0" * 64, LONG, False),
        (f"main@sha1:{SHA}", LONG, False),
        (f"sha256:{'0' * 64}", LONG, True),
        ("1.2.0", LONG, True),
    ],
)
def test_revisions(revision: str, expected: str, is_at: bool) -> None:
    assert revisions.is_at(revision, expected) is is_at


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/me/fleet",
        "https://git.example.org/me/fleet.git",
        "ssh://git@git.example.org/me/fleet",
        "ssh://git@git.example.org:22/me/fleet.git",
        "git@git.example.org:me/fleet.git",
        "https://user@Git.Example.org/me/fleet/",
    ],
)
def test_one_repository_has_many_urls(url: str) -> None:
    assert revisions.is_same_repository("https://git.example.org/me/fleet", url)
    assert not revisions.is_same_repository("https://git.example.org/me/other", url)
    assert not revisions.is_same_repository("", url)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("status.phase", ("status", "phase")),
        (".status.phase", ("status", "phase")),
        ("status.members[0].state", ("status", "members", 0, "state")),
        ("metadata.labels['example.org/tier']", ("metadata", "labels", "example.org/tier")),
        ('metadata.labels["a.b"].c', ("metadata", "labels", "a.b", "c")),
        ("", None),
        ("status..phase", None),
        ("status[x]", None),
        ("status phase", None),
        ("status[0]phase", None),
        ("$.status", None),
    ],
)
def test_paths(path: str, steps: tuple[str | int, ...] | None) -> None:
    assert own_gates.field_steps(path) == steps


def test_a_value_at_a_path() -> None:
    value = {"status": {"members": [{"state": "up"}]}}

    assert own_gates.field_at(value, "status.members[0].state") == "up"
    assert own_gates.field_at(value, "status.members[1].state") is None
    assert own_gates.field_at(value, "status.members.state") is None


def test_true_is_not_one() -> None:
    assert not own_gates.is_equal(True, 1)
    assert own_gates.is_equal(1, 1.0)
    assert not own_gates.is_equal("3", 3)


def test_expressions_need_a_library_that_is_not_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> types.ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)

    verdict = own_gates.judged_by_cel("object.status.ok", {}, "Cluster data/db")

    assert isinstance(verdict, Failed)
    assert verdict.reason.endswith("which is not there: install firstlight with it: pip install 'firstlight[cel]'")


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("object.status.ready >= 2", Passed),
        ("object.status.ready >= 4", Waiting),
        ("object.status.never == 1", Waiting),
        ("object.status.ready >=", Failed),
    ],
)
def test_expressions_over_objects(expression: str, kind: type) -> None:
    pytest.importorskip("celpy")

    assert isinstance(own_gates.judged_by_cel(expression, {"status": {"ready": 3}}, "Cluster data/db"), kind)


@pytest.mark.parametrize(("kind", "is_told"), [("Secret", False), ("ConfigMap", True)])
def test_what_the_library_says_of_a_secret_is_not_told(
    monkeypatch: pytest.MonkeyPatch, kind: str, is_told: bool
) -> None:
    class Environment:
        def compile(self, expression: str) -> str:
            return expression

        def program(self, compiled: str) -> "Environment":
            return self

        def evaluate(self, given: dict[str, Any]) -> bool:
            raise ValueError(f"no such overload: {given['object']['data']['password']!r} > 1")

    library = types.SimpleNamespace(Environment=Environment, json_to_cel=dict)
    monkeypatch.setattr(importlib, "import_module", lambda name: library)
    watched = WatchedObject(api_version="v1", kind=kind, namespace="data", name="db")
    gate = CelGate(place=Place("firstlight.yaml", 1), object=watched, expression="object.data.password > 1")
    part = own_gates._part(gate, Gate(subject=Subject.OWN))
    value = {"kind": kind, "data": {"password": "aHVudGVyMg=="}}

    verdict = part.judge(GateView(objects={part.looks[0]: (value,)}, now=0.0))

    assert isinstance(verdict, Waiting)
    assert "object.data.password > 1 has no answer yet" in verdict.reason
    assert ("aHVudGVyMg==" in verdict.reason) is is_told


@pytest.mark.parametrize("judged", [replicas.stateful_set, replicas.deployment, replicas.replica_set])
def test_where_none_is_wanted_those_that_are_left_must_go(judged: Any) -> None:
    value = {"spec": {"replicas": 0}, "status": {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}}

    assert judged(value, []) == Waiting("3 replicas must go")
    assert judged({"spec": {"replicas": 0}, "status": {}}, []) == Passed("0/0, as declared")


@pytest.mark.parametrize(
    ("generation", "observed", "conditions", "is_seen"),
    [
        (5, 1, [], False),
        (5, 1, [{"type": "Ready", "status": "True", "observedGeneration": 1}], False),
        (5, 5, [], True),
        (5, 4, [{"type": "Reconciling", "status": "True", "observedGeneration": 5}], True),
        (1, -1, [{"type": "Reconciling", "status": "True", "observedGeneration": 1}], True),
        (1, -1, [], False),
        (1, None, [{"type": "Ready", "status": "True"}], True),
        (1, None, [], False),
    ],
)
def test_a_root_is_seen_at_its_last_generation(
    generation: int, observed: int | None, conditions: list[dict[str, Any]], is_seen: bool
) -> None:
    status = {"conditions": conditions} | ({} if observed is None else {"observedGeneration": observed})

    live = {"kind": "Kustomization", "metadata": {"generation": generation}, "status": status}

    assert verdicts.is_seen(live) is is_seen


@pytest.mark.parametrize(
    ("kind", "revision", "made_from", "kind_of_verdict"),
    [
        ("GitRepository", f"main@sha256:{'0' * 64}", "", Waiting),
        ("GitRepository", f"main@sha256:{LONG}", "", Passed),
        ("OCIRepository", f"latest@sha256:{'0' * 64}", "", Passed),
        ("OCIRepository", f"latest@sha256:{'0' * 64}", f"main@sha256:{'1' * 64}", Waiting),
        ("OCIRepository", f"latest@sha256:{'0' * 64}", f"main@sha256:{LONG}", Passed),
    ],
)
def test_a_digest_is_no_commit(kind: str, revision: str, made_from: str, kind_of_verdict: type) -> None:
    artifact = {"revision": revision, "metadata": {"org.opencontainers.image.revision": made_from}}
    value = {"kind": kind, "status": {"artifact": artifact, "conditions": [{"type": "Ready", "status": "True"}]}}

    assert isinstance(reconciled.source_verdict(value, "fleet", revision=LONG, now=0.0), kind_of_verdict)
