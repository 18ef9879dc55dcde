"""Values as people see them."""

import pytest

from firstlight.drawing import decision_words
from firstlight.model.change import ChangedField, ChangeVerb
from firstlight.model.place import Place


def field(before: object, after: object, *steps: str) -> ChangedField:
    return ChangedField(
        steps=steps or ("a",), verb=ChangeVerb.CHANGED, place=Place("a.yaml"), before=before, after=after
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("--replicas=3", "--replicas=3"),
        ("--leader-elect=true", "--leader-elect=true"),
        ("A=1.2.3", "A=1.2.3"),
        ("A=v1.2.3-rc.1", "A=v1.2.3-rc.1"),
        ("--image=registry.example.org/a/b:v1.2.3", "--image=registry.example.org/a/b:v1.2.3"),
        ("--memory=512Mi", "--memory=512Mi"),
        ("--timeout=1h30m", "--timeout=1h30m"),
        ("--cidr=10.0.0.0/8", "--cidr=10.0.0.0/8"),
        ("--cidr=fd00::/64", "--cidr=fd00::/64"),
        ("--host=db.example.org:5432", "--host=db.example.org:5432"),
        ("--feature-gates=A=true,B=false", "--feature-gates=A=true,B=false"),
        ("--number=90210001", "--number=…"),
        ("--any=hunter2", "--any=…"),
        ("ANY=hunter2", "ANY=…"),
        ("ANY=hunter two", "ANY=…"),
        ("--feature-gates=A=hunter2", "--feature-gates=…"),
        ("--verbose", "--verbose"),
        ("plain", "plain"),
    ],
)
def test_items_of_lists(value: str, expected: str) -> None:
    assert decision_words.told(field(None, value, "args", "[0]"), value) == expected


def test_a_pair_that_is_no_item_of_a_list_is_a_text() -> None:
    assert decision_words.told(field(None, "a=hunter"), "a=hunter") == "a=hunter"


def test_the_value_of_a_flag() -> None:
    assert decision_words.told(field(None, "hunter2", "line 1", "--set", "a.b"), "hunter2") == "…"
    assert decision_words.told(field(None, "1.2.3", "line 1", "--version"), "1.2.3") == "1.2.3"


def test_texts_are_cut() -> None:
    assert decision_words.told(field(None, "x" * 200), "x" * 200) == "x" * 79 + "…"
    assert decision_words.told(field(None, "a\tb"), "a\tb") == "a b"


def test_of_many_lines_only_the_number_is_told() -> None:
    one = field("a\nb\nc\n", "a\nx\ny\n")

    assert decision_words.told(one, one.before) == "3 lines"
    assert decision_words.field(one) == "a changed: 2 lines differ"
    assert decision_words.field(field("a\nb\n", "a\n")) == "a changed: 1 line differs"


def test_two_values_that_may_not_be_seen() -> None:
    assert decision_words.field(field("A=hunter2", "A=hunter3", "args", "[0]")) == "args[0] A=… changed"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a:1", "a:2", ("a:1", "a:2")),
        (
            "registry.example.org/platform/team/kustomize-controller:v1.7.1",
            "registry.example.org/platform/team/kustomize-controller:v1.7.2",
            ("…kustomize-controller:v1.7.1", "…kustomize-controller:v1.7.2"),
        ),
        (
            f"example.org/{'a' * 60}:v1.7.1",
            f"example.org/{'a' * 60}:v1.7.2",
            ("…aaaa:v1.7.1", "…aaaa:v1.7.2"),
        ),
        (f"b{'a' * 60}", f"c{'a' * 60}", (f"b{'a' * 38}…", f"c{'a' * 38}…")),
        ("a" * 60, "a" * 61, (f"…{'a' * 10}", f"…{'a' * 11}")),
        (None, "a" * 60, (None, f"{'a' * 39}…")),
        (1, 2, (1, 2)),
    ],
)
def test_what_differs_stays_in_sight(before: object, after: object, shown: tuple[object, object]) -> None:
    assert decision_words.both(field(before, after, "image"), longest=40) == shown
