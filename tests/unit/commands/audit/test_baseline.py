"""Baselines: what they excuse, and what is said of them."""

import datetime
from typing import Any

import pytest

from firstlight.commands.audit import baseline, rulebook
from firstlight.document.mistakes import FormMistakes
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Excuse, Finding
from firstlight.model.place import Place

TODAY = datetime.date(2026, 11, 1)
RULE = "cluster-id-shared"
FINDING = Finding(code=RULE, severity=Severity.ERROR, message="m", places=(Place("a.yaml", 7),), key="the key")


def read(**given: str) -> baseline.AuditBaseline:
    fields = {"rule": RULE, "path": "a.yaml", "key": "the key", "reason": "known", "until": "2026-11-01", **given}
    lines = "".join(f"    {name}: {value}\n" for name, value in fields.items())
    return baseline.read(f"excused:\n  -\n{lines}".encode(), "baseline.yaml")


def applied(given: baseline.AuditBaseline, *found: Finding, **options: Any) -> tuple[int, int, list[str]]:
    book = rulebook.read_rulebook()
    known = {"tried": list(book.rules), **options}
    left, gone, said = baseline.applied(found, given, book=book, today=TODAY, **known)
    return len(left), len(gone), [each.code for each in said]


def test_the_same_finding_is_excused_wherever_its_line_has_moved_to() -> None:
    book = rulebook.read_rulebook()
    left, (one,), said = baseline.applied([FINDING], read(), book=book, today=TODAY, tried=list(book.rules))

    assert (left, said) == ([], [])
    assert (one.by, one.reason, one.until, str(one.place)) == (
        Excuse.BASELINE,
        "known",
        "2026-11-01",
        "baseline.yaml:3:5",
    )


@pytest.mark.parametrize("other", [{"key": "another"}, {"path": "b.yaml"}, {"rule": "mesh-by-hand"}])
def test_another_one_is_not_and_the_entry_is_stale(other: dict[str, str]) -> None:
    assert applied(read(**other), FINDING) == (1, 0, ["baseline-stale"])


def test_an_entry_past_its_day_excuses_nothing_and_is_said() -> None:
    assert applied(read(until="2026-10-31"), FINDING) == (1, 0, ["baseline-expired"])


def test_an_entry_of_a_rule_that_does_not_exist_is_said() -> None:
    assert applied(read(rule="nonsense")) == (0, 0, ["baseline-unknown-rule"])


def test_what_was_not_looked_for_is_not_stale() -> None:
    assert applied(read(), tried=["baseline-stale"])[2] == []
    assert applied(read(), is_whole=False)[2] == []
    assert applied(read(asked="[live]"))[2] == []
    assert applied(read(asked="[live]"), asked=frozenset({"live"}))[2] == ["baseline-stale"]


def test_findings_about_excuses_are_not_excused() -> None:
    finding = Finding(
        code="ignore-expired", severity=Severity.WARNING, message="m", places=(Place("a.yaml"),), key="the key"
    )

    assert applied(read(rule="ignore-expired"), finding)[:2] == (1, 0)


@pytest.mark.parametrize(
    ("given", "says"), [({"until": "tomorrow"}, "until: 'tomorrow' is no day"), ({"reason": '" "'}, "reason is empty")]
)
def test_a_file_that_is_wrong_says_where(given: dict[str, str], says: str) -> None:
    with pytest.raises(FormMistakes, match=says) as caught:
        read(**given)
    assert (caught.value.path, caught.value.line > 0) == ("baseline.yaml", True)


def test_what_is_written_is_read_back() -> None:
    entry = baseline.entry(FINDING, reason="it: waits # for us", until=TODAY, asked=["live"])

    ((found, _),) = baseline.read(baseline.written([entry]).encode(), "b.yaml").entries

    assert found == entry


def test_an_end_that_nobody_will_see_is_said() -> None:
    assert applied(read(until="9999-12-31"), FINDING) == (0, 1, ["excuse-too-long"])
    assert applied(read(until="2031-11-01"), FINDING) == (0, 1, [])
