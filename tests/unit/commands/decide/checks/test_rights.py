"""Rights of roles: what is covered by what, and what a change adds."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from firstlight.commands.decide.checks import security
from firstlight.commands.decide.checks.check_input import ObjectPair
from firstlight.model.component import ObjectId
from firstlight.model.place import Place

READ = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


def role(*rules: dict[str, Any], kind: str = "ClusterRole") -> dict[str, Any]:
    return {"apiVersion": f"{security.GROUP}/v1", "kind": kind, "metadata": {"name": "web"}, "rules": list(rules)}


def binding(name: str, *subjects: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{security.GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "web"},
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": "web", "name": each} for each in subjects],
    }


def pair(before: dict[str, Any] | None, after: dict[str, Any] | None) -> ObjectPair:
    return ObjectPair(id=ObjectId.of(after or before or {}), place=Place("rbac.yaml", 3), before=before, after=after)


def widened(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[str]:
    return [*security.widened(pair(before, after))]


def test_the_same_and_less_is_nothing_new() -> None:
    assert widened(role(READ), role(READ)) == []
    assert widened(role(READ), role({**READ, "verbs": ["get"]})) == []
    assert widened(role({**READ, "verbs": ["*"]}), role(READ)) == []
    assert widened(role({**READ, "resources": ["*"]}), role(READ)) == []
    assert widened(role(READ), role({**READ, "resourceNames": ["one"]})) == []


def test_the_same_in_other_rules_is_nothing_new() -> None:
    parts = [{**READ, "verbs": ["get"]}, {**READ, "verbs": ["list"]}]

    assert widened(role(READ), role(*parts)) == []
    assert widened(role(*parts), role(READ)) == []


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({**READ, "verbs": ["get", "delete"]}, "delete pods"),
        ({**READ, "resources": ["pods", "pods/log"]}, "get pods/log, list pods/log"),
        ({**READ, "apiGroups": ["apps"]}, "get pods.apps, list pods.apps"),
        ({**READ, "verbs": ["*"]}, "* pods"),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, "get /metrics"),
    ],
)
def test_what_is_new(rule: dict[str, Any], says: str) -> None:
    assert widened(role(READ), role(READ, rule)) == [f"ClusterRole web allows {says}"]


def test_without_a_name_all_are_meant() -> None:
    assert widened(role({**READ, "resourceNames": ["one"]}), role(READ)) != []


def test_a_new_role_has_what_it_is_for_and_is_only_told_where_it_is_dangerous() -> None:
    assert widened(None, role(READ)) == []
    secrets = {**READ, "resources": ["secrets"]}
    assert widened(None, role(secrets)) == ["ClusterRole web allows get secrets, list secrets"]
    assert widened(None, role({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})) == [
        "ClusterRole web allows * *.*"
    ]


def test_prefixes_of_urls_and_subresources() -> None:
    urls = {"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]}
    assert widened(role(urls), role({**urls, "nonResourceURLs": ["/healthz/etcd"]})) == []
    assert widened(role({**READ, "resources": ["*/scale"]}), role({**READ, "resources": ["deployments/scale"]})) == []
    assert widened(role({**READ, "resources": ["*/scale"]}), role({**READ, "resources": ["deployments"]})) != []


def test_bindings() -> None:
    assert widened(binding("view", "a"), binding("view", "a")) == []
    assert widened(binding("view", "a"), binding("view", "a", "b")) == [
        "ClusterRoleBinding web gives view to ServiceAccount web/b"
    ]
    assert widened(binding("view", "a"), binding("edit", "a")) != []
    assert widened(None, binding("view", "a")) == []
    assert widened(None, binding("cluster-admin", "a")) == [
        "ClusterRoleBinding web gives cluster-admin to ServiceAccount web/a"
    ]
    assert widened(binding("cluster-admin", "a"), None) == []


WORDS = st.lists(st.sampled_from(["*", "a", "b", "a/x", "*/x"]), min_size=1, max_size=2)
RULE = st.fixed_dictionaries({"apiGroups": WORDS, "resources": WORDS, "verbs": WORDS})


@hypothesis.given(st.lists(RULE, max_size=3), st.lists(RULE, max_size=3))
def test_nothing_is_new_in_a_part_of_it(before: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    assert widened(role(*before, *more), role(*before)) == []


@hypothesis.given(st.lists(RULE, max_size=2), RULE, st.sampled_from(["a", "b"]), st.sampled_from(["a", "b"]))
def test_what_one_allows_the_other_covers(
    before: list[dict[str, Any]], rule: dict[str, Any], resource: str, verb: str
) -> None:
    """A right that is not called new must be one that the old role gives."""
    new = {**rule, "resources": [resource], "verbs": [verb], "apiGroups": ["a"]}
    gives = any(
        {"*", "a"} & {*each["apiGroups"]} and {"*", resource} & {*each["resources"]} and {"*", verb} & {*each["verbs"]}
        for each in before
    )

    assert (widened(role(*before), role(new)) == []) is gives
