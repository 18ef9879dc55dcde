"""The form of a team's tests of its audit rules, and whether what a rule finds is what a test expects.

tests:
  - name: a web server without limits
    rule: web-limits
    files: {kubernetes/apps/web.yaml: "…"}
    finds: [{place: "kubernetes/apps/web.yaml:12", says: no limits}]     nothing where it must be quiet
"""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import scratch
from firstlight.commands.audit import rulebook
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.commands.decide.rule_card import RuleTest
from firstlight.document import mistakes
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo import file_patch, platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.platform_view import LiveObjects, PlatformView
from firstlight.repo.secrecy import secret_search
from firstlight.repo.work_tree import WorkTree


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sections share: unknown fields are errors."""


class ExpectedFinding(_Section, frozen=True):
    """One finding."""

    place: str
    """``PATH:LINE``, or the path alone for any line."""
    says: str = ""
    """A part of the message."""
    clusters: tuple[str, ...] = ()
    """Exactly these, if any are named."""


class AuditTestCase(_Section, frozen=True):
    """One test of one rule over a made-up repo."""

    name: str
    rule: str
    files: Mapping[str, str]
    """Texts by path."""
    finds: tuple[ExpectedFinding, ...] = ()
    fixed: Mapping[str, str] = {}
    """The files that edits change, as they are afterwards."""
    live: Mapping[str, tuple[Mapping[str, Any], ...]] = {}
    """What clusters answer, if they are asked."""
    today: str = ""


class AuditTestFile(_Section, frozen=True):
    """A file with tests."""

    tests: tuple[AuditTestCase, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedTestCase:
    """A test, and where it is written."""

    case: AuditTestCase
    place: Place


def cases(files: Sequence[tuple[str, bytes]], book: AuditRulebook) -> tuple[PlacedTestCase, ...]:
    """All tests of files that are given with their paths.

    Raises:
        mistakes.Mistaken: One of them says something that it must not say.
    """
    found: list[PlacedTestCase] = []
    diagnostics: list[Diagnostic] = []
    for path, data in sorted(files):
        try:
            file, document = mistakes.parsed(data, path, AuditTestFile)
        except mistakes.FormMistakes as mistaken:
            diagnostics += mistaken.diagnostics
            continue
        for number, case in enumerate(file.tests):
            place = document.place("tests", number)
            found.append(PlacedTestCase(case, place))
            diagnostics += [
                Diagnostic.error(code, message, at=place, fix=fix) for code, message, fix in _problems(case, book)
            ]
    if diagnostics:
        raise mistakes.FormMistakes(diagnostics)
    return tuple(found)


def wrong(case: AuditTestCase, found: Sequence[Finding], edited: Mapping[str, str]) -> Iterator[str]:
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


def _is(finding: Finding, expected: ExpectedFinding) -> bool:
    places = (finding.place.path, f"{finding.place.path}:{finding.place.line}", str(finding.place))
    clusters = tuple(sorted(expected.clusters))
    return expected.place in places and expected.says in finding.message and clusters in ((), finding.clusters)


def _problems(case: AuditTestCase, book: AuditRulebook) -> Iterator[tuple[str, str, str]]:
    if case.rule not in book.rules:
        yield (
            "rule-name-unknown",
            f"{case.name}: there is no rule {case.rule}",
            mistakes.near(case.rule, sorted(book.rules)),
        )
    for path in case.files:
        if path.startswith(("/", "../")) or "/../" in path:
            yield "rule-test-path-outside", f"{case.name}: {path} is outside of the repo", "Write a path below it."


# A team's tests of its audit rules, each run over the repo that it makes up.


def tested(tree: WorkTree) -> tuple[RuleTest, ...]:
    """A team's tests, run.

    Raises:
        errors.ConfigError: A file says something that it must not say.
    """
    book = rulebook.book(tree)
    files = [each for each in rulebook.of_tree(tree) if each[0].endswith(rulebook.TESTS)]
    with scratch.directory("audit") as directory:
        empty = WorkTree(Path(directory))
        return tuple(
            RuleTest(name=each.case.name, place=str(each.place), wrong=_wrong(each.case, book, empty))
            for each in cases(files, book)
        )


def _wrong(case: AuditTestCase, book: AuditRulebook, empty: WorkTree) -> tuple[str, ...]:
    tree = OverlaidTree(empty, {path: text.encode() for path, text in case.files.items()})
    try:
        today = datetime.date.fromisoformat(case.today) if case.today else datetime.datetime.now().astimezone().date()
        scene = PlatformView(
            platform=platform_reader.read_tree(tree),
            files=tree,
            today=today,
            clear_secrets=secret_search.clear_secrets_of(tree),
            live={name: _live(objects) for name, objects in case.live.items()},
        )
        found = rulebook.findings(scene, book, only=[case.rule])
    except errors.FirstlightError as error:
        return (error.message,)
    except Exception as error:  # noqa: BLE001 - a rule may be a team's own function
        return (f"the rule broke down: {type(error).__name__}: {error}",)
    made = file_patch.patch(tree, found)
    edited = {path: (data or b"").decode() for path, data in made.after.items()}
    return tuple(wrong(case, found, edited))


def _live(objects: Sequence[Mapping[str, Any]]) -> LiveObjects:
    found: dict[tuple[str, str], tuple[Mapping[str, Any], ...]] = {}
    for each in objects:
        named = ObjectId.of(each)
        key = named.group, named.kind
        found[key] = (*found.get(key, ()), each)
    return LiveObjects(objects=found)
