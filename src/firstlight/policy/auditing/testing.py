"""The form of a team's tests of its audit rules, and whether what a rule finds is what a test expects.

tests:
  - name: a web server without limits
    rule: web-limits
    files: {kubernetes/apps/web.yaml: "…"}
    finds: [{place: "kubernetes/apps/web.yaml:12", says: no limits}]     nothing where it must be quiet
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.document import mistakes
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.policy.auditing.loading import Book


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sections share: unknown fields are errors."""


class Expected(_Section, frozen=True):
    """One finding."""

    place: str
    """``PATH:LINE``, or the path alone for any line."""
    says: str = ""
    """A part of the message."""
    clusters: tuple[str, ...] = ()
    """Exactly these, if any are named."""


class Case(_Section, frozen=True):
    """One test of one rule over a made-up repo."""

    name: str
    rule: str
    files: Mapping[str, str]
    """Texts by path."""
    finds: tuple[Expected, ...] = ()
    fixed: Mapping[str, str] = {}
    """The files that edits change, as they are afterwards."""
    live: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    """What clusters answer, if they are asked."""
    today: str = ""


class CaseFile(_Section, frozen=True):
    """A file with tests."""

    tests: tuple[Case, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """A test, and where it is written."""

    case: Case
    place: Place


def cases(files: Sequence[tuple[str, bytes]], book: Book) -> tuple[Placed, ...]:
    """All tests of files that are given with their paths.

    Raises:
        mistakes.Mistaken: One of them says something that it must not say.
    """
    found: list[Placed] = []
    remarks: list[Remark] = []
    for path, data in sorted(files):
        try:
            file, document = mistakes.parsed(data, path, CaseFile)
        except mistakes.Mistaken as mistaken:
            remarks += mistaken.remarks
            continue
        for number, case in enumerate(file.tests):
            place = document.place("tests", number)
            found.append(Placed(case, place))
            remarks += [Remark(place, Grade.ERROR, message, hint) for message, hint in _problems(case, book)]
    if remarks:
        raise mistakes.Mistaken(remarks)
    return tuple(found)


def wrong(case: Case, found: Sequence[Finding], edited: Mapping[str, str]) -> Iterator[str]:
    """What is not as a test expects.

    Args:
        case: The test.
        found: What its rule finds.
        edited: The files that the edits change, as they are afterwards.
    """
    left = list(found)
    for each in case.finds:
        match = next((one for one in left if _is(one, each)), None)
        if match is None:
            yield f"not found: {each.place}{f', which says {each.says}' if each.says else ''}"
        else:
            left.remove(match)
    yield from (f"found, and not expected: {one.place} {one.message}" for one in left)
    for path in sorted({*case.fixed, *(edited if case.fixed else ())}):
        if edited.get(path) != case.fixed.get(path):
            yield f"fixed: {path} is not as expected"


def _is(finding: Finding, expected: Expected) -> bool:
    places = (finding.place.path, f"{finding.place.path}:{finding.place.line}", str(finding.place))
    clusters = tuple(sorted(expected.clusters))
    return expected.place in places and expected.says in finding.message and clusters in ((), finding.clusters)


def _problems(case: Case, book: Book) -> Iterator[tuple[str, str]]:
    if case.rule not in book.rules:
        yield f"{case.name}: there is no rule {case.rule}", mistakes.near(case.rule, sorted(book.rules))
    for path in case.files:
        if path.startswith(("/", "../")) or "/../" in path:
            yield f"{case.name}: {path} is outside of the repo", "Write a path below it."
