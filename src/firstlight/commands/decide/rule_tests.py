"""The form of tests of rules: a change as data or a sentence, and the answer that it must get."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from firstlight.commands.decide import rule_book
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.judgement import decide
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import RiskWord, Scalar
from firstlight.document import mistakes, path_patterns
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.component import Component, ObjectId, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.decision import Decision
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource


class CaseComponent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The component that a change belongs to, made up for a test."""

    name: str
    role: str = ""
    phase: str = "gitops"
    owner: Literal["bootstrap", "gitops"] = "gitops"
    chart: str = ""
    dependents: tuple[str, ...] = ()


class CaseChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A change, made up for a test."""

    matter: str = "object"
    verb: str = "changed"
    kind: str = ""
    """As in rules: ``apps/Deployment``, ``/Secret``, ``talos/v1alpha1``."""
    name: str = ""
    namespace: str = ""
    file: str = ""
    path: str = ""
    """The way to the one field that differs, written as in rules: ``spec.containers[name=web].image``. Without it, and
    without ``values``, the object as a whole comes, goes or moves."""
    values: str = ""
    """The way to the field inside the values of a chart."""
    before: Scalar = None
    after: Scalar = None
    clear: bool = False
    """Whether it is a secret that anybody can read in Git."""
    hooked: bool = False
    """Whether a hook or a command gate runs or reads the file."""
    object: Mapping[str, Any] = {}
    """All of what comes or goes, for factors that look at its fields."""
    component: CaseComponent | None = None


class ExpectedDecision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The answer; what is left out may be anything."""

    side: Literal["bootstrap", "gitops", "hybrid", "none", ""] = ""
    risk: RiskWord | Literal[""] = ""
    approval: Literal["self", "peer", "lead", "team", ""] = ""
    rule: str = ""
    """Of the gravest ruling; of a sentence the nearest."""
    factors: tuple[str, ...] = ()
    """These are among them."""
    criteria: tuple[str, ...] = ()
    trees: Mapping[str, Literal["bootstrap", "gitops", "hybrid"]] = {}
    """Where the trees end, by their id."""
    overruled: bool | None = None
    """Whether a tree says otherwise than the rule."""


class RuleCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One test: ``change``, ``changes`` or ``sentence``."""

    name: str
    expect: ExpectedDecision
    change: CaseChange | None = None
    changes: tuple[CaseChange, ...] = ()
    sentence: str = ""
    operational: bool | None = None
    engine_works: bool | None = None
    source: str = ""
    """Which row of which document says so."""


class RuleCaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A file with tests."""

    tests: tuple[RuleCase, ...]


# A team's tests of its rules: each case judged, and held against what it expects.


