"""One value over another, in each of Argo CD's ways."""

from typing import Any

import hypothesis
from hypothesis import strategies as st

from firstlight.repo.argocd import definitions

values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["", "a"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


class TestPatched:
    def test_as_rfc_7386_has_it(self) -> None:
        base = {"a": "b", "c": {"d": "e", "f": "g"}}

        assert definitions.json_merge_patch(base, {"a": "z", "c": {"f": None}}) == {"a": "z", "c": {"d": "e"}}
        assert definitions.json_merge_patch({"a": [1, 2]}, {"a": [3]}) == {"a": [3]}

    @hypothesis.given(values, values)
    def test_twice_is_once(self, base: Any, patch: Any) -> None:
        once = definitions.json_merge_patch(base, patch)

        assert definitions.json_merge_patch(once, patch) == once


class TestStrategicallyPatched:
    def test_finalizers_are_added_and_other_lists_replaced(self) -> None:
        base = {"metadata": {"finalizers": ["a"]}, "spec": {"sources": [1, 2], "info": {"x": 1}}}
        patch = {"metadata": {"finalizers": ["b", "a"]}, "spec": {"sources": [3], "info": None}}

        found = definitions.strategic_merge_patch(base, patch)

        assert found == {"metadata": {"finalizers": ["a", "b"]}, "spec": {"sources": [3]}}

    def test_directives(self) -> None:
        base = {"spec": {"a": {"x": 1}, "b": {"y": 2}}}

        found = definitions.strategic_merge_patch(
            base, {"spec": {"a": {"$patch": "replace", "z": 3}, "b": {"$patch": "delete"}}}
        )

        assert found == {"spec": {"a": {"z": 3}, "b": {}}}


class TestFilled:
    def test_what_is_empty_is_filled(self) -> None:
        dest = {"name": "", "labels": {"a": "1"}, "list": [], "own": "kept", "no": False}
        source = {"name": "x", "labels": {"a": "2", "b": "3"}, "list": [1], "own": "y", "no": True, "more": 1}

        found = definitions.mergo_fill(dest, source)

        assert found == {"name": "x", "labels": {"a": "1", "b": "3"}, "list": [1], "own": "kept", "no": True, "more": 1}

    @hypothesis.given(mappings, mappings)
    def test_it_is_the_other_way_round_of_overriding(self, one: Any, other: Any) -> None:
        assert definitions.mergo_fill(one, other) == definitions.mergo_override(other, one)


class TestOver:
    def test_helm_takes_away_by_null(self) -> None:
        merged = definitions.helm_merge({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": [1]}})

        assert merged == {"a": {"c": 2, "d": [1]}}

    @hypothesis.given(mappings)
    def test_over_nothing_is_the_same_without_nulls(self, top: Any) -> None:
        assert set(definitions.helm_merge({}, top)) == {key for key, value in top.items() if value is not None}
