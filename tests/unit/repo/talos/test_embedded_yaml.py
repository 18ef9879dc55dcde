"""YAML inside of YAML has the lines of the file around it."""

from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Severity
from firstlight.repo.talos import embedded_yaml


def document(text: str) -> YamlDocument:
    found = yaml_reader.read(text.encode(), "file.yaml")
    assert not found.diagnostics
    return found.documents[0]


def lines_of(text: str, *steps: str | int) -> list[int]:
    outer = document(text)
    _, _, value = embedded_yaml.follow(outer, steps)
    return [each.file_line for each in embedded_yaml.read(outer, steps, value).documents]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n  b: |\n    x: 1\n    ---\n    y: 2\n", [3, 5]),
        ("a:\n  b: |-\n\n    x: 1\n", [4]),
        ("a:\n  b: |  # a comment\n    # another\n    x: 1\n", [4]),
        ('a:\n  b: "x: 1\\n---\\ny: 2\\n"\n', [2, 2]),
        ('a:\n  b: "x: 1\\n\\\n    ---\\n\\\n    y: 2\\n"\n', [2, 4]),
        ('a:\n  b: "x: 1\n\n    ---\n\n    y: 2"\n', [2, 6]),
        ("a:\n  b: 'x: 1\n\n    ---\n\n    y: ''2'''\n", [2, 6]),
        ("a: {b: 'x: 1'}\n", [1]),
        ("a:\n  b: plain\n", [2]),
    ],
)
def test_documents_begin_where_they_begin_in_the_file(text: str, expected: list[int]) -> None:
    assert lines_of(text, "a", "b") == expected


def test_a_text_in_a_text_has_the_lines_of_the_file() -> None:
    outer = document(
        "patches:\n  - |\n    machine: {}\n    ---\n    cluster:\n      contents: |\n        ---\n        kind: A\n"
    )
    patch = embedded_yaml.read(outer, ("patches", 0), outer.value["patches"][0]).documents[1]

    inner = embedded_yaml.read(patch, ("cluster", "contents"), patch.value["cluster"]["contents"]).documents[0]

    assert patch.place("cluster", "contents").line == 6
    assert inner.place("kind").line == inner.file_line == 8
    assert embedded_yaml.way(inner, ("kind",)) == (outer, ("patches", 0, 1, "cluster", "contents", 0, "kind"))


def test_the_way_can_be_followed_back() -> None:
    outer = document("patches:\n  - |\n    a: 1\n    ---\n    b: [x, {c: 'kind: A'}]\n")

    found, steps, value = embedded_yaml.follow(outer, ("patches", 0, 1, "b", 1, "c"))

    assert (value, steps, found.place(*steps).line) == ("kind: A", ("b", 1, "c"), 5)
    assert embedded_yaml.follow(outer, ("patches", 0, 1, "b", 7, "c"))[2] is None


def test_what_is_broken_does_not_hide_what_comes_after() -> None:
    outer = document("a: |\n  kind: A\n  ---\n  kind: [\n  ---\n  kind: C\n  ---\n  kind: {\n")

    found = embedded_yaml.read(outer, ("a",), outer.value["a"])

    assert [each.value["kind"] for each in found.documents] == ["A", "C"]
    assert [each.file_line for each in found.documents] == [2, 6]
    assert [(each.severity, each.place.line) for each in found.diagnostics] == [
        (Severity.ERROR, 5),
        (Severity.ERROR, 8),
    ]


def test_anchors_lead_to_a_line_all_the_same() -> None:
    assert lines_of("x: &x |\n  kind: A\na: *x\n", "a") == [3]


@hypothesis.given(
    documents=strategies.lists(
        strategies.dictionaries(
            strategies.text("abcxyz", min_size=1, max_size=5), strategies.text("ab :-#'\"\n", max_size=12), min_size=1
        ),
        min_size=1,
        max_size=4,
    ),
    style=strategies.sampled_from(["|", '"', "'"]),
    width=strategies.integers(20, 200),
)
def test_a_document_is_found_at_its_line_however_it_is_quoted(
    documents: list[dict[str, str]], style: str, width: int
) -> None:
    """Each document begins with a key of its own, which stands once in the file."""
    numbered: list[dict[str, Any]] = [{f"kind{n}": "Q", **each} for n, each in enumerate(documents)]
    inner = yaml.dump_all(numbered, explicit_start=True, sort_keys=False)
    outer = yaml.dump({"before": "x", "contents": inner}, default_style=style, width=width)
    read = document(outer)
    assert read.value["contents"] == inner

    found = embedded_yaml.read(read, ("contents",), inner).documents

    lines = outer.splitlines()
    for number, each in enumerate(found):
        assert f"kind{number}" in lines[each.file_line - 1]
