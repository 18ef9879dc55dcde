"""Maps merged as helmfile merges them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo.helmfile import environments, helmfile_reader

MAPS = st.recursive(
    st.dictionaries(st.sampled_from("abc"), st.one_of(st.integers(), st.lists(st.integers(), max_size=2)), max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(MAPS, MAPS)
def test_what_is_on_top_counts(base: dict[str, Any], over: dict[str, Any]) -> None:
    merged = environments.override(base, over)

    assert set(merged) == set(base) | set(over)
    assert all(merged[key] == base[key] for key in set(base) - set(over))
    assert all(merged[key] == over[key] for key in over if not isinstance(over[key], dict))


@given(MAPS, MAPS)
def test_nothing_that_is_merged_is_changed(base: dict[str, Any], over: dict[str, Any]) -> None:
    before = repr(base), repr(over)

    environments.override(base, over)
    environments.layered(base, over)

    assert (repr(base), repr(over)) == before


@given(MAPS)
def test_nothing_on_top_or_below_changes_nothing(value: dict[str, Any]) -> None:
    assert environments.override(value, {}) == environments.override({}, value) == value
    assert environments.layered(value, {}) == environments.layered({}, value) == value


def test_lists_are_joined_for_bases_and_templates_and_replaced_for_values() -> None:
    assert environments.layered({"values": [1]}, {"values": [2]}) == {"values": [1, 2]}
    assert environments.override({"values": [1]}, {"values": [2]}) == {"values": [2]}


def test_what_is_empty_replaces_nothing_in_a_template() -> None:
    assert environments.layered({"version": "1"}, {"version": ""}) == {"version": "1"}


def test_selectors() -> None:
    labels = {"name": "web", "tier": "front"}

    assert helmfile_reader.selects([], labels)
    assert helmfile_reader.selects(["tier=front"], labels)
    assert helmfile_reader.selects(["tier=back", "name=web"], labels), "one of them is enough"
    assert not helmfile_reader.selects(["tier=front,name!=web"], labels), "all parts of one must fit"
    assert helmfile_reader.selects(["other!=x"], labels), "what has no such label is not unequal"
    assert not helmfile_reader.selects(["other=x"], labels)
