"""Edits: what was asked for happens, and nothing else."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.diagnostic import Severity
from tests.unit.document import generated

TEXT = """\
# head
apiVersion: v1   # v
metadata:
  # about the name
  name: foo # the name
  labels: {a: "1", b: '2'}   # flow
spec:
    list:
    - a: 1
      b: 2 # bb
    # before the second
    - c: 3
    quoted: "x"
    text: |- # keep
      line 1

      line 2

    empty:
    lines: [
      p,
      q  # last
    ]
    after: 1
"""


def changed(before: str, after: str) -> list[str]:
    """The lines that went, and those that came, without the common ones at both ends."""
    old, new = before.split("\n"), after.split("\n")
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return [f"-{line}" for line in old] + [f"+{line}" for line in new]


@pytest.mark.parametrize(
    ("steps", "value", "lines"),
    [
        (["metadata", "name"], "bar", ["-  name: foo # the name", "+  name: bar # the name"]),
        (["metadata", "name"], "on", ["-  name: foo # the name", '+  name: "on" # the name']),
        (["metadata", "name"], 5, ["-  name: foo # the name", "+  name: 5 # the name"]),
        (["metadata", "name"], "a\nb", ["-  name: foo # the name", "+  name: |- # the name", "+    a", "+    b"]),
        (
            ["metadata", "name"],
            {"k": [1, {"l": 2}]},
            ["-  name: foo # the name", "+  name: # the name", "+    k:", "+    - 1", "+    - l: 2"],
        ),
        (["metadata", "name"], {}, ["-  name: foo # the name", "+  name: {} # the name"]),
        (
            ["metadata", "labels", "a"],
            "on",
            ["-  labels: {a: \"1\", b: '2'}   # flow", "+  labels: {a: \"on\", b: '2'}   # flow"],
        ),
        (
            ["metadata", "labels", "c", "d"],
            [1, "x, y"],
            [
                "-  labels: {a: \"1\", b: '2'}   # flow",
                '+  labels: {a: "1", b: \'2\', c: {d: [1, "x, y"]}}   # flow',
            ],
        ),
        (["metadata", "labels"], None, ["-  labels: {a: \"1\", b: '2'}   # flow", "+  labels: null   # flow"]),
        (["metadata", "annotations", "k/v"], "z", ["+  annotations:", "+    k/v: z"]),
        (["spec", "list", 0, "a"], [1], ["-    - a: 1", "+    - a:", "+      - 1"]),
        (["spec", "list", 0, "c"], "x", ["+      c: x"]),
        (["spec", "list", 0], "x", ["-    - a: 1", "-      b: 2 # bb", "+    - x"]),
        (["spec", "list", 2], {"d": 1}, ["+    - d: 1"]),
        (
            ["spec", "list"],
            {"k": 1},
            ["-    - a: 1", "-      b: 2 # bb", "-    # before the second", "-    - c: 3", "+      k: 1"],
        ),
        (["spec", "quoted"], "y", ['-    quoted: "x"', '+    quoted: "y"']),
        (["spec", "text"], "n1\n\nn2", ["-      line 1", "-", "-      line 2", "+      n1", "+", "+      n2"]),
        (
            ["spec", "text"],
            " n1\nn2\n",
            [
                "-    text: |- # keep",
                "-      line 1",
                "-",
                "-      line 2",
                "+    text: |2 # keep",
                "+       n1",
                "+      n2",
            ],
        ),
        (
            ["spec", "text"],
            "one",
            ["-    text: |- # keep", "-      line 1", "-", "-      line 2", "+    text: one # keep"],
        ),
        (["spec", "empty"], "x", ["-    empty:", "+    empty: x"]),
        (["spec", "empty", 0, "a"], "x", ["+    - a: x"]),
        (["spec", "lines", 1], "r", ["-      q  # last", "+      r  # last"]),
        (["spec", "lines", 2], "r", ["-      q  # last", "+      q,", "+      r  # last"]),
        (["spec", "after"], "2\n\n", ["-    after: 1", '+    after: "2\\n\\n"']),
        (["more"], ["x"], ["+more:", "+- x"]),
    ],
)
def test_a_value_is_set(steps: list[str | int], value: Any, lines: list[str]) -> None:
    assert changed(TEXT, yaml_editor.set_value(TEXT, steps, value)) == lines


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        (["apiVersion"], ["-apiVersion: v1   # v"]),
        (["metadata", "name"], ["-  name: foo # the name"]),
        (["metadata", "labels", "a"], ["-  labels: {a: \"1\", b: '2'}   # flow", "+  labels: {b: '2'}   # flow"]),
        (["metadata", "labels", "b"], ["-  labels: {a: \"1\", b: '2'}   # flow", '+  labels: {a: "1"}   # flow']),
        (["spec", "list", 0], ["-    - a: 1", "-      b: 2 # bb"]),
        (["spec", "list", 0, "a"], ["-    - a: 1", "-      b: 2 # bb", "+    - b: 2 # bb"]),
        (["spec", "list", 0, "b"], ["-      b: 2 # bb"]),
        (["spec", "list", 1, "c"], ["-    - c: 3", "+    - {}"]),
        (["spec", "text"], ["-    text: |- # keep", "-      line 1", "-", "-      line 2"]),
        (["spec", "lines", 0], ["-      p,"]),
        (["spec", "after"], ["-    after: 1"]),
    ],
)
def test_something_is_removed(steps: list[str | int], lines: list[str]) -> None:
    assert changed(TEXT, yaml_editor.remove(TEXT, steps)) == lines


def test_items_are_inserted_and_appended() -> None:
    assert changed(TEXT, yaml_editor.append(TEXT, ["spec", "list"], {"d": 1, "e": 2})) == ["+    - d: 1", "+      e: 2"]
    assert changed(TEXT, yaml_editor.append(TEXT, ["spec", "new"], "x")) == ["+    new:", "+    - x"]
    assert yaml_editor.insert("a:\n  - b\n  # c\n  - c\n", ["a", 1], "x") == "a:\n  - b\n  - x\n  # c\n  - c\n"
    assert yaml_editor.insert("a:\n- b\n", ["a", 0], {"x": 1, "z": 2}) == "a:\n- x: 1\n  z: 2\n- b\n"
    assert yaml_editor.insert("- - b\n", [0, 0], "x") == "- - x\n  - b\n"
    assert yaml_editor.insert("a: [b, c]\n", ["a", 1], "x") == "a: [b, x, c]\n"
    assert yaml_editor.insert("a: ['b']\n", ["a", 1], "x") == "a: ['b', 'x']\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "a: x\n"),
        ("# only a comment", "# only a comment\na: x\n"),
        ("---\n", "---\na: x\n"),
        ("---", "---\na: x"),
        ("{}\n", "{a: x}\n"),
        ("{ }", "{ a: x}"),
        ("b: 1", "b: 1\na: x"),
        ("a: 1", "a: x"),
        ("a:", "a: x"),
        ("a:   # c", "a: x   # c"),
        ("a:\n  # c\n  1\n", "a:\n  # c\n  x\n"),
        ("a: >\n  b\n\n\nc: 1\n", "a: x\n\n\nc: 1\n"),
        ("a: |+\n  b\n\n\nc: 1\n", "a: x\nc: 1\n"),
        ("\ufeffa: 1\r\nb: 2\r\n", "\ufeffa: x\r\nb: 2\r\n"),
        ("{a, b}\n", "{a: x, b}\n"),
        ("{a: , b: 1}\n", "{a: x , b: 1}\n"),
        ("a: 'one\n  two'\nb: 1\n", "a: 'x'\nb: 1\n"),
        ("a: !!int '1' # c\n", "a: x # c\n"),
        ("a: *b\n", None),
        ("b: &b 1\na: *b # c\n", "b: &b 1\na: x # c\n"),
        ("? a\n: 1\n", "? a\n: x\n"),
        ("a: &b [1]\n", "a: x\n"),
    ],
)
def test_strange_beginnings(before: str, after: str | None) -> None:
    if after is None:
        with pytest.raises(errors.ConfigError):
            yaml_editor.set_value(before, ["a"], "x")
    else:
        assert yaml_editor.set_value(before, ["a"], "x") == after


def test_line_ends_are_those_of_the_file() -> None:
    before = "a: |\r\n  x\r\nb:\r\n- c\r\n"

    assert yaml_editor.set_value(before, ["a"], "p\nq\n") == "a: |\r\n  p\r\n  q\r\nb:\r\n- c\r\n"
    assert yaml_editor.append(before, ["b"], {"d": 1, "e": 2}) == before + "- d: 1\r\n  e: 2\r\n"
    assert yaml_editor.remove("a: 1\r\nb: 2", ["b"]) == "a: 1"


def test_a_literal_at_the_end_needs_a_line_end() -> None:
    assert yaml_editor.set_value("a: 1", ["a"], "x\ny\n") == "a: |\n  x\n  y\n"
    assert yaml_editor.set_value("a: 1", ["a"], "x\ny") == "a: |-\n  x\n  y"


def test_indentation_is_that_of_the_neighbours() -> None:
    assert yaml_editor.set_value("a: &x\n    b: 1\nc: 1\n", ["c"], {"d": 1}) == "a: &x\n    b: 1\nc:\n    d: 1\n"
    mixed = "a:\n  b:\n    c: 1\nd:\n  e:\n  - f\n  g: 1\nh:\n  - i\nj:\n  - k\n"
    assert yaml_editor.set_value(mixed, ["d", "g"], ["l"]) == mixed.replace("  g: 1\n", "  g:\n  - l\n")
    assert yaml_editor.set_value(mixed, ["m"], ["l"]) == mixed + "m:\n  - l\n"


def test_comments_that_would_join_a_literal() -> None:
    assert yaml_editor.set_value("a:\n  # c\nb: 1\n", ["a"], "x\ny\n") == 'a: "x\\ny\\n"\n  # c\nb: 1\n'
    assert yaml_editor.set_value("a:\n  - b\n  # c\n", ["a", 1], "x\ny") == "a:\n  - b\n  - |-\n    x\n    y\n  # c\n"


def test_one_of_several_documents() -> None:
    before = "a: 1\n---\n# second\na: 2\n---\na: 3\n"

    assert yaml_editor.set_value(before, ["a"], 5, document=1) == before.replace("a: 2", "a: 5")
    assert yaml_editor.set_value("---\n---\na: 1\n", ["b"], 2) == "---\nb: 2\n---\na: 1\n"
    with pytest.raises(errors.ConfigError, match="no document 3"):
        yaml_editor.set_value(before, ["a"], 5, document=3)


def test_the_whole_of_a_document() -> None:
    assert yaml_editor.set_value("# c\na: 1\n# d\n", [], {"b": [2]}) == "# c\nb:\n  - 2\n# d\n"
    assert yaml_editor.set_value("--- text\n", [], {"b": 2}) == "---\nb: 2\n"
    assert yaml_editor.set_value("a: 1\n", [], "x") == "x\n"


@pytest.mark.parametrize(
    ("text", "steps", "message"),
    [
        ("a: &x {b: 1}\nc: *x\n", ["a", "b"], "used again as \\*x"),
        ("a: &x {b: 1}\nc: *x\n", ["a"], "used again as \\*x"),
        ("a: &x {b: 1}\nc: *x\n", ["c", "b"], "\\*x stands for something"),
        ("a: [&x 1]\nc: *x\n", ["a"], "&x in it is used elsewhere"),
        ("a: &x {b: 1}\nc: {<<: *x }\n", ["c", "b"], "b comes from what << merges"),
        ("a: 1\nb: 2\na: 3\n", ["a"], ":3: a is given twice"),
        ("a: {{ x }}\n", ["a"], "template"),
        ("{{ if x }}\na: 1\n", ["a"], "template"),
        ("a: [\n", ["a"], "not closed"),
        ("a: b\n", ["a", "c"], "a single value, and no 'c'"),
        ("a: [b]\n", ["a", 2], "a list with 1 items"),
        ("a: [b]\n", ["a", "c"], "a list with 1 items"),
        ("a: 1\n", ["b", 1], "a new list has no item 1"),
        ("a: !secret b\n", ["a"], "the tag !secret"),
    ],
)
def test_what_is_refused(text: str, steps: list[str | int], message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message) as caught:
        yaml_editor.set_value(text, steps, "new", path="dir/a.yaml")

    assert caught.value.path == "dir/a.yaml"


def test_what_is_not_there_is_not_removed() -> None:
    for text, steps in (("a: 1\n", ["b"]), ("a: [1]\n", ["a", 1]), ("a: 1\n", ["a", "b"]), ("", ["a"]), ("a: 1\n", [])):
        with pytest.raises(errors.ConfigError):
            yaml_editor.remove(text, steps)  # type: ignore[arg-type]


def test_a_value_that_cannot_be_written() -> None:
    with pytest.raises(errors.ConfigError, match="no number"):
        yaml_editor.set_value("a: 1\n", ["a"], float("inf"))


def test_no_list_to_insert_into() -> None:
    with pytest.raises(errors.ConfigError, match="no list"):
        yaml_editor.insert("a: {b: 1}\n", ["a", "b"], 1)
    with pytest.raises(errors.ConfigError, match="single value"):
        yaml_editor.append("a: 1\n", ["a"], 1)


def test_what_would_change_something_else_is_not_returned() -> None:
    """The last line of a literal without a line end would get one."""
    with pytest.raises(errors.ConfigError, match="cannot be edited safely"):
        yaml_editor.set_value("a: |\n  x", ["b"], 1)


def test_talos_reads_what_is_set_by_its_own_rules() -> None:
    assert yaml_editor.set_value("a: on\n", ["on"], 1.0, dialect=YamlDialect.TALOS) == 'a: on\n"on": 1.0\n'


def test_a_large_manifest_is_replaced_in_no_time() -> None:
    body = "".join(f"key-{n}: a value\n" if n % 9 else "---\n" for n in range(100_000))
    before = "cluster:\n  inlineManifests:\n    - name: x # n\n      contents: |\n" + "".join(
        f"        {line}\n" for line in body.splitlines()
    )

    after = yaml_editor.set_value(before, ["cluster", "inlineManifests", 0, "contents"], body.replace("value", "other"))

    assert after == before.replace("value", "other")


VALUES = [
    "x", "on", "1", "a: b", "l1\nl2", "l1\nl2\n", "\n a\n", "a\n\n", "it's \"x\"", "tab\there", "", 1, 1.5, True,
    None, {}, [], {"n": 1, "m": ["a", {"b": "c\nd\n"}]}, ["p", {"q": 1, "r": 2}, ["s"]],
]  # fmt: skip


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found += paths(each, (*path, key))
    return found


def entries(chance: random.Random) -> list[str]:
    """The lines of some keys with everything below them, in mixed styles."""
    writer = generated.Writer(chance)
    found = []
    for n in range(chance.randint(1, 4)):
        above = chance.choice(["", "", "", "# above\n", "\n"])
        found.append(f"{above}k{n}:{writer.value(0, 3)}")
    ends = chance.choice(["\n", "\n", "\n", "\r\n"])
    return [entry.replace("\n", ends) for entry in found]


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_an_edit_changes_nothing_outside_of_its_entry(chance: random.Random) -> None:
    """What stands before and behind the entry of the first step is the same, byte for byte, and means the same."""
    parts = entries(chance)
    text = "".join(parts)
    contents = yaml_reader.read_text(text, "a.yaml")
    if not contents.documents or any(each.severity is Severity.ERROR for each in contents.diagnostics):
        return
    before = contents.documents[0].value
    path = chance.choice(paths(before))
    value = chance.choice(VALUES)
    if not str(path[0]).startswith("k"):
        return
    try:
        match chance.randrange(5):
            case 0 | 1:
                after = yaml_editor.set_value(text, path, value)
            case 2:
                after = yaml_editor.remove(text, path)
            case 3:
                after = yaml_editor.append(text, path, value)
            case _:
                after = yaml_editor.set_value(text, (*path, "zz", 0), value)
    except errors.ConfigError:
        return

    number = int(str(path[0])[1:])
    assert after.startswith("".join(parts[:number]))
    assert after.endswith("".join(parts[number + 1 :]))
    [document] = yaml_reader.read_text(after, "a.yaml").documents or [None]
    for key, each in before.items():
        if key != path[0]:
            assert document is not None
            assert document.value[key] == each


def get(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_an_edit_can_be_undone(chance: random.Random) -> None:
    """Setting a value and then the old one again means what it meant before."""
    text = "".join(entries(chance))
    contents = yaml_reader.read_text(text, "a.yaml")
    if not contents.documents or contents.diagnostics:
        return
    before = contents.documents[0].value
    path = chance.choice(paths(before))
    try:
        once = yaml_editor.set_value(text, path, chance.choice(VALUES))
        twice = yaml_editor.set_value(once, path, get(before, path))
    except errors.ConfigError:
        return

    assert yaml_reader.read_text(twice, "a.yaml").documents[0].value == before


def test_most_edits_are_possible() -> None:
    """A refusal is safe, and of no use: of what has no anchors nearly nothing is refused."""
    chance, refused, total = random.Random(1), [], 0
    while total < 400:
        text = "".join(entries(chance))
        contents = yaml_reader.read_text(text, "a.yaml")
        if not contents.documents or contents.diagnostics or "&" in text or "? " in text:
            continue
        total += 1
        path = chance.choice(paths(contents.documents[0].value))
        try:
            yaml_editor.set_value(text, path, chance.choice(VALUES))
            yaml_editor.remove(text, path)
        except errors.ConfigError as error:
            refused.append((error.message, text, path))

    assert len(refused) <= 4, refused[:3]
