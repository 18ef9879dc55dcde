"""The table of docs/coverage.md names what exists, has every heading of the documents, and is what the page says."""

import ast
import functools
from collections.abc import Callable, Collection

import click
import pytest
import yaml

from firstlight.commands.decide import rule_files
from firstlight.document import diagnostic_cards
from firstlight.model.plan import Subject
from tests import command_lines, document_coverage, others
from tests.document_coverage import DONE, NOT, NOTHING, PARTLY, ROOT

SECTIONS = tuple(document_coverage.sections())
SOURCES = {
    path.name[:3]: path for place in others.PLACES for path in sorted((place / "source-documents").glob("0*.txt"))
}


def test_the_page_is_what_the_table_says() -> None:
    assert document_coverage.PAGE.read_text() == document_coverage.page(), "make coverage"


@pytest.mark.parametrize("kind", document_coverage.NAMED)
def test_what_does_a_section_exists(kind: str) -> None:
    exists = EXISTS[kind]

    unknown = [f"{each.name}: {name}" for each in SECTIONS for name in each.by.get(kind, ()) if not exists(name)]
    assert unknown == []


def test_tests_exist() -> None:
    missing = [f"{each.name}: {test}" for each in SECTIONS for test in document_coverage.tests(each) if not _has(test)]

    assert missing == []


def test_what_is_done_is_done_by_something_and_shown() -> None:
    claimed = [each for each in SECTIONS if each.state in (DONE, PARTLY) and not each.parts]

    assert [each.name for each in claimed if not each.by] == []
    assert [each.name for each in claimed if not document_coverage.tests(each)] == []


def test_what_is_missing_is_said_where_something_is() -> None:
    own = [each for each in SECTIONS if not each.parts]

    assert [each.name for each in own if bool(each.missing) != (each.state in (PARTLY, NOT))] == []
    assert [each.name for each in own if each.state not in document_coverage.STATES] == []
    assert [each.name for each in own if each.state == NOTHING and (each.by or each.tests)] == []


def test_a_section_that_is_made_of_others_is_as_far_as_the_least_of_them() -> None:
    states = {each.name: each.state for each in SECTIONS}
    for each in SECTIONS:
        of_parts = [states[f"{each.document} {part}"] for part in each.parts]
        if of_parts:
            rank = document_coverage.STATES.index
            assert rank(each.state) == max(rank(state) for state in of_parts if state != NOTHING), each.name


def test_headings_are_counted_once_and_in_order() -> None:
    for document in document_coverage.documents():
        assert [each.heading for each in document.sections] == [*range(1, len(document.sections) + 1)], document.number


def test_a_comment_in_code_is_not_a_heading() -> None:
    assert document_coverage.headings("# One\n\n```bash\n# no\n```\n   ```\n# no\n   ```\n#no\n## Two\n") == 2


@pytest.mark.skipif(not SOURCES, reason=f"no source documents in {', '.join(map(str, others.PLACES))}")
@pytest.mark.parametrize("document", document_coverage.documents(), ids=lambda each: each.number)
def test_every_heading_of_a_document_is_in_the_table(document: document_coverage.Document) -> None:
    assert len(document.sections) == document_coverage.headings(SOURCES[document.number].read_text())


@pytest.mark.skipif(not SOURCES, reason=f"no source documents in {', '.join(map(str, others.PLACES))}")
def test_every_document_has_a_table() -> None:
    assert {each.number for each in document_coverage.documents()} == set(SOURCES)


def _is_command(line: str) -> bool:
    """Whether it can be typed; FILE stands for one that is there."""
    try:
        command_lines.understand(f"firstlight {line}".replace("FILE", __file__))
    except (AssertionError, click.ClickException):
        return False
    return True


def _has(test: str) -> bool:
    path, _, function = test.partition("::")
    if not (ROOT / path).exists():
        return False
    return not function or function in _functions(path)


@functools.cache
def _functions(path: str) -> Collection[str]:
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    return {each.name for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}


def _is_page(target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = ROOT / path
    if not path.startswith("docs/") or not file.is_file():
        return False
    return not anchor or anchor in {_anchor(each) for each in file.read_text().splitlines() if each.startswith("#")}


def _anchor(line: str) -> str:
    plain = line.lstrip("#").strip().lower().replace(" ", "-")
    return "".join(each for each in plain if each.isalnum() or each in "-_")


@functools.cache
def _cards_of(*homes: str) -> Collection[str]:
    return {code for code, card in diagnostic_cards.cards().items() if card.home in homes}


@functools.cache
def _ours(key: str) -> Collection[str]:
    """Return the ids of what decide has of its own: rules, factors or procedures."""
    tables = [yaml.safe_load(data) or {} for _, data in rule_files.our_files()]
    return {each["id"] for table in tables for each in table.get(key, ())}


EXISTS: dict[str, Callable[[str], bool]] = {
    "commands": _is_command,
    "audit": lambda name: name in _cards_of(diagnostic_cards.AUDIT),
    "decide": lambda name: name in _ours("rules"),
    "factors": lambda name: name in _ours("factors"),
    "procedures": lambda name: name in _ours("procedures"),
    "gates": lambda name: name in {each.value for each in Subject},
    "doctor": lambda name: name in _cards_of(diagnostic_cards.DOCTOR),
    "diagnostics": lambda name: name in diagnostic_cards.cards().keys() - _cards_of(diagnostic_cards.AUDIT),
    "pages": _is_page,
}
"""By what a section names: whether there is one of that name."""
