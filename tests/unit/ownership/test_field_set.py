"""Sets of fields: their algebra, and their form on the wire."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.ownership.field_set import FieldSet, Path, path_text, plain

FIELDS: dict[str, Any] = {
    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
    "f:spec": {
        "f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}, "f:name": {}}},
        "f:finalizers": {'v:"a"': {}},
        "f:selector": {},
    },
}
_keys = st.sampled_from(
    ["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"port":53,"protocol":"TCP"}', 'v:"a"', "v:1", "i:0"]
)
_sets = st.frozensets(st.lists(_keys, min_size=1, max_size=4).map(tuple), max_size=8).map(FieldSet)


def test_what_the_server_wrote_comes_back_as_it_was() -> None:
    assert FieldSet.of(FIELDS).v1() == FIELDS


def test_leaves_and_things_themselves() -> None:
    fields = FieldSet.of(FIELDS)
    assert ("f:metadata", "f:labels", ".") in fields.leaves()
    assert ("f:metadata", "f:labels", "f:app") in fields.leaves()
    assert fields.has(("f:metadata", "f:labels"))
    assert fields.has(("f:metadata", "f:labels", "."))
    assert not fields.has(("f:metadata",))
    assert not fields.has(("f:spec", "f:containers"))
    assert len(fields) == len(fields.leaves()) == 7


def test_what_is_below_a_path() -> None:
    item = ("f:spec", "f:containers", 'k:{"name":"web"}')
    below = {item, (*item, "f:image"), (*item, "f:name")}
    assert FieldSet.of(FIELDS).under((*item, ".")) == FieldSet.made(below)


@pytest.mark.parametrize("nothing", [None, {}, {".": {}}])
def test_nothing(nothing: Any) -> None:
    assert not FieldSet.of(nothing)
    assert FieldSet.of(nothing).v1() == {}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:containers", 'k:{"name":"web"}', "f:image"), "spec.containers[name=web].image"),
        (("f:spec", "f:ports", 'k:{"port":53,"protocol":"UDP"}', "."), "spec.ports[port=53,protocol=UDP]"),
        (("f:metadata", "f:finalizers", 'v:"example.org/x"'), 'metadata.finalizers["example.org/x"]'),
        (("f:metadata", "f:annotations", "f:example.org/x"), "metadata.annotations[example.org/x]"),
        (("f:a", "i:3"), "a[3]"),
        (("f:a", "k:no json"), "a[no json]"),
        (("f:a", "k:[1]"), "a[[1]]"),
    ],
)  # fmt: skip
def test_for_people(path: Path, text: str) -> None:
    assert path_text(path) == text


@given(one=_sets, two=_sets, three=_sets)
def test_laws(one: FieldSet, two: FieldSet, three: FieldSet) -> None:
    assert one | two == two | one
    assert (one | two) | three == one | (two | three)
    assert one | one == one
    assert one - one == FieldSet()
    assert (one - two) - three == one - (two | three)
    assert (one - two) | (one & two) == one
    assert not (one - two) & two


@given(one=_sets)
def test_round_trip(one: FieldSet) -> None:
    assert FieldSet.of(json.loads(json.dumps(one.v1()))) == one
    assert FieldSet.made(one.leaves()) == one
    assert all(one.has(path) for path in one.leaves())
    assert {plain(path) for path in one.leaves()} == one.paths
