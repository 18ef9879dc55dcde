"""Files as documents, in both dialects."""

import time
import types
from typing import Any

import pytest

from firstlight.document import yaml_reader, yaml_tree, yaml_values
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.diagnostic import Severity


def read(text: str | bytes, dialect: YamlDialect = YamlDialect.KUBERNETES) -> yaml_reader.YamlContents:
    return yaml_reader.read(text.encode() if isinstance(text, str) else text, "a.yaml", dialect=dialect)


def value(text: str | bytes, dialect: YamlDialect = YamlDialect.KUBERNETES) -> Any:
    contents = read(text, dialect)
    assert contents.diagnostics == ()
    [document] = contents.documents
    return document.value


def test_documents_are_counted_and_empty_ones_left_out() -> None:
    contents = read("# head\n---\na: 1\n---\n# nothing\n---\n- b\n...\n---\nc\n---\n")

    assert [(each.index, each.line, each.value) for each in contents.documents] == [
        (0, 3, {"a": 1}),
        (2, 7, ["b"]),
        (3, 10, "c"),
    ]
    assert contents.count == 5
    assert contents.diagnostics == ()


@pytest.mark.parametrize("text", ["", "\n", "# comment\n", "---\n", "\ufeff", "null\n", "~"])
def test_nothing(text: str) -> None:
    assert read(text).documents == ()
    assert read(text).diagnostics == ()


def test_the_dialects_differ() -> None:
    text = "a: on\nb: 1.0\nc: 2001-01-01\n0x10: -0\n1e3: y\n"

    assert value(text) == {"a": True, "b": 1, "c": "2001-01-01", "16": 0, "1000": True}
    assert type(value(text)["b"]) is int
    assert value(text, YamlDialect.TALOS) == {
        "a": "on",
        "b": 1.0,
        "c": "2001-01-01T00:00:00Z",
        "0x10": -0.0,
        "1e3": "y",
    }


@pytest.mark.parametrize(
    "data",
    [
        "\ufeffa: é\nb: |\n  x\n  y\n".encode(),
        "a: é\r\nb: |\r\n  x\r\n  y\r\n".encode(),
        "\ufeffa: é\nb: |\n  x\n  y\n".encode("utf-16-le"),
        "\ufeffa: é\nb: |\n  x\n  y\n".encode("utf-16-be"),
    ],
)
def test_marks_line_ends_and_encodings(data: bytes) -> None:
    [document] = read(data).documents

    assert document.value == {"a": "é", "b": "x\ny\n"}
    assert str(document.place("b")) == "a.yaml:2:1"
    assert not document.text.startswith("\ufeff")


def test_what_stands_before_an_error_is_kept() -> None:
    contents = read("a: 1\n---\nb: 2\n---\nc: [\n---\nd: 4\n")

    assert [each.value for each in contents.documents] == [{"a": 1}, {"b": 2}]
    [diagnostic] = contents.diagnostics
    assert diagnostic.place.line == 6
    assert str(contents.documents[1].place("b")) == "a.yaml:3:1"


def test_a_document_that_go_refuses_is_left_out_alone() -> None:
    contents = read("a: 1\n---\n? [b]\n: 2\n---\nc: 3\n")

    assert [(each.index, each.value) for each in contents.documents] == [(0, {"a": 1}), (2, {"c": 3})]
    assert [str(each.place) for each in contents.diagnostics] == ["a.yaml:3:3"]
    assert str(contents.documents[1].place("c")) == "a.yaml:6:1"


def test_a_control_character_far_below_does_not_take_the_rest_along() -> None:
    contents = read("a: 1\n---\nb: 2\n---\nc: 3\nd: \x07\n")

    assert [each.value for each in contents.documents] == [{"a": 1}, {"b": 2}]
    assert str(contents.documents[1].place("b")) == "a.yaml:3:1"
    assert [str(each.place) for each in contents.diagnostics] == ["a.yaml:6:4"]


@pytest.mark.parametrize(
    ("dialect", "severity"), [(YamlDialect.KUBERNETES, Severity.WARNING), (YamlDialect.TALOS, Severity.ERROR)]
)
def test_a_key_that_stands_twice_is_reported_and_read(dialect: YamlDialect, severity: Severity) -> None:
    contents = read("a:\n  b: 1\n  c: 2\n  'b': 3\nd: {e: 1, e: 2}\n", dialect)

    [document] = contents.documents
    assert document.value == {"a": {"b": 3, "c": 2}, "d": {"e": 2}}
    assert [(each.code, each.severity, each.subject) for each in contents.diagnostics] == [
        ("key-given-twice", severity, "b"),
        ("key-given-twice", severity, "e"),
    ]
    assert [[str(place) for place in each.places] for each in contents.diagnostics] == [
        ["a.yaml:4:3", "a.yaml:2:3"],
        ["a.yaml:5:11", "a.yaml:5:5"],
    ]
    assert contents.diagnostics[0].message == "b is given twice, first in line 2; the last one counts"
    assert str(document.place("a", "b")) == "a.yaml:4:3"


