"""Broken YAML: what is said, where, and what to do about it."""

import pytest

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity

BROKEN = [
    ("a: 1\n\tb: 2\n", 2, 1, "yaml-wrong", "tab in the indentation", "spaces"),
    ("a:\n  \t- b\n", 2, 3, "yaml-wrong", "tab", "spaces"),
    ("a: b: c\n", 1, 5, "yaml-wrong", "': ' where no key can be", "quotes"),
    ("a: 1\n  b: 2\n", 2, 4, "yaml-wrong", "': ' where no key can be", "indentation"),
    ("a: 1\nb\nc: 2\n", 3, 1, "yaml-wrong", "neither a key nor part of a text", "key: value"),
    ("a:\n  b: 1\n c: 2\n", 3, 2, "yaml-wrong", "does not fit to the keys above", "indentation"),
    ("a:\n  - b\n  c: 1\n", 3, 3, "yaml-wrong", "does not fit to the list above", "'- '"),
    ("a: [1, 2\nb: 3\n", 2, 2, "yaml-wrong", "'[' is not closed", "quotes"),
    ("a: {b: 1\n", 2, 1, "yaml-wrong", "'{' is not closed", "quotes"),
    ("a: [\n", 2, 1, "yaml-wrong", "not closed", "Close it"),
    ("a: 'b\nc: d\n", 3, 1, "yaml-wrong", "quote is not closed", "Close"),
    ('a: "b\n---\nc: d\n', 2, 1, "yaml-wrong", "quote is not closed", "Close"),
    ("a: @b\n", 1, 4, "yaml-wrong", "cannot begin with '@'", "quotes"),
    ("a: `b`\n", 1, 4, "yaml-wrong", "cannot begin with '`'", "quotes"),
    ("a: %b\n", 1, 4, "yaml-wrong", "cannot begin with '%'", "quotes"),
    ("host: *.example.org\n", 1, 8, "yaml-wrong", "'*' or '&'", "quotes"),
    ("host: *example\n", 1, 7, "yaml-alias-unknown", "no anchor stands before", "begins with a star"),
    ('a: "\\d"\n', 1, 5, "yaml-wrong", "backslash", "single quotes"),
    ('a: "\\x4"\n', 1, 7, "yaml-wrong", "hexadecimal", "single quotes"),
    ("a: |x\n  b\n", 1, 5, "yaml-wrong", "text behind '|'", "next line"),
    ("a: |0\n  b\n", 1, 5, "yaml-wrong", "indentation of 0", "1 to 9"),
    ("a: - b\n", 1, 4, "yaml-wrong", "list begins on the line of something else", "line of its own"),
    ("a: !x!y b\n", 1, 4, "yaml-wrong", "which means a tag", "quotes"),
    ("[a]\nb\n", 2, 1, "yaml-wrong", "more after the end", "---"),
    ("%YAML 3.0\n---\na: 1\n", 1, 1, "yaml-wrong", "version of YAML", "%YAML"),
    ("a: {{ .Values.x }}\n", 1, 5, "yaml-template", "looks like a template", "Quote"),
    ("{{- if .Values.x }}\na: 1\n{{- end }}\n", 1, 2, "yaml-template", "looks like a template", "template"),
    ("a: 1\n{% if x %}\nb: 2\n", 2, 2, "yaml-template", "looks like a template", "template"),
    ("- {{ x }}: 1\n", 1, 3, "yaml-template", "looks like a template", "Quote"),
    ("? [a]\n: b\n", 1, 3, "yaml-key-not-text", "a key is a list", "quotes"),
    ("a: &x [*x]\n", 1, 8, "yaml-alias-circular", "&x contains itself", ""),
    ("<<: 1\n", 1, 5, "yaml-merge-wrong", "<< is followed by no mapping", "<<: *name"),
    ("a: !!int x\n", 1, 4, "yaml-value-wrong", "!!int", ""),
    ("a: !!binary x\n", 1, 4, "yaml-value-wrong", "is not base64", ""),
    ("a: !!binary aG5k=\n", 1, 4, "yaml-value-wrong", "is not base64", ""),
    ("a: !!binary aG*k\n", 1, 4, "yaml-value-wrong", "is not base64", ""),
    ("a: .nan\n", 1, 4, "yaml-value-wrong", "no such number", ""),
    (": 1\n", 1, 1, "yaml-wrong", "no key before", "key"),
    ("~: 1\n", 1, 1, "yaml-value-wrong", "key is empty", ""),
    ("a: b\x01c\n", 1, 5, "yaml-control-character", "U+0001", "Delete"),
    ("a: 1\n\x00", 2, 1, "yaml-control-character", "U+0000", "Delete"),
]


@pytest.mark.parametrize(
    ("text", "line", "column", "code", "message", "fix"), BROKEN, ids=[repr(each[0]) for each in BROKEN]
)
def test_what_is_wrong_and_where(text: str, line: int, column: int, code: str, message: str, fix: str) -> None:
    [diagnostic] = yaml_reader.read(text.encode(), "dir/a.yaml").diagnostics

    assert (diagnostic.place.path, diagnostic.place.line, diagnostic.place.column) == ("dir/a.yaml", line, column)
    assert (diagnostic.code, diagnostic.severity) == (code, Severity.ERROR)
    assert message in diagnostic.message
    assert fix in diagnostic.fix
    assert not diagnostic.message.endswith(".")


@pytest.mark.parametrize(("text", "line", "column"), [(b"a: \xff\n", 1, 4), ("# é\nb: é".encode() + b"\xc3(", 2, 5)])
def test_what_is_not_utf_8(text: bytes, line: int, column: int) -> None:
    contents = yaml_reader.read(text, "a.yaml")

    assert contents.documents == ()
    [diagnostic] = contents.diagnostics
    assert (diagnostic.place.line, diagnostic.place.column, diagnostic.fix) == (
        line,
        column,
        "Save the file as UTF-8.",
    )
    assert diagnostic.code == "yaml-not-utf-8"


def test_broken_utf_16() -> None:
    [diagnostic] = yaml_reader.read(b"\xff\xfea", "a.yaml").diagnostics

    assert (diagnostic.code, diagnostic.fix) == ("yaml-not-utf-8", "Save it as UTF-8.")
