"""The lines of a text that say something."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_HEREDOC = re.compile(r"<<-?\s*(?P<quote>['\"]?)(?P<word>[A-Za-z_]\w*)(?P=quote)")
_TRAILING = re.compile(r"\s(?P<mark>#|//)(?:\s.*)?$")
_TEMPLATE_COMMENT = re.compile(r"\{\{-?\s*/\*.*?\*/\s*-?\}\}|\{#.*?#\}", re.DOTALL)
_STATEMENT = re.compile(r"\{\{-?\s*(?:if|else|end|range|with|define|template|block|include|break|continue)\b|\{%")
_SECRET = re.compile(r"kind:\s*[\"']?Secret\b")


class Line(NamedTuple):
    """A line of a file."""

    number: int
    """From 1."""
    text: str
    is_hidden: bool = False
    """Whether it is part of a Secret."""
    parts: tuple[tuple[int, str], ...] = ()
    """Where a command goes on in further lines, each of them with its number."""


def said(text: str, *, comments: Sequence[str] = ("#",), is_template: bool = False) -> list[Line]:
    """The lines that say something: none that is blank or only a comment; those of a here-document all do."""
    if is_template:
        text = _TEMPLATE_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    found: list[Line] = []
    document: list[Line] = []
    end = ""
    is_continued = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if end:
            document.append(Line(number, line.rstrip()))
            if stripped == end:
                found += _hidden(document)
                document, end = [], ""
            continue
        is_comment = stripped.startswith(tuple(comments)) and not stripped.startswith("#!")
        if not stripped or is_comment:
            continue
        opened = _HEREDOC.search(stripped) if "#" in comments else None
        end = opened["word"] if opened else ""
        text_of = _without_comment(line.rstrip(), comments)
        if is_continued:
            found[-1] = _joined(found[-1], number, text_of)
        else:
            found.append(Line(number, text_of))
        is_continued = "#" in comments and text_of.endswith("\\")
    return [*found, *_hidden(document)]


def _joined(line: Line, number: int, text: str) -> Line:
    """A line that ends with a backslash, with the one that it goes on in."""
    parts = (*(line.parts or ((line.number, line.text),)), (number, text))
    return line._replace(text=f"{line.text[:-1].rstrip()} {text.strip()}", parts=parts)


def _hidden(document: Sequence[Line]) -> list[Line]:
    """The lines of a here-document; those of a Secret are not to be told."""
    is_secret = any(_SECRET.search(each.text) for each in document)
    return [each._replace(is_hidden=is_secret) for each in document]


def _without_comment(line: str, comments: Sequence[str]) -> str:
    match = _TRAILING.search(line)
    if match is None or match["mark"] not in comments or not line[: match.start()].strip():
        return line
    head = line[: match.start()]
    # Inside of quotes it is no comment.
    return head.rstrip() if head.count('"') % 2 == 0 and head.count("'") % 2 == 0 else line


def statements(text: str) -> list[Line]:
    """The lines of a template that say under which condition others count, or how often."""
    return [each for each in said(text, is_template=True) if _STATEMENT.search(each.text)]
