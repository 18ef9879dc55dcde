"""What programs print, taken apart and put together."""

from firstlight.model.place import Place
from firstlight.render import rendered_objects

PLACE = Place("a.yaml")


def test_separators_stand_at_the_start_of_a_line() -> None:
    text = "---\na: 1\n--- # note\nb: |\n  ---\n  text\n---\n\n---\nc: 3"
    assert [each.strip() for each in rendered_objects.split_documents(text)] == ["a: 1", "b: |\n  ---\n  text", "c: 3"]


def test_joined_documents_are_those_that_were_split() -> None:
    text = "a: 1\n---\nb: |+\n  x\n\n---\nc: 3\n"
    assert rendered_objects.split_documents(
        rendered_objects.join_documents(rendered_objects.split_documents(text))
    ) == rendered_objects.split_documents(text)


def test_lists_are_taken_apart_in_order() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
        "  - {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}\n"
        "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
    )
    objects, diagnostics = rendered_objects.parse_objects(text, PLACE, what="it")
    assert [each.id.name for each in objects] == ["a", "b", "c"]
    assert diagnostics == []


def test_what_is_no_object_is_told_and_the_others_are_kept() -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n- 1\n---\napiVersion: v1\nkind: Pod\n---\nkind: x\n"
    )
    objects, diagnostics = rendered_objects.parse_objects(text, PLACE, what="it")
    assert [each.id.name for each in objects] == ["a"]
    assert [each.severity for each in diagnostics] == ["error"] * 3


def test_a_name_that_is_made_later_will_do() -> None:
    objects, diagnostics = rendered_objects.parse_objects(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n", PLACE, what="it"
    )
    assert len(objects) == 1
    assert diagnostics == []


def test_broken_yaml_is_told_with_its_line() -> None:
    _, diagnostics = rendered_objects.parse_objects("a: 1\nb: [\n", PLACE, what="what helm made")
    assert len(diagnostics) == 1
    assert "what helm made" in diagnostics[0].message
    assert diagnostics[0].place == PLACE