_CLUSTER = "test"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What came of one case."""

    case: RuleCase
    place: Place
    wrong: tuple[str, ...]
    """What is not as expected; empty where all is well."""
    decision: Decision | None = None
    """None for sentences."""


def cases(files: Sequence[tuple[str, bytes]]) -> tuple[tuple[RuleCase, Place], ...]:
    """All tests of files that are given with their paths.

    Raises:
        Mistaken: One of them says something that it must not say.
    """
    found: list[tuple[RuleCase, Place]] = []
    diagnostics: list[Diagnostic] = []
    for path, data in sorted(files):
        try:
            file, document = mistakes.parsed(data, path, RuleCaseFile)
        except mistakes.FormMistakes as mistaken:
            diagnostics += mistaken.diagnostics
            continue
        for number, case in enumerate(file.tests):
            place = document.place("tests", number)
            found.append((case, place))
            diagnostics += [
                Diagnostic.error(code, message, at=place, fix=fix) for code, message, fix in _problems(case)
            ]
    if diagnostics:
        raise mistakes.FormMistakes(diagnostics)
    return tuple(found)


def run(tests: Sequence[tuple[RuleCase, Place]], book: RuleBook) -> tuple[Tested, ...]:
    """Judge each case."""
    return tuple(_tested(case, place, book) for case, place in tests)


def _problems(case: RuleCase) -> Iterator[tuple[str, str, str]]:
    if sum((case.change is not None, bool(case.changes), bool(case.sentence))) != 1:
        yield "rule-test-wrong", f"{case.name} must have one of change, changes and sentence", "Leave the others out."
    for each in (*([case.change] if case.change else []), *case.changes):
        for word, words in ((each.matter, tuple(Matter)), (each.verb, tuple(ChangeVerb))):
            if word not in words:
                yield "rule-name-unknown", f"{case.name}: there is no {word!r}", mistakes.near(word, words)
        if each.kind and each.kind.count("/") != 1:
            yield "rule-kind-wrong", f"{case.name}: {each.kind!r} is no kind", "Write group/Kind, or talos/Kind."
        if each.component is not None and each.component.phase not in tuple(Phase):
            yield (
                "rule-name-unknown",
                f"{case.name}: there is no phase {each.component.phase!r}",
                mistakes.near(each.component.phase, tuple(Phase)),
            )
        for text in (each.path, each.values):
            try:
                _ = path_patterns.split(text) if text else ()
            except ValueError as error:
                yield (
                    "rule-path-wrong",
                    f"{case.name}: {text!r} is no way to a field: {error}",
                    "Write such as spec.replicas.",
                )


def _tested(case: RuleCase, place: Place, book: RuleBook) -> Tested:
    if case.sentence:
        found = rule_book.nearest_rules(case.sentence, book)
        return Tested(case=case, place=place, wrong=tuple(_wrong_sentence(case, found)))
    forms = [case.change] if case.change is not None else list(case.changes)
    facts = DecisionFacts(operational=case.operational, engine_works=case.engine_works)
    platform = _platform(forms)
    decision = decide([change_of(each) for each in forms], platform=platform, book=book, title=case.name, facts=facts)
    return Tested(case=case, place=place, wrong=tuple(_wrong(case, decision)), decision=decision)


def _wrong_sentence(case: RuleCase, found: Sequence[rule_book.Nearest]) -> Iterator[str]:
    expected = case.expect
    first = found[0].rule if found else None
    if expected.rule and (first is None or first.id != expected.rule):
        yield f"rule: expected {expected.rule}, is {', '.join(each.rule.id for each in found) or 'none'}"
    if expected.side and first is not None and first.side != expected.side:
        yield f"side: expected {expected.side}, is {first.side}"
    if expected.risk and first is not None and first.risk != expected.risk:
        yield f"risk: expected {expected.risk}, is {first.risk}"


def _wrong(case: RuleCase, decision: Decision) -> Iterator[str]:
    expected = case.expect
    ruling = decision.items[0].rulings[0]
    given = {
        "side": (expected.side, decision.side or "none"),
        "risk": (expected.risk, decision.risk),
        "approval": (expected.approval, decision.approval),
        "rule": (expected.rule, ruling.rule),
    }
    for name, (wanted, found) in given.items():
        if wanted and wanted != str(found):
            yield f"{name}: expected {wanted}, is {found} (rule {ruling.rule})"
    factors = {each.id for item in decision.items for found in item.rulings for each in found.factors}
    criteria = {each for item in decision.items for found in item.rulings for each in found.criteria}
    for name, missing in (
        ("factor", set(expected.factors) - factors),
        ("criterion", set(expected.criteria) - criteria),
    ):
        yield from (f"{name}: {each} is not among them" for each in sorted(missing))
    ends = {each.tree: each.side for each in ruling.trees}
    for tree, side in expected.trees.items():
        if ends.get(tree) != side:
            yield f"tree {tree}: expected {side}, ends at {ends.get(tree, 'none')}"
    overruled = any(each.is_overruled for each in ruling.trees)
    if expected.overruled is not None and expected.overruled != overruled:
        yield f"overruled: expected {str(expected.overruled).lower()}, is {str(overruled).lower()}"


def change_of(form: CaseChange) -> Change:
    """The change that a form describes."""
    group, _, kind = form.kind.partition("/")
    path = form.file or ("talos/patch.yaml" if form.matter == Matter.MACHINE else "kubernetes/test.yaml")
    is_object = form.matter in (Matter.OBJECT, Matter.SECRET) and bool(kind)
    fields = tuple(_fields(form, Place(path, 1)))
    return Change(
        matter=Matter(form.matter),
        verb=ChangeVerb.CHANGED if form.path or form.values else ChangeVerb(form.verb),
        place=Place(path, 1),
        title=" ".join(each for each in (kind, form.name) if each) or path,
        object=ObjectId(group, kind, form.namespace, form.name) if is_object else None,
        kind=kind,
        fields=fields,
        after=form.object if form.object and form.verb != ChangeVerb.REMOVED else None,
        before=form.object if form.object and form.verb == ChangeVerb.REMOVED else None,
        cluster=_CLUSTER,
        component=form.component.name if form.component else "",
        is_hooked=form.hooked,
    )


def _fields(form: CaseChange, place: Place) -> Iterator[ChangedField]:
    if form.path or form.values:
        values = path_patterns.split(form.values) if form.values else None
        steps = path_patterns.split(form.path) if form.path else ("spec", "values", *(values or ()))
        yield ChangedField(
            steps=steps,
            verb=ChangeVerb(form.verb),
            place=place,
            before=form.before,
            after=form.after,
            values=values,
            is_clear=form.clear,
        )
        return
    verb = ChangeVerb.REMOVED if form.verb == ChangeVerb.REMOVED else ChangeVerb.ADDED
    for steps, value in _leaves(form.object, ()):
        sides = {"before": value} if verb is ChangeVerb.REMOVED else {"after": value}
        yield ChangedField(steps=steps, verb=verb, place=place, is_clear=form.clear, **sides)


def _leaves(value: Any, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _leaves(each, (*steps, str(key)))
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            name = each.get("name") if isinstance(each, Mapping) else None
            yield from _leaves(each, (*steps, f"[name={name}]" if isinstance(name, str) else f"[{number}]"))
    elif steps:
        yield steps, value


def _platform(forms: Sequence[CaseChange]) -> Platform:
    """A platform that has the components of the forms, and those that need them."""
    components: dict[str, Component] = {}
    for form in forms:
        if form.component is not None:
            components[form.component.name] = _component(form.component)
            for name in form.component.dependents:
                needing = _component(CaseComponent(name=name), needs=(form.component.name,))
                components.setdefault(name, needing)
    return Platform(name="test", root=Path("/"), engine=None, clusters=(), components=tuple(components.values()))


def _component(form: CaseComponent, *, needs: tuple[str, ...] = ()) -> Component:
    source = ChartSource(name=form.chart) if form.chart else DirectorySource(path=f"kubernetes/{form.name}")
    side = Side(form.owner)
    origin = Origin(form=SourceForm.DECLARED, side=side, place=Place("firstlight.yaml"), name=form.name, source=source)
    return Component(
        name=form.name,
        cluster=_CLUSTER,
        phase=Phase(form.phase),
        side=side,
        owner=Owner(form.owner),
        role=form.role,
        why="",
        needs=needs,
        origins=(origin,),
    )