def test_keys_that_are_one_to_kubernetes_alone() -> None:
    assert len(read("on: 1\n'true': 2\n").diagnostics) == 1
    assert len(read("on: 1\n'true': 2\n", YamlDialect.TALOS).diagnostics) == 0


def test_aliases_are_values_of_their_own() -> None:
    found = value("a: &a {x: [1]}\nb: *a\nc: &s y\nd: [*s, *s]\n*s : key\n")

    assert found == {"a": {"x": [1]}, "b": {"x": [1]}, "c": True, "d": [True, True], "true": "key"}
    found["b"]["x"].append(2)
    assert found["a"] == {"x": [1]}


def test_an_anchor_is_known_only_in_its_document_and_from_there_on() -> None:
    assert len(read("a: &x 1\n---\nb: *x\n").diagnostics) == 1
    assert len(read("a: *x\nb: &x 1\n").diagnostics) == 1
    assert value("a: &x 1\nb: &x 2\nc: *x\n")["c"] == 2


MERGED = "base: &b {p: 1, q: 2}\nmore: &m {q: 3, r: 4}\n"


def test_merges() -> None:
    found = value(MERGED + "one: {<<: *b , q: 5}\ntwo: {<<: [*m , *b ]}\nthree: {<<: {z: 1}}\n")

    assert found["one"] == {"p": 1, "q": 5}
    assert found["two"] == {"p": 1, "q": 3, "r": 4}
    assert found["three"] == {"z": 1}


def test_a_merge_below_a_key_replaces_it_to_kubernetes_alone() -> None:
    text = MERGED + "one:\n  q: 5\n  s: 6\n  <<: *b\n"
    contents = read(text)

    assert contents.documents[0].value["one"] == {"q": 2, "s": 6, "p": 1}
    assert [(each.code, str(each.place), each.message) for each in contents.diagnostics] == [
        ("yaml-merge-overrides", "a.yaml:6:3", "<< replaces q of line 4, which stands above it")
    ]
    assert value(text, YamlDialect.TALOS)["one"] == {"q": 5, "s": 6, "p": 1}


@pytest.mark.parametrize("merged", ["*l", "[*l ]", "[[*b ]]", "[1]", "~", "''"])
def test_only_mappings_are_merged(merged: str) -> None:
    [diagnostic] = read(f"b: &b {{p: 1}}\nl: &l [*b ]\nc: {{<<: {merged} }}\n").diagnostics

    assert diagnostic.code == "yaml-merge-wrong"


def test_a_quoted_merge_is_a_key() -> None:
    assert value("'<<': {a: 1}\n") == {"<<": {"a": 1}}
    assert value("a: &m <<\n*m : {b: 1}\n") == {"a": "<<", "<<": {"b": 1}}
    assert value("a: <<\n") == {"a": "<<"}


def test_tags() -> None:
    text = "a: !!str 1\nb: !!int '7'\nc: !!float 2\nd: !!binary aGk=\ne: !!null ''\nf: !!bool 'true'\ng: !!seq [1]\n"

    assert value(text) == {"a": "1", "b": 7, "c": 2, "d": "hi", "e": None, "f": True, "g": [1]}
    assert value(text, YamlDialect.TALOS)["c"] == 2.0
    assert value("! 12\n") == "12"
    assert value("! 12\n", YamlDialect.TALOS) == 12
    assert value("!!binary 4oKs4oI=") == "€\ufffd\ufffd"
    assert value("!!timestamp 2001-01-01: 1", YamlDialect.TALOS) == {"2001-01-01": 1}


def test_tags_that_mean_nothing_are_said_once_each() -> None:
    contents = read("a: !secret x\nb: !secret y\nc: !include [z]\n")

    assert contents.documents[0].value == {"a": "x", "b": "y", "c": ["z"]}
    assert [(each.code, each.severity, str(each.place)) for each in contents.diagnostics] == [
        ("yaml-tag-unknown", Severity.UNKNOWN, "a.yaml:1:4"),
        ("yaml-tag-unknown", Severity.UNKNOWN, "a.yaml:3:4"),
    ]
    assert "!secret" in contents.diagnostics[0].message
    assert len(read("a: !x y\n---\nb: 1\n---\nc: !x y\n").diagnostics) == 2


def test_tags_without_end_are_not_kept() -> None:
    notes = yaml_values.ReadNotes()

    for n in range(1000):
        notes.add_tag(types.SimpleNamespace(tag=f"!t{n}", start_mark=None))

    assert len(notes.tags) <= 101


def bomb(levels: int) -> str:
    return "l0: &l0 [x]\n" + "".join(
        f"l{n}: &l{n} [{', '.join([f'*l{n - 1} '] * 10)}]\n" for n in range(1, levels)
    )  # fmt: skip


def test_a_bomb_is_refused_in_no_time() -> None:
    started = time.process_time()
    contents = read(bomb(30) + "---\nafter: 1\n")

    assert contents.diagnostics[0].code == "yaml-aliases-too-large"
    assert [each.value for each in contents.documents] == [{"after": 1}]
    assert time.process_time() - started < 10


