"""Objects compared without files."""

from typing import Any

from firstlight.model.change import ChangeVerb, Level
from firstlight.repo.changes import compared_pieces


def thing(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name, "namespace": "a"}, "spec": spec}


def test_compared() -> None:
    found = compared_pieces.compare_objects(
        [thing("kept", a=1), thing("changed", a=1), thing("gone", a=1)],
        [thing("changed", a=2), thing("new", a=1), thing("kept", a=1)],
    )

    assert [(each.title, each.verb) for each in found] == [
        ("Thing a/changed", ChangeVerb.CHANGED),
        ("Thing a/gone", ChangeVerb.REMOVED),
        ("Thing a/new", ChangeVerb.ADDED),
    ]
    assert {each.level for each in found} == {Level.RENDERED}
    assert [(each.path, each.before, each.after) for each in found[0].fields] == [("spec.a", 1, 2)]


def test_secrets_keep_theirs() -> None:
    old, new = ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": each}} for each in "xy")

    (found,) = compared_pieces.compare_objects([old], [new])

    assert [(each.path, each.before, each.after, each.is_secret) for each in found.fields] == [
        ("data.a", None, None, True)
    ]
    assert found.before is found.after is None


def test_two_of_one_name() -> None:
    assert compared_pieces.compare_objects([thing("a"), thing("a")], [thing("a"), thing("a")]) == ()
    assert [each.verb for each in compared_pieces.compare_objects([thing("a")], [thing("a"), thing("a")])] == [
        ChangeVerb.ADDED
    ]


def test_values_of_charts() -> None:
    old, new = ({**thing("web", values={"a": each}), "kind": "HelmRelease"} for each in (1, 2))

    (found,) = compared_pieces.compare_objects([old], [new])

    assert [each.values for each in found.fields] == [("a",)]
