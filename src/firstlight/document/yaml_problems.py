"""What libyaml says of a text that is not YAML, in words that help."""

import re
from typing import Any

import yaml

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

_TEMPLATE = "this looks like a template, which is YAML only after it is rendered"
_TABS = "Indent with spaces; YAML takes no tabs there."

_SAYINGS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "there is a ': ' where no key can be",
        "Put a text that has ': ' in it in quotes, or correct the indentation.",
    ),
    (
        "could not find expected ':'",
        "a line is neither a key nor part of a text",
        "Write 'key: value', or indent it below the text that it belongs to.",
    ),
    (
        "did not find expected key",
        "a line does not fit to the keys above it",
        "Give it the indentation of its neighbours, and look for an unclosed quote.",
    ),
    (
        "did not find expected '-' indicator",
        "a line does not fit to the list above it",
        "Begin it with '- ', or give it the indentation of its neighbours.",
    ),
    (
        "',' or '}'",
        "a '{' is not closed, or a comma is missing",
        "Write {a: 1, b: 2}, or put a text that begins with '{' in quotes.",
    ),
    (
        "',' or ']'",
        "a '[' is not closed, or a comma is missing",
        "Write [a, b], or put a text that begins with '[' in quotes.",
    ),
    (
        "found unexpected end of stream",
        "a quote is not closed before the file ends",
        "Close it, or double it inside of single quotes.",
    ),
    ("found unexpected document indicator", "a quote is not closed before the document ends", "Close it."),
    ("found a tab character", "there is a tab in the indentation", _TABS),
    (
        "found unknown escape character",
        "there is a backslash that escapes nothing",
        "Use single quotes, which leave backslashes alone.",
    ),
    (
        "hexdecimal number",
        "an escape has too few hexadecimal digits",
        "Use single quotes, which leave backslashes alone.",
    ),
    (
        "invalid Unicode character escape code",
        "an escape stands for no character",
        "Use single quotes, which leave backslashes alone.",
    ),
    (
        "alphabetic or numeric character",
        "a text begins with '*' or '&', which mean alias and anchor",
        "Put it in quotes.",
    ),
    ("found undefined tag handle", "a text begins with '!', which means a tag", "Put it in quotes."),
    ("tag URI", "a text begins with '!', which means a tag", "Put it in quotes."),
    (
        "did not find expected whitespace or line break",
        "a tag runs into what follows",
        "Put a text that begins with '!' in quotes.",
    ),
    (
        "block sequence entries are not allowed",
        "a list begins on the line of something else",
        "Put '- ' on a line of its own.",
    ),
    ("block mapping entries are not allowed", "a key begins where none can be", "Put it on a line of its own."),
    ("comment or line break", "there is text behind '|' or '>'", "Begin the text on the next line, indented."),
    (
        "indentation indicator equal to 0",
        "an indentation of 0 is none",
        "Write a number from 1 to 9 behind '|' or '>'.",
    ),
    (
        "did not find expected node content",
        "a value is missing, or begins with a character that means something else",
        "Put a text that begins with such a character in quotes.",
    ),
    (
        "did not find expected <document start>",
        "there is more after the end of the document",
        "Begin the next one with a line '---'.",
    ),
    ("did not find expected <stream-start>", "it is no text", "Save it as UTF-8."),
    ("found incompatible YAML document", "it declares another version of YAML", "Leave the %YAML line out."),
    ("directive", "a line begins with '%', which means a directive", "Put it in quotes, or indent it."),
)

_BRACES = re.compile(r"\{\{|\{%")


def explain(error: yaml.YAMLError, text: str, *, path: str) -> Diagnostic:
    """Return what is wrong with a text, and what to do about it."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    if mark is None:
        return Diagnostic.error("yaml-wrong", problem, at=Place(path))
    line, column = mark.line + 1, mark.column + 1
    written = line_at(text, mark.index)
    context = getattr(error, "context_mark", None)
    if is_template(written) or (context is not None and is_template(line_at(text, context.index))):
        return template(Place(path, line, column))
    if written[: len(written) - len(written.lstrip())].count("\t"):
        return _wrong("there is a tab in the indentation", _TABS, Place(path, line, written.index("\t") + 1))
    return _wrong(*_explained(problem, text, mark), Place(path, line, column))


def _explained(problem: str, text: str, mark: Any) -> tuple[str, str]:
    """What is wrong at a mark, and what to do about it."""
    if "expected node content" in problem and not text[mark.index :].strip():
        return "a '[' or '{' is not closed before the file ends", "Close it."
    character = text[mark.index : mark.index + 1]
    if character == ":" and not text[mark.index - mark.column : mark.index].strip():
        return "there is no key before the ':'", "Write 'key: value'."
    if "cannot start any token" in problem:
        if character == "\t":
            return "there is a tab where YAML takes only spaces", _TABS
        return f"a text cannot begin with {character!r}", "Put it in quotes."
    return next(((message, fix) for saying, message, fix in _SAYINGS if saying in problem), (problem, ""))


def _wrong(message: str, fix: str, place: Place) -> Diagnostic:
    return Diagnostic.error("yaml-wrong", message, at=place, fix=fix)


def template(place: Place) -> Diagnostic:
    """Return what is said of a template where YAML is expected."""
    return Diagnostic.error(
        "yaml-template", _TEMPLATE, at=place, fix="Quote the value, or keep the template out of what is applied."
    )


def is_template(line: str) -> bool:
    """Whether a line is written for a template engine."""
    return _BRACES.search(line) is not None


def line_at(text: str, index: int) -> str:
    """The line around a position."""
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", index)
    return text[start : end if end >= 0 else len(text)]
