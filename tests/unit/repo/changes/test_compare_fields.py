"""Values compared: what must hold for all of them."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.model.change import ChangedField, ChangeVerb
from firstlight.repo.changes import compare_fields

NAMES = st.sampled_from(["a", "b", "c", "image", "name", "replicas", "spec"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "y", "1", "true"])


def values(*, keyed: bool) -> st.SearchStrategy[Any]:
    """Values as documents have them; ``keyed`` ones have no lists but those whose items have names."""

    def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        named = st.dictionaries(st.sampled_from(["p", "q", "r"]), st.dictionaries(NAMES, inner, max_size=3), max_size=3)
        items = named.map(lambda each: [{**value, "name": name} for name, value in each.items()])
        plain = st.dictionaries(NAMES, inner, max_size=4)
        return plain | items if keyed else plain | items | st.lists(inner, max_size=4)

    return st.recursive(SCALARS, extend, max_leaves=12)


ANY, KEYED = values(keyed=False), values(keyed=True)


@settings(max_examples=60)
@given(ANY)
def test_a_value_is_itself(value: Any) -> None:
    assert compare_fields.fields(value, copy.deepcopy(value)) == ()


@settings(max_examples=60)
@given(ANY, st.integers(0, 1000))
def test_the_order_of_keys_and_of_named_items_is_no_difference(value: Any, seed: int) -> None:
    assert compare_fields.fields(value, _shuffled(value, random.Random(seed))) == ()


@settings(max_examples=60)
@given(ANY, ANY)
def test_each_field_differs_and_each_difference_is_a_field(before: Any, after: Any) -> None:
    found = compare_fields.fields(before, after)

    for each in found:
        if each.verb is ChangeVerb.CHANGED:
            assert compare_fields.encoded(each.before) != compare_fields.encoded(each.after)
    if not found:
        assert _canonical(before) == _canonical(after)
    same_way = {(each.steps, each.verb) for each in found}
    assert len(same_way) == len(found)


@settings(max_examples=60)
@given(KEYED, KEYED)
def test_fields_make_one_value_of_the_other(before: Any, after: Any) -> None:
    made = _applied(before, compare_fields.fields(before, after))

    assert _canonical(made) == _canonical(after)


@settings(max_examples=60)
@given(KEYED, KEYED)
def test_the_way_back_is_the_reverse(before: Any, after: Any) -> None:
    there, back = compare_fields.fields(before, after), compare_fields.fields(after, before)
    turned = {
        ChangeVerb.ADDED: ChangeVerb.REMOVED,
        ChangeVerb.REMOVED: ChangeVerb.ADDED,
        ChangeVerb.CHANGED: ChangeVerb.CHANGED,
    }

    assert {(each.steps, each.verb) for each in there} == {(each.steps, turned[each.verb]) for each in back}


def test_true_is_not_one() -> None:
    (found,) = compare_fields.fields({"a": True}, {"a": 1})

    assert (found.before, found.after) == (True, 1)


def test_null_is_not_nothing() -> None:
    assert [each.verb for each in compare_fields.fields({"a": None}, {})] == [ChangeVerb.REMOVED]


def test_an_item_in_front_of_many() -> None:
    before = [{"to": [{"n": n}]} for n in range(50)]

    assert [each.path for each in compare_fields.fields(before, [{"to": []}, *before])] == ["[0].to"]


def test_items_that_two_keys_tell_apart() -> None:
    before = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
    after = {"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}, {"port": 53, "protocol": "UDP"}]}

    assert [each.path for each in compare_fields.fields(before, after)] == ["ports[port=53,protocol=TCP].name"]


def test_variables_that_refer_to_each_other_have_an_order() -> None:
    one, two, three = {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "C", "value": "3"}

    assert compare_fields.fields({"env": [one, three]}, {"env": [three, one]}) == ()
    (found,) = compare_fields.fields({"env": [one, two]}, {"env": [two, one]})
    assert (found.path, found.before) == ("env", ["name=A", "name=B"])


def test_members_of_a_set_have_none() -> None:
    assert compare_fields.fields({"verbs": ["get", "list"]}, {"verbs": ["list", "get"]}) == ()
    (found,) = compare_fields.fields({"verbs": ["get", "list"]}, {"verbs": ["list", "get", "delete"]})
    assert (found.path, found.verb, found.after) == ("verbs[2]", ChangeVerb.ADDED, "delete")
    in_expression = {"key": "a", "operator": "In", "values": ["x", "y"]}
    assert compare_fields.fields(in_expression, {**in_expression, "values": ["y", "x"]}) == ()
    assert compare_fields.fields({"args": ["x", "y"]}, {"args": ["y", "x"]})


def test_long_lists_end() -> None:
    before = [[n] for n in range(3000)]

    assert compare_fields.fields(before, [[n + 5000] for n in range(3000)])


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: _shuffled(value[key], chance) for key in keys}
    if isinstance(value, list):
        made = [_shuffled(each, chance) for each in value]
        if compare_fields.keys_of(value):
            chance.shuffle(made)
        return made
    return value


def _canonical(value: Any) -> Any:
    """A value in which only what counts is left: no empty collections inside, named items by name."""
    if isinstance(value, dict):
        made = {key: _canonical(each) for key, each in value.items()}
        return {key: each for key, each in made.items() if each not in ({}, [], "empty")} or "empty"
    if isinstance(value, list):
        keys = compare_fields.keys_of(value)
        if keys:
            return _canonical({compare_fields.item_label(each, keys): each for each in value})
        return [_canonical(each) for each in value] or "empty"
    return compare_fields.encoded(value)


def _applied(value: Any, found: tuple[ChangedField, ...]) -> Any:
    made = _labelled(value)
    for each in sorted(found, key=lambda field: field.verb is not ChangeVerb.REMOVED):
        made = _set(made, each.steps, each)
    return made


def _labelled(value: Any) -> Any:
    if isinstance(value, list):
        keys = compare_fields.keys_of(value)
        return {compare_fields.item_label(each, keys): _labelled(each) for each in value} if keys else list(value)
    return {key: _labelled(each) for key, each in value.items()} if isinstance(value, dict) else value


def _set(value: Any, steps: tuple[str, ...], field: ChangedField) -> Any:
    if not steps:
        return {} if field.verb is ChangeVerb.REMOVED else field.after
    into = value if isinstance(value, dict) else {}
    inner = _set(into.get(steps[0], {}), steps[1:], field)
    return {**into, steps[0]: inner}


ORDERED = {
    "keys of an EncryptionConfiguration": ("keys", [{"name": "a", "secret": "b"}, {"name": "c", "secret": "d"}]),
    "sources of an Application": ("sources", [{"repoURL": "a", "path": "b"}, {"repoURL": "c", "path": "d"}]),
    "rules of Kyverno": ("rules", [{"name": "a", "mutate": {}}, {"name": "b", "validate": {}}]),
    "search domains of a ResolverConfig": ("domains", ["a.example.org", "b.example.org"]),
}


@pytest.mark.parametrize(("name", "items"), ORDERED.values(), ids=ORDERED)
def test_an_order_that_means_something(name: str, items: list[Any]) -> None:
    assert compare_fields.fields({"spec": {name: items}}, {"spec": {name: items[::-1]}})
