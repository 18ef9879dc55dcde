"""Values as YAML that everybody reads back as the same; the integration tests ask Go."""

import enum
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from firstlight.document import scalars, yaml_reader, yaml_values, yaml_writer
from firstlight.document.yaml_reader import YamlDialect
from firstlight.document.yaml_writer import YamlStyle

OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "labels": {"app.kubernetes.io/version": "1.10"}, "annotations": {}},
    "data": {"a.conf": "one\n\n  two\n", "b": "no end\nhere", "c": "  first\n", "d": "end\n\n"},
    "list": [{"name": "a", "args": ["--x=y", "- z"], "empty": []}, ["nested", {"k": None}]],
    "on": True,
    "n": [1, -1.5, 18446744073709551615],
}
WRITTEN = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: x
  labels:
    app.kubernetes.io/version: "1.10"
  annotations: {}
data:
  a.conf: |
    one

      two
  b: |-
    no end
    here
  c: |2
      first
  d: |+
    end

list:
  - name: a
    args:
      - --x=y
      - "- z"
    empty: []
  - - nested
    - k: null
"on": true
"n":
  - 1
  - -1.5
  - 18446744073709551615
"""


def test_an_object_looks_as_people_write_it() -> None:
    assert yaml_writer.dump(OBJECT) == WRITTEN


def test_other_indentations() -> None:
    value = {"a": {"b": [{"c": "x\ny\n", "d": [1]}]}}

    assert yaml_writer.dump(value, style=YamlStyle(step=4, dash=0)) == (
        "a:\n    b:\n    - c: |\n          x\n          y\n      d:\n      - 1\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "~", "null", "true", "y", "Off", "685e3", "08", "0o7", "0x1", "1_000", ".5", "-1", "1.0", "2001-01-01",
        "12:30", "190:20:30.5", "=", "<<", " a", "a ", "-", "- a", "---", "...", "? a", ": a", "a: b", "a:", "a #b",
        "#a", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "'a'", '"a"', "[a]", "{a}", "{{ x }}", ",a", "a\tb",
        "a\rb", "\x00", "\x1b[0m", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", "\u202e", "a\\b", "it's", "a\n", "\n",
        "\n\n", " \n", "a\n ", "2001-12-14 21:59:43.10 -5", "-0", "1e400", ".inf", "0b1", "+1", "1:60", "yes",
    ],
)  # fmt: skip
def test_texts_that_need_quotes_have_them(text: str) -> None:
    for value in (text, [text], {text: text}, {"a": [{"b": text}]}):
        for written in (yaml_writer.dump(value), yaml_writer.flow(value)):
            assert_read_back(written, value)
            # Readers of YAML 1.1 agree, where they can read it at all.
            assert yaml.load(written, Loader=yaml.CSafeLoader) == value


@pytest.mark.parametrize(
    "text",
    [
        "a", "v1.2.3", "10.0.0.0/16", "https://example.org/a?b=c#d", "--flag=x", "-x", "100Mi", "a b", "a, b",
        "a[0]", "it's x", "app.kubernetes.io/name", "registry.example.org/a:v1@sha256:00", "é", "😀", "$(VAR)",
        "${VAR}", "a:b", "a#b", "1.2.3", "12:30a", "0x", "1e", "e1", "n1", "yes!", "a\\b", 'say "a"', "1a",
    ],
)  # fmt: skip
def test_texts_that_need_no_quotes_have_none(text: str) -> None:
    assert yaml_writer.text(text) == text


def test_the_quotes_that_need_no_escapes() -> None:
    assert yaml_writer.text("a: b") == '"a: b"'
    assert yaml_writer.text('"a": b') == "'\"a\": b'"
    assert yaml_writer.text("'a': \"b\"") == '"\'a\': \\"b\\""'
    assert yaml_writer.text("é\u200b") == '"é\\u200b"'
    assert yaml_writer.text("\U000e0001") == '"\\U000e0001"'
    assert yaml_writer.text("a", quote="'") == "'a'"
    assert yaml_writer.text("it's", quote="'") == "'it''s'"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, math.nan]}, r"\$\.a\[1\]: nan is no number"),
        ([math.inf], r"\$\[0\]: inf"),
        (1 << 64, "does not fit into 64 bits"),
        (-(1 << 63) - 1, "does not fit into 64 bits"),
        ({1: 2}, "the key 1 is no text"),
        ({"a": {None: 2}}, r"\$\.a: the key None"),
        ({"a": b"x"}, "a bytes cannot"),
        ({"a": {1, 2}}, "a set cannot"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_cannot_be_written(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        yaml_writer.dump(value)


def test_what_is_too_deep() -> None:
    value: Any = "x"
    for _ in range(yaml_values.DEPTH_LIMIT + 5):
        value = [value]

    with pytest.raises(ValueError, match="nested deeper"):
        yaml_writer.dump(value)
    with pytest.raises(ValueError, match="nested deeper"):
        yaml_writer.flow(value)


def test_a_long_key_needs_a_question_mark() -> None:
    value = {"k" * 2000: {"a": 1}, "b": [{"l" * 1500: 2}]}

    for written in (yaml_writer.dump(value), yaml_writer.flow(value)):
        assert_read_back(written, value)
        assert "? k" in written


def test_several_documents() -> None:
    written = yaml_writer.dump_all([{"a": 1}, "b\nc\n\n", None, []])

    assert written == "a: 1\n---\n|+\n  b\n  c\n\n---\nnull\n---\n[]\n"
    assert [each.value for each in yaml_reader.read(written.encode(), "a").documents] == [{"a": 1}, "b\nc\n\n", []]


def test_texts_of_other_types() -> None:
    class Word(enum.StrEnum):
        ON = "on"

    assert yaml_writer.dump({"a": Word.ON, "b": (1, 2), "c": True}) == 'a: "on"\nb:\n  - 1\n  - 2\nc: true\n'


def assert_read_back(written: str, value: Any) -> None:
    for dialect in YamlDialect:
        contents = yaml_reader.read(written.encode(), "a.yaml", dialect=dialect)
        assert contents.diagnostics == ()
        assert (contents.documents[0].value if contents.documents else None) == normal(value, dialect)


def normal(value: Any, dialect: YamlDialect) -> Any:
    if isinstance(value, dict):
        return {key: normal(each, dialect) for key, each in value.items()}
    if isinstance(value, list):
        return [normal(each, dialect) for each in value]
    return scalars.as_json(value) if dialect is YamlDialect.KUBERNETES else value


LINES = st.lists(st.sampled_from(["", "a", " ", "  b", "\t", "c: d", "# e", "- f", "é", "\x85", "\r"])).map("\n".join)
TEXTS = st.text() | LINES | st.text(alphabet="0123456789.:-+_eExXoObBTZ ")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
STYLES = st.builds(YamlStyle, step=st.integers(1, 6), dash=st.integers(0, 6), quote=st.sampled_from(["", "'", '"']))


@given(VALUES, STYLES)
def test_every_value_is_read_back(value: Any, style: YamlStyle) -> None:
    assert_read_back(yaml_writer.dump(value, style=style), value)


@given(VALUES)
def test_every_value_is_read_back_from_one_line(value: Any) -> None:
    written = yaml_writer.flow(value)

    assert "\n" not in written
    assert_read_back(written + "\n", value)
