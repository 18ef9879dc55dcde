"""Selectors, times, revisions, paths and expressions."""

import importlib
import types
from typing import Any

import pytest

from firstlight.gates import cel, fields, revisions, selecting, status
from firstlight.model.verdict import Failed, Passed, Waiting

SHA = "3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594"


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
    assert selecting.written(selector) == written


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
    assert selecting.holds(expression, {"cores": "4"}) is holds


def test_an_empty_selector_selects_nothing_here() -> None:
    assert not selecting.matches({}, {"app": "web"})


def test_the_day_is_told_only_where_it_is_another() -> None:
    then, now = status.moment("2026-11-15T23:59:58Z"), status.moment("2026-11-16T00:00:01+00:00")
    assert then is not None
    assert now is not None

    assert status.clock(then, now) == "2026-11-15 23:59:58Z"
    assert status.clock(now, now) == "00:00:01Z"


@pytest.mark.parametrize("written", ["", "yesterday", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_what_is_no_time_is_none(written: str) -> None:
    assert status.moment(written) is None or status.clock(status.moment(written) or 0, 0.0)


def test_a_message_is_told_on_one_short_line() -> None:
    assert status.said("first\n\tsecond\x1b[31m.") == "first second [31m"
    assert len(status.said("x" * 1000)) == 240


@pytest.mark.parametrize(
    ("generation", "observed", "is_seen"),
    [(2, 2, True), (2, 1, False), (1, -1, False), (None, 1, True), (2, None, True)],
)
def test_whether_the_last_change_was_seen(generation: int | None, observed: int | None, is_seen: bool) -> None:
    value = {"metadata": {"generation": generation}, "status": {"observedGeneration": observed}}

    assert status.is_seen(value) is is_seen


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
    assert fields.steps(path) == steps


def test_a_value_at_a_path() -> None:
    value = {"status": {"members": [{"state": "up"}]}}

    assert fields.at(value, "status.members[0].state") == "up"
    assert fields.at(value, "status.members[1].state") is None
    assert fields.at(value, "status.members.state") is None


def test_true_is_not_one() -> None:
    assert not fields.is_equal(True, 1)
    assert fields.is_equal(1, 1.0)
    assert not fields.is_equal("3", 3)


def test_expressions_need_a_library_that_is_not_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> types.ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)

    verdict = cel.judged("object.status.ok", {}, "Cluster data/db")

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

    assert isinstance(cel.judged(expression, {"status": {"ready": 3}}, "Cluster data/db"), kind)
