"""What is said of a file that has not the form that it must have."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from firstlight.document import mistakes
from firstlight.document.mistakes import FormHints, FormMistakes, OwnExplanation


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the file."""

    id: str
    count: Annotated[int, Meta(ge=1)] = 1


class Form(msgspec.Struct, forbid_unknown_fields=True):
    """What the file must be."""

    name: Annotated[str, Meta(pattern="^[a-z]+$", max_length=5)]
    mode: Literal["slow", "fast", ""] = ""
    parts: list[Inner] = []
    either: str | list[Inner] = ""
    labels: dict[str, str] = {}
    odd: Annotated[dict[str, int], Meta(max_length=1)] = {}


HINTS = FormHints(
    meant={"title": "name"},
    required={"id": "web"},
    own=(
        OwnExplanation("type", ("labels", "*"), "is no label", "Write a word."),
        OwnExplanation("anyOf", (), "is neither of the two", "Choose one."),
    ),
)


@pytest.mark.parametrize(
    ("text", "code", "message", "fix"),
    [
        ("name: a\nmod: fast", "field-unknown", "f.yaml:2:1: mod is no field", "Did you mean mode?"),
        ("name: a\ntitle: b", "field-unknown", "f.yaml:2:1: title is no field", "Did you mean name?"),
        ("mode: fast", "field-missing", "f.yaml:1:1: name is missing", "Write name: …"),
        ("name: a\nparts: [{}]", "field-missing", "f.yaml:2:9: parts[0].id is missing", "Write id: web"),
        ("name: a\nmode: fats", "field-wrong", "f.yaml:2:1: mode must be fast or slow", "Did you mean fast?"),
        ("name: 1.10", "field-wrong", "f.yaml:1:1: name must be a text", 'Write it in quotes: "1.1".'),
        ("name: a\nparts: web", "field-wrong", "f.yaml:2:1: parts must be a list (- item)", "Write [web]."),
        (
            "name: a\nparts:",
            "field-wrong",
            "f.yaml:2:1: parts must be a list (- item)",
            "Write [], or leave the key out.",
        ),
        (
            "name: a\nlabels:",
            "field-wrong",
            "f.yaml:2:1: labels must be a mapping (key: value)",
            "Write {}, or leave the key out.",
        ),
        ("name: a\nlabels: {a: 1}", "field-wrong", "f.yaml:2:10: labels.a is no label", "Write a word."),
        ("name: a\neither: 1", "field-wrong", "f.yaml:2:1: either is neither of the two", "Choose one."),
        (
            "name: a\neither: [{id: 2}]",
            "field-wrong",
            "f.yaml:2:11: either[0].id must be a text",
            'Write it in quotes: "2".',
        ),
        ("name: a\nparts: [{id: a, count: 0}]", "field-wrong", "f.yaml:2:17: parts[0].count must be at least 1", ""),
        ("name: abcdef", "field-wrong", "f.yaml:1:1: name is longer than 5 characters", ""),
        ("name: a\nodd: {a: 1, b: 2}", "field-wrong", "f.yaml:2:1: odd is not as it must be (maxProperties)", ""),
        ("name: a\nname: b", "key-given-twice", "f.yaml:2:1: name is given twice", None),
        (
            "name: a\n---\nname: b",
            "one-document-expected",
            "f.yaml: it must be one document",
            "Write one, without ---.",
        ),
        ("", "one-document-expected", "f.yaml: it must be one document", "Write one, without ---."),
    ],
)
def test_each_mistake_has_its_place_and_a_way_out(text: str, code: str, message: str, fix: str | None) -> None:
    with pytest.raises(FormMistakes) as caught:
        mistakes.parsed(text.encode(), "f.yaml", Form, hints=HINTS)

    assert caught.value.message.startswith(message)
    assert caught.value.path == "f.yaml"
    assert [each.code for each in caught.value.diagnostics] == [code]
    assert fix in (None, caught.value.hint)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(FormMistakes) as caught:
        mistakes.parsed(b"name: A\nmode: no\nodds: 1\n", "f.yaml", Form)

    assert [each.place.line for each in caught.value.diagnostics] == [1, 2, 3]
    assert caught.value.message.splitlines()[2:] == [
        "f.yaml:2:1: mode must be fast or slow",
        '  Write it in quotes: "False".',
        "f.yaml:3:1: odds is no field",
        "  Did you mean odd?",
    ]
    assert caught.value.hint == "", "each has its own below it"


def test_what_is_right_is_read_with_its_places() -> None:
    found, document = mistakes.parsed(b"name: a\nparts: [{id: x}]\n", "f.yaml", Form)

    assert (found.name, found.parts[0].id) == ("a", "x")
    assert str(document.place("parts", 0)) == "f.yaml:2:9"


def test_ways_and_names() -> None:
    assert mistakes.written(["a", 0, "b"]) == "a[0].b"
    assert mistakes.written([]) == ""
    assert mistakes.either([str(each) for each in range(30)]).endswith("19 or …")
    assert mistakes.near("zzz", ["a", "b"]) == "There is a or b."
    assert len(mistakes.short("x" * 100)) == 60
