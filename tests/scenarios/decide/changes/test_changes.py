"""Changes of the harder kinds, each with the answer that a reviewer of a platform team would give, and why.

Each YAML file is a class: edits of one of the repos in ``repos``, and the answer that is expected.
"""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import pytest
import yaml

from firstlight.model.decision import Decision
from tests.conftest import agreement
from tests.scenarios.decide.changes.deciding import REPOS, Base, base

HERE = Path(__file__).parent
CLASSES = sorted(each.stem for each in HERE.glob("*.yaml"))


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is done to one file."""

    file: str
    old: str = ""
    new: str = ""
    """A piece of it that stands there once, and what takes its place."""
    write: str | None = None
    """All of it."""
    add: str = ""
    """What is written behind it."""
    to: str = ""
    """Where it is moved; before anything else is done."""
    remove: bool = False


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The right answer."""

    side: Literal["bootstrap", "gitops", "hybrid", "none"]
    risk: Literal["low", "medium", "high", "critical"]
    approval: Literal["self", "peer", "lead", "team"]
    rule: str = ""
    """Of the gravest ruling; empty where nothing changes."""
    affected: tuple[str, ...] = ()
    """Components that must be among those that are affected."""
    brings: tuple[str, ...] = ()
    """Components that must be among those that it brings, and that are not among those that need it."""
    unbrought: tuple[str, ...] = ()
    """Components that must not be among those that it brings."""
    factors: dict[str, str] = {}
    """One that must be among those of an item, by what the item is about."""
    factor: str = ""
    """One that must be among those of the gravest item."""
    items: int | None = None
    commands: tuple[str, ...] = ()
    """Commands that must be among those of the procedure."""
    without: tuple[str, ...] = ()
    """Words that no command has, neither there nor on the way back."""
    undone: tuple[str, ...] = ()
    """Words that no command of the procedure has."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One change."""

    name: str
    why: str
    edits: tuple[Edit, ...]
    expect: Expected
    repo: str = "fleet"


@functools.cache
def cases(name: str) -> tuple[Case, ...]:
    return msgspec.convert(yaml.safe_load((HERE / f"{name}.yaml").read_text()), tuple[Case, ...])


def edited(repo: Base, edits: tuple[Edit, ...]) -> dict[str, bytes | None]:
    """The files that a change makes others, or takes away."""
    files: dict[str, bytes | None] = {}

    def text(path: str) -> str:
        known = files[path] if path in files else repo.tree.bytes(path)
        assert known is not None, path
        return known.decode()

    for each in edits:
        if each.to:
            files[each.to] = text(each.file).encode()
        if each.old:
            assert text(each.file).count(each.old) == 1, f"{each.file}: {each.old!r} stands there not once"
            files[each.file] = text(each.file).replace(each.old, each.new).encode()
        if each.write is not None:
            files[each.file] = each.write.encode()
        if each.add:
            files[each.file] = (text(each.file) + each.add).encode()
        if each.remove or each.to:
            files[each.file] = None
    return files


@functools.cache
def answered(name: str) -> dict[str, tuple[Case, Decision]]:
    found = {}
    for case in cases(name):
        repo = base(REPOS / case.repo)
        found[case.name] = (case, repo.decided(edited(repo, case.edits)))
    return found


def wrong(case: Case, decision: Decision) -> Iterator[str]:
    """What is not as expected."""
    expect, item = case.expect, decision.items[0] if decision.items else None
    ruling = item.rulings[0] if item else None
    answer = {
        "side": str(decision.side) if decision.side else "none",
        "risk": str(decision.risk),
        "approval": str(decision.approval),
        "rule": ruling.rule if ruling else "",
    }
    for what, found in answer.items():
        if found != getattr(expect, what):
            yield f"{what} is {found or 'not there'}, not {getattr(expect, what)}"
    names = {each.partition("/")[2] for each in decision.affected}
    if missing := set(expect.affected) - names:
        yield f"not affected: {sorted(missing)}; only {sorted(names)}"
    brought = {each.partition("/")[2] for each in decision.brought}
    if missing := set(expect.brings) - brought:
        yield f"not brought: {sorted(missing)}; only {sorted(brought)}"
    factors = {factor.id for each in item.rulings for factor in each.factors} if item else set()
    if expect.factor and expect.factor not in factors:
        yield f"its factors are {sorted(factors)}, without {expect.factor}"
    if wrongly := set(expect.unbrought) & brought:
        yield f"brought: {sorted(wrongly)}"
    for title, factor_id in expect.factors.items():
        mine = {f.id for each in decision.items if each.change.title == title for r in each.rulings for f in r.factors}
        if factor_id not in mine:
            yield f"the factors of {title} are {sorted(mine)}, without {factor_id}"
    done = [each.command for each in decision.procedure]
    yield from (f"{each} is not done" for each in expect.commands if each not in done)
    for each in (*done, *(each.command for each in decision.rollback)):
        yield from (f"{each!r} has {word!r}" for word in expect.without if word in each)
    yield from (f"{each!r} has {word!r}" for each in done for word in expect.undone if word in each)
    if expect.items is not None and len(decision.items) != expect.items:
        yield f"{len(decision.items)} items: {[f'{each.change.verb} {each.change.title}' for each in decision.items]}"


@pytest.mark.parametrize("name", CLASSES)
def test_answered_as_a_reviewer_would(name: str) -> None:
    answers = answered(name)
    assert len(answers) == len(cases(name)), "two cases have one name"

    found = {each: problems for each, (case, decision) in answers.items() if (problems := [*wrong(case, decision)])}

    agreement(f"changes, {name}", len(answers) - len(found), len(answers))
    assert found == {}


def test_enough_of_each_answer() -> None:
    """Sixty and more, and every side, risk and approval among them many times."""
    everything = [each for name in CLASSES for each in cases(name)]

    assert len(everything) >= 60
    for what in ("side", "risk", "approval"):
        given = [getattr(each.expect, what) for each in everything]
        assert all(given.count(each) >= 5 for each in set(given)), what
    assert {each.expect.side for each in everything} == {"bootstrap", "gitops", "hybrid", "none"}
    assert {each.expect.risk for each in everything} == {"low", "medium", "high", "critical"}


def test_every_answer_says_what_to_do() -> None:
    """What changes has a procedure, a way back and checks, whoever does it; each ruling has its reason."""
    for name in CLASSES:
        for case, decision in answered(name).values():
            if decision.side is not None:
                assert decision.procedure, case.name
                assert decision.rollback, case.name
                assert {each.moment for each in decision.checks} == {"pre", "post"}, case.name
            for item in decision.items:
                assert item.rulings, case.name
                assert all(each.why for each in item.rulings), case.name


def test_no_change_of_machines_is_of_git_alone() -> None:
    for name in CLASSES:
        for case, decision in answered(name).values():
            machines = [each for each in decision.items if each.change.matter == "machine"]
            assert all(str(each.side) in ("bootstrap", "hybrid") for each in machines), case.name


def test_whole_is_its_worst_part() -> None:
    for name in CLASSES:
        for case, decision in answered(name).values():
            if decision.items:
                assert decision.risk == max(each.risk for each in decision.items), case.name
                fields = dataclasses.replace(decision, items=tuple(reversed(decision.items)))
                assert fields.approval == decision.approval, case.name
