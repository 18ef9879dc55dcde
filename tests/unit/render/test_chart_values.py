"""Values laid over each other, as Helm and as Flux do it."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.place import Place
from firstlight.render import chart_values
from firstlight.render.chart_values import GivenValues, HelmSetting

PLACE = Place("release.yaml", 3)
MAPPINGS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
).filter(lambda value: isinstance(value, dict))


def merged(*pieces: Any, own: dict[str, Any] | None = None) -> dict[str, Any]:
    whole, diagnostics = chart_values.merged(GivenValues(pieces, own))
    assert diagnostics == []
    return whole


class TestLaidOver:
    def test_mappings_are_merged_and_all_else_is_replaced(self) -> None:
        below = {"a": {"x": 1, "y": 2}, "list": [1, 2], "text": "old"}
        above = {"a": {"y": 3}, "list": [9], "text": {"now": "a mapping"}}
        assert chart_values.laid_over(below, above) == {
            "a": {"x": 1, "y": 3}, "list": [9], "text": {"now": "a mapping"},
        }  # fmt: skip

    def test_null_stays_since_it_takes_a_default_of_the_chart_away(self) -> None:
        assert chart_values.laid_over({"a": {"x": 1}}, {"a": None, "b": None}) == {"a": None, "b": None}

    @given(MAPPINGS, MAPPINGS)
    def test_neither_of_them_is_changed(self, below: dict[str, Any], above: dict[str, Any]) -> None:
        before = copy.deepcopy((below, above))
        chart_values.laid_over(below, above)
        assert (below, above) == before

    @given(MAPPINGS, MAPPINGS, MAPPINGS)
    def test_it_does_not_matter_in_which_pairs_it_is_done(
        self, one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]
    ) -> None:
        both = chart_values.laid_over(chart_values.laid_over(one, two), three)
        # Only where a mapping hides something that is none below another mapping could the pairs matter.
        if all(not isinstance(one.get(key), dict) or isinstance(two.get(key, {}), dict) for key in one):
            assert set(both) == set(chart_values.laid_over(one, chart_values.laid_over(two, three)))

    @given(MAPPINGS)
    def test_nothing_changes_nothing(self, value: dict[str, Any]) -> None:
        assert chart_values.laid_over(value, {}) == value == chart_values.laid_over({}, value)


class TestFluxOrder:
    def test_own_values_win_over_references(self) -> None:
        assert merged({"a": 1, "b": 1}, {"b": 2}, own={"a": 3}) == {"a": 3, "b": 2}

    def test_a_single_value_in_a_mapping_of_ones_own_wins_over_it(self) -> None:
        """It is written into the very mapping that is laid over everything at the end."""
        single = HelmSetting("nested.a=single", PLACE)
        assert merged(single, own={"nested": {"a": "own"}}) == {"nested": {"a": "single"}}

    def test_a_single_value_at_the_top_loses_against_ones_own(self) -> None:
        single = HelmSetting("a=single", PLACE)
        assert merged(single, own={"a": "own"}) == {"a": "own"}

    def test_a_single_value_in_a_mapping_that_a_reference_had_before_loses_against_ones_own(self) -> None:
        single = HelmSetting("nested.a=single", PLACE)
        assert merged({"nested": {"z": 1}}, single, own={"nested": {"a": "own"}}) == {"nested": {"z": 1, "a": "own"}}

    def test_a_reference_after_a_single_value_wins_over_it(self) -> None:
        assert merged(HelmSetting("a=single", PLACE), {"a": "later"}) == {"a": "later"}

    def test_what_was_declared_is_not_changed(self) -> None:
        own = {"nested": {"a": "own"}}
        merged(HelmSetting("nested.a=single", PLACE), own=own)
        assert own == {"nested": {"a": "own"}}

    def test_what_cannot_be_set_is_told_and_the_rest_is_kept(self) -> None:
        whole, diagnostics = chart_values.merged(GivenValues(({"a": "text"}, HelmSetting("a.b=1", PLACE)), {"c": 1}))
        assert whole == {"a": "text", "c": 1}
        assert [(each.severity, each.place) for each in diagnostics] == [("error", PLACE)]


@pytest.mark.parametrize("shown", [repr, str])
def test_values_do_not_show_themselves(shown: Any) -> None:
    given = GivenValues(({"password": "s3cret"}, HelmSetting("a=s3cret", PLACE)), {"b": "s3cret"})
    assert "s3cret" not in shown(given)