def test_bombs_of_several_documents_share_one_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_values, "ALIASED_LIMIT", 3000)

    contents = read("---\n".join([bomb(4)] * 3))

    assert [each.index for each in contents.documents] == [0]
    assert len(contents.diagnostics) == 2


def test_aliases_do_not_nest_deeper_than_anything_else() -> None:
    for nested in ("[" * 150 + "]" * 150, "{a: " * 150 + "}" * 150):
        [diagnostic] = read(f"a: &a {nested}\nb: {'[' * 150}*a{']' * 150}\n").diagnostics

        assert diagnostic.code == "yaml-aliases-too-large"


@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 200_000, "- " * 50_000 + "a", "~: 1\nb: " + "[" * 200_000])
def test_what_is_too_deep_is_refused_in_no_time(text: str) -> None:
    started = time.process_time()
    contents = read("ok: 1\n---\n" + text)

    assert [each.value for each in contents.documents] == [{"ok": 1}]
    assert len(contents.diagnostics) == (2 if text.startswith("~") else 1)
    assert str(contents.documents[0].place("ok")) == "a.yaml:1:1"
    assert time.process_time() - started < 10


def test_the_depth_that_is_taken() -> None:
    assert read("[" * yaml_values.DEPTH_LIMIT + "]" * yaml_values.DEPTH_LIMIT).diagnostics == ()
    [diagnostic] = read("[" * (yaml_values.DEPTH_LIMIT + 1) + "]" * (yaml_values.DEPTH_LIMIT + 1)).diagnostics
    assert diagnostic.code == "yaml-too-deep"


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "SIZE_LIMIT", 1 << 20)

    [diagnostic] = read(b" " * (1 << 20) + b"a").diagnostics

    assert (diagnostic.code, diagnostic.message) == ("yaml-too-large", "the file is larger than 1 MiB")


def test_what_has_too_much_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_values, "EVENT_LIMIT", 1000)

    contents = read("a: 1\n---\n" + "- x\n" * 2000)

    assert [each.value for each in contents.documents] == [{"a": 1}]
    assert contents.diagnostics[0].code == "yaml-too-large"


def test_thousands_of_directives_are_refused_in_no_time() -> None:
    started = time.process_time()

    assert read("%TAG !a! b\n" * 1_000_000).diagnostics[0].code == "yaml-too-large"
    assert time.process_time() - started < 10


def test_diagnostics_are_limited() -> None:
    contents = read("a: 1\n" * 5000)

    assert len(contents.diagnostics) == 101
    assert "4898 more" in contents.diagnostics[-1].message


def test_a_key_cannot_write_to_the_terminal() -> None:
    [diagnostic] = read('"\\e[31m": 1\n"\\e[31m": 2\n').diagnostics

    assert diagnostic.message.isprintable()


PLACES = """\
# head
a:
  b:
    - c: 1
      d: &d {e: 2,
             f: 3}
    -
      - g
h: *d
i:
  <<: *d
  j: 4
"""


@pytest.mark.parametrize(
    ("steps", "line", "column"),
    [
        ((), 2, 1),
        (("a",), 2, 1),
        (("a", "b"), 3, 3),
        (("a", "b", 0), 4, 7),
        (("a", "b", 0, "d"), 5, 7),
        (("a", "b", 0, "d", "f"), 6, 14),
        (("a", "b", 1), 8, 7),
        (("a", "b", 1, 0), 8, 9),
        (("a", "b", 7), 3, 3),
        (("a", "x", "y"), 2, 1),
        (("a", "b", "0"), 3, 3),
        (("h",), 9, 1),
        (("h", "e"), 5, 14),
        (("i", "e"), 5, 14),
        (("i", "j"), 12, 3),
        (("x",), 2, 1),
    ],
)
def test_the_place_of_a_value_or_of_its_nearest_parent(steps: tuple[str | int, ...], line: int, column: int) -> None:
    [document] = read(PLACES).documents

    place = document.place(*steps)

    assert (place.path, place.line, place.column) == ("a.yaml", line, column)


def test_places_of_keys_that_are_no_texts() -> None:
    [document] = read("a: 1\n0x10: 2\non: 3\n").documents

    assert document.place("16").line == 2
    assert document.place("true").line == 3
    assert read("a: 1\non: 3\n", YamlDialect.TALOS).documents[0].place("on").line == 2


def test_a_text_is_parsed_once_for_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    [document] = read("".join(f"key-{n}: {n}\n" for n in range(1000))).documents
    yaml_tree.documents(document.text)
    monkeypatch.setattr(yaml_tree, "CParser", None)

    assert [document.place(f"key-{n}").line for n in range(1000)] == list(range(1, 1001))


def test_a_merge_in_a_circle_has_places() -> None:
    roots = yaml_tree.documents("a: &a\n  <<: *a\n  b: 1\n")

    assert roots[0] is not None
    assert yaml_tree.position("a: &a\n  <<: *a\n  b: 1\n", 0, ["a", "c"], yaml_values.KUBERNETES) == (1, 1)
