"""What is applied in an owner's place has nothing in it that is others' by declaration."""

from collections.abc import Mapping
from typing import Any

from firstlight.ownership import apply_form, stray_fields
from firstlight.ownership.ignore_paths import Each, Steps
from firstlight.ownership.ignored_fields import IgnoreRules

MANAGER = "kustomize-controller"
WEBHOOK: Steps = ("webhooks", Each(), "clientConfig", "caBundle")


def entry(manager: str, fields: Mapping[str, Any], operation: str = "Apply") -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": fields}


def live(*entries: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "managedFields": list(entries)}, **parts}


def made(value: Mapping[str, Any], seen: Mapping[str, Any], applied: Mapping[str, Any], ignored: IgnoreRules) -> Any:
    after = live(entry(MANAGER, applied))
    return apply_form.form_without_others(value, seen, after, ignored=ignored, manager=MANAGER)


def test_what_is_not_the_managers_is_left_out() -> None:
    value = {"spec": {"replicas": 1, "paused": False}}
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}, "f:paused": {}}}
    seen = live(entry("hpa", {"f:spec": {"f:replicas": {}}}, "Update"), spec={"replicas": 7})
    found = made(value, seen, fields, IgnoreRules(paths=(("spec", "replicas"),)))
    assert found == {"spec": {"paused": False}}
    assert value["spec"]["replicas"] == 1
    assert made(value, seen, fields, IgnoreRules(managers=frozenset({"hpa"}))) == {"spec": {"paused": False}}


def test_what_is_the_managers_keeps_its_live_value() -> None:
    """Left out, it would be removed: nobody else owns it."""
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    seen = live(entry(MANAGER, fields), spec={"replicas": 7})
    ignored = IgnoreRules(paths=(("spec", "replicas"),))
    assert made({"spec": {"replicas": 1}}, seen, fields, ignored) == {"spec": {"replicas": 7}}
    # Git has it no more, as it does when an autoscaler comes.
    assert made({"spec": {}}, seen, {"f:spec": {}}, ignored) == {"spec": {"replicas": 7}}
    assert made({}, seen, {}, ignored) == {"spec": {"replicas": 7}}
    assert made({}, seen, {}, IgnoreRules()) == {}


def test_a_field_of_items() -> None:
    key = 'k:{"name":"x"}'
    fields: dict[str, Any] = {
        "f:webhooks": {key: {".": {}, "f:name": {}, "f:clientConfig": {"f:caBundle": {}, "f:url": {}}}}
    }
    value = {"webhooks": [{"name": "x", "clientConfig": {"caBundle": "Cg==", "url": "u"}}]}
    theirs = [{"name": "x", "clientConfig": {"caBundle": "CA", "url": "other"}}]
    ignored = IgnoreRules(paths=(WEBHOOK,))
    without = {"webhooks": [{"name": "x", "clientConfig": {"url": "u"}}]}
    assert made(value, live(webhooks=theirs), fields, ignored) == without
    kept = made(value, live(entry(MANAGER, fields), webhooks=theirs), fields, ignored)
    assert kept == {"webhooks": [{"name": "x", "clientConfig": {"caBundle": "CA", "url": "u"}}]}
    gone = made({}, live(entry(MANAGER, fields), webhooks=theirs), {}, ignored)
    assert gone == {"webhooks": [{"name": "x", "clientConfig": {"caBundle": "CA"}}]}
    assert made(value, live(webhooks=theirs), fields, IgnoreRules(paths=(("webhooks",),))) == {"webhooks": []}


def test_of_one_value_nothing_is_written_where_a_part_is_others() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:selector": {}, "f:name": {}}}
    value = {"spec": {"selector": {"a": "git", "b": "git"}, "name": "x"}}
    seen = live(entry(MANAGER, fields), spec={"selector": {"a": "live", "b": "live"}, "name": "y"})
    found = made(value, seen, fields, IgnoreRules(paths=(("spec", "selector", "a"),)))
    assert found == {"spec": {"selector": {"a": "live", "b": "live"}, "name": "x"}}


def test_a_map_stays_of_which_one_entry_is_others() -> None:
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}}}
    value = {"metadata": {"labels": {"a": "1", "b": "1"}}}
    found = made(value, live(), fields, IgnoreRules(paths=(("metadata", "labels", "a"),)))
    assert found == {"metadata": {"labels": {"b": "1"}}}


def test_fields_beside_gits_that_are_others_are_not_removed() -> None:
    seen = live(entry("kubectl-edit", {"f:data": {"f:mine": {}, "f:more": {}}}, "Update"),
                data={"mine": "x", "more": "x"})  # fmt: skip
    value = {"data": {"word": "git"}}
    found = stray_fields.stray_fields_of(value, seen, manager=MANAGER)

    def left(ignored: IgnoreRules) -> list[str]:
        return [each.path[-1] for each in apply_form.strays_without_others(found, seen, value=value, ignored=ignored)]

    assert left(IgnoreRules()) == ["f:mine", "f:more"]
    assert left(IgnoreRules(paths=(("data", "mine"),))) == ["f:more"]
    assert left(IgnoreRules(is_merged=True)) == []
    assert left(IgnoreRules(managers=frozenset({"kubectl-edit"}))) == []
    whole = stray_fields.stray_fields_of({}, seen, manager=MANAGER)
    assert [each.path for each in whole] == [("f:data",)]
    assert apply_form.strays_without_others(whole, seen, value={}, ignored=IgnoreRules(paths=(("data", "mine"),))) == ()
