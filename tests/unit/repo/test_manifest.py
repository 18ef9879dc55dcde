"""Lines found by indentation are those that a parser finds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.document import yaml_reader
from firstlight.document.yaml_writer import dump
from firstlight.model.place import Place
from firstlight.repo import manifest
from firstlight.repo.manifest import Manifest

TEXT = """# a comment
---
apiVersion: v1  # another
kind: List
"quoted": {flow: [1, 2]}
items:
- name: first
  deep:

    # in between
    er: 1
-   name: second
    text: |
      name: not a key
    list:
    - - nested
    - a
needs: [one, {name: two, of: it},  {name: three}]
odd: ["a, b", c]
spec:
    wide: true
    name: twice
    name: again
    empty:
last: &anchor
  a: 1
---
kind: Other
spec: {a: 1}
"""
DOCUMENTS = yaml_reader.read(TEXT.encode(), "x.yaml").documents


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("kind",), (4, 1)),
        (("quoted",), (5, 1)),
        (("quoted", "flow"), None),
        (("items", 0, "name"), (7, 3)),
        (("items", 0, "deep", "er"), (11, 5)),
        (("items", 1, "name"), (12, 5)),
        (("items", 1, "text"), (13, 5)),
        (("items", 1, "text", "name"), (13, 5)),
        (("items", 1, "list", 0, 0), None),
        (("items", 7, "name"), (6, 1)),
        (("spec", "wide"), (21, 5)),
        (("spec", "name"), (23, 5)),
        (("spec", "empty", "none"), (24, 5)),
        (("needs", 0), (18, 9)),
        (("needs", 1), (18, 14)),
        (("needs", 2), (18, 36)),
        (("needs", 3), None),
        (("needs", 1, "name"), None),
        (("odd", 1), None),
        (("last", "a"), None),
        (("none",), (3, 1)),
        ((), None),
    ],
)
def test_finding(steps: tuple[str | int, ...], expected: tuple[int, int] | None) -> None:
    found = manifest.find_line(TEXT, DOCUMENTS[0].line, steps)

    assert found == expected
    if found is not None:
        assert Place("x.yaml", *found) == DOCUMENTS[0].place(*steps)


def test_a_manifest_tells_where_its_values_are() -> None:
    first, second = DOCUMENTS
    item = Manifest(first.value["items"][1], Place("x.yaml", 12), first, ("items", 1))
    made = Manifest({}, Place("kustomization.yaml", 3))

    assert item.at("name") == Place("x.yaml", 12, 5)
    assert Manifest(second.value, Place("x.yaml", 28), second).at("spec", "a") == Place("x.yaml", 29, 8)
    assert made.at("data") == Place("kustomization.yaml", 3)
    assert "first" not in repr(item)


values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.integers(0, 99), st.text("ab:- #'\n", max_size=6), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc:- ", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


def ways(value: Any) -> list[tuple[str | int, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *way) for key, each in children for way in ways(each))]


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), values, min_size=1, max_size=3))
def test_it_agrees_with_the_parser_or_leaves_it_to_it(value: Any) -> None:
    text = dump(value)
    document = yaml_reader.read(text.encode(), "x").documents[0]

    for steps in ways(value):
        found = manifest.find_line(text, document.line, steps)
        assert found is None or Place("x", *found) == document.place(*steps)
