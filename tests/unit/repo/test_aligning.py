"""The parts of an alignment that need no rendering: ways, parts of texts, values of charts, documents of files."""

from typing import Any

import pytest

from firstlight.model.component import ObjectId
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.field_edits import chart_edits, derived_values, field_steps, manifest_edits, patch_edits
from firstlight.repo.field_edits.edit_candidates import Steps, WantedField

WEB = ObjectId("apps", "Deployment", "shop", "web")


def wish(steps: Steps, before: Any, after: Any) -> WantedField:
    return WantedField(object=WEB, steps=steps, before=before, after=after)


@pytest.mark.parametrize(
    ("before", "after", "leaf", "found"),
    [
        (2, 5, 2, [5]),
        ("2", "5", 2, [5, "5"]),
        (True, False, True, [False]),
        ("ghcr.io/web:1.1", "ghcr.io/web:1.2", "1.1", ["1.2"]),
        ("ghcr.io/web:1.1", "ghcr.io/web:2", "ghcr.io/web", []),
        ("--port=9090", "--port=9091", 9090, [9091, "9091"]),
        ("info", "debug", "warn", []),
        ("a", "b", "a", ["b"]),
        ("ab", "cb", "a", []),
        ({"a": 1}, {"a": 2}, {"a": 1}, [{"a": 2}]),
        (1, 2, True, []),
    ],
)
def test_what_a_value_must_become(before: Any, after: Any, leaf: Any, found: list[Any]) -> None:
    made = list(derived_values.derived(before, after, leaf))
    assert made == found
    assert [type(each) for each in made] == [type(each) for each in found]


def test_the_same_item_is_found_by_its_name_wherever_it_stands() -> None:
    rendered = {"containers": [{"name": "side"}, {"name": "web", "image": "a"}]}
    written = {"containers": [{"name": "web", "image": "a"}]}
    assert field_steps.found_in(written, ("containers", 1, "image"), of=rendered) == (("containers", 0, "image"), ())
    assert field_steps.found_in(written, ("containers", 1, "args"), of=rendered) == (("containers", 0), ("args",))
    assert field_steps.found_in(written, ("containers", 0, "image"), of=rendered) == (("containers",), (1, "image"))
    assert field_steps.found_in({}, ("containers", 1), of=rendered) == ((), ("containers", 1))


def test_a_value_is_put_and_taken_without_changing_the_original() -> None:
    value = {"a": {"b": [1, 2]}}
    assert field_steps.with_value(value, ("a", "b", 1), 3) == {"a": {"b": [1, 3]}}
    assert field_steps.with_value(value, ("a", "b", 2), 3) == {"a": {"b": [1, 2, 3]}}
    assert field_steps.with_value(value, ("a", "b", 0), ABSENT) == {"a": {"b": [2]}}
    assert field_steps.with_value(value, ("a", "c", "d"), 1) == {"a": {"b": [1, 2], "c": {"d": 1}}}
    assert field_steps.with_value(value, ("a", "b"), ABSENT) == {"a": {}}
    assert value == {"a": {"b": [1, 2]}}


def test_parts_of_a_text_with_variables() -> None:
    assert list(derived_values.literal_parts("https://${HOST}/old", "https://a.b/old", "https://a.b/new")) == [
        "https://${HOST}/new"
    ]
    assert list(derived_values.literal_parts("${COLOUR:=blue}", "blue", "red")) == ["${COLOUR:=red}"]
    assert list(derived_values.literal_parts("${TAG}", "1", "2")) == []


def test_values_that_the_repo_gives_come_before_those_of_the_chart_and_those_that_are_called_so() -> None:
    given = {"web": {"replicas": 2}, "other": 2}
    defaults = {"web": {"replicas": 1, "logs": 2}, "replicaCount": 7}
    found = chart_edits.chart_settings(
        given, defaults, wish(("spec", "replicas"), 2, 5), value={"spec": {"replicas": 2}}
    )
    assert [(each.name, each.value) for each in found] == [
        ("web.replicas", 5), ("other", 5), ("web.logs", 5), ("replicaCount", 5),
    ]  # fmt: skip
    assert [each.rank for each in found] == [0, 0, 10, 20]


def test_a_number_that_is_everywhere_is_not_tried_everywhere() -> None:
    given = {f"a{number}": 1 for number in range(200)}
    assert (
        len(chart_edits.chart_settings(given, {}, wish(("spec", "replicas"), 1, 2), value={}))
        == chart_edits.MOST_SETTINGS
    )


TEXT = "# one\na: 1\n---\n# two\nb: 2\n---\nc: 3\n"


@pytest.mark.parametrize(
    ("text", "index", "left"),
    [
        (TEXT, 0, "# two\nb: 2\n---\nc: 3\n"),
        (TEXT, 1, "# one\na: 1\n---\nc: 3\n"),
        (TEXT, 2, "# one\na: 1\n---\n# two\nb: 2\n"),
        ("---\na: 1\n---\nb: 2\n", 0, "---\nb: 2\n"),
        ("---\na: 1\n---\nb: 2\n", 1, "---\na: 1\n"),
        ("a: |\n  ---\n  x\n---\nb: 2\n", 1, "a: |\n  ---\n  x\n"),
    ],
)
def test_one_document_less(text: str, index: int, left: str) -> None:
    assert manifest_edits.without_document(text, index) == left


@pytest.mark.parametrize(
    ("steps", "after", "is_secret"),
    [
        (("spec", "containers", 0, "env", 0), {"name": "DB_PASSWORD", "value": "hunter2"}, True),
        (("spec", "containers", 0, "env", 0), {"name": "LOG", "value": "debug"}, False),
        (("data", "apiToken"), "abcdefgh", True),
        (("spec", "replicas"), 5, False),
    ],
)
def test_a_secret_is_known_by_its_name(steps: Steps, after: Any, is_secret: bool) -> None:
    assert field_steps.is_secret_field(wish(steps, ABSENT, after)) is is_secret


def test_a_patch_names_items_by_their_keys_and_else_by_their_numbers() -> None:
    value = {"apiVersion": "apps/v1", "spec": {"containers": [{"name": "a"}, {"name": "b", "args": ["x"]}]}}
    merged, numbered = patch_edits.patch_texts(
        wish(("spec", "containers", 1, "image"), ABSENT, "i"), value=value, name="web"
    )
    assert "- name: b\n      image: i" in merged
    assert "path: /spec/containers/1/image" in numbered
    only = list(patch_edits.patch_texts(wish(("spec", "containers", 1, "args", 0), "x", "y"), value=value, name="web"))
    assert only == ['- op: replace\n  path: /spec/containers/1/args/0\n  value: "y"\n']
