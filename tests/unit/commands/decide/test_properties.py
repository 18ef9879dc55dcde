"""What is so of every decision: nothing crashes it, and what is added never makes it milder."""

import dataclasses
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.commands.decide import rule_files, sides
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.judgement import decide
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId, Owner, Phase, Side
from firstlight.model.decision import Decision
from firstlight.model.place import Place
from tests.unit.commands.decide import books

PLATFORM = books.platform(
    books.component("web", parent="kustomization/web"),
    books.kustomization("web", "apps/web"),
    books.component("cni", phase=Phase.CORE, owner=Owner.BOOTSTRAP, role="cni"),
    books.component("dns", phase=Phase.CORE, role="dns", needs=("cni",)),
    books.component("flux", phase=Phase.ENGINE, role="engine", needs=("dns",)),
    books.inline("argocd", 0),
)
WORDS = st.sampled_from(
    [
        "spec", "values", "version", "chart", "machine", "network", "cluster", "inlineManifests", "[name=argocd]",
        "[0]", "image", "replicas", "privileged", "nodeLabels", "metadata", "data", "", ".", "\n", "a b",
        "podSubnets", "hosts",
    ]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["1.2.3", "2.0.0", "^1.0", "a:1@sha256:ab", "500m", "1Gi", ">=1 <2", "latest"]),
    st.sampled_from([[], {}, [1], {"a": 1}]),
)  # fmt: skip
PATHS = st.sampled_from(
    [
        "apps/web/release.yaml", "apps/web/a.yaml", "apps/cni/values.yaml", "talos/patch.yaml", "talos/cp-1.yaml",
        "README.md", "", "../x", "lost/a.yaml", "apps/dns/release.yaml", "clusters/home/all.yaml",
    ]
)  # fmt: skip
KINDS = st.sampled_from(
    ["", "HelmRelease", "Kustomization", "Secret", "CustomResourceDefinition", "NetworkPolicy", "v1alpha1", "Pod"]
)
NAMES = st.sampled_from(["", "web", "cni", "dns", "flux", "x"])


@st.composite
def fields(draw: st.DrawFn) -> ChangedField:
    return ChangedField(
        steps=tuple(draw(st.lists(WORDS, max_size=4))),
        verb=draw(st.sampled_from(ChangeVerb)),
        place=Place(""),
        before=draw(VALUES),
        after=draw(VALUES),
        values=draw(st.none() | st.lists(WORDS, max_size=3).map(tuple)),
        is_secret=draw(st.booleans()),
    )


@st.composite
def changes(draw: st.DrawFn, matters: tuple[Matter, ...] = tuple(Matter)) -> Change:
    kind, name = draw(KINDS), draw(NAMES)
    return Change(
        matter=draw(st.sampled_from(matters)),
        verb=draw(st.sampled_from(ChangeVerb)),
        place=Place(draw(PATHS), draw(st.integers(0, 3))),
        title=name,
        old_path=draw(PATHS),
        object=draw(st.none() | st.just(ObjectId(draw(st.sampled_from(["", "apps"])), kind, "", name))),
        kind=kind,
        fields=tuple(draw(st.lists(fields(), max_size=3))),
        level=draw(st.sampled_from(Level)),
        cluster=draw(st.sampled_from(["", "home", "away"])),
        component=draw(NAMES),
    )


FACTS = st.builds(DecisionFacts, operational=st.none() | st.booleans(), engine_works=st.none() | st.booleans())
BOOKS = st.sampled_from([books.book(), rule_files.book(), RuleBook()])


def judged(some: list[Change], book: RuleBook, **more: Any) -> Decision:
    return decide(some, platform=PLATFORM, before=PLATFORM, book=book, **more)


@settings(deadline=None, max_examples=60)
@given(st.lists(changes(), max_size=4), st.lists(changes(), max_size=3), BOOKS, FACTS)
def test_what_is_added_never_makes_it_milder(
    some: list[Change], more: list[Change], book: RuleBook, facts: DecisionFacts
) -> None:
    few, many = judged(some, book, facts=facts), judged([*some, *more], book, facts=facts)

    assert many.risk >= few.risk
    assert sides.union([few.side, many.side]) == many.side
    assert {each.id for each in few.checks} <= {each.id for each in many.checks}
    assert len(few.items) == len(some)


@settings(deadline=None, max_examples=60)
@given(changes(), fields(), BOOKS)
def test_one_more_field_never_makes_it_milder(change: Change, field: ChangedField, book: RuleBook) -> None:
    if change.verb is ChangeVerb.CHANGED and not change.fields:
        return  # nobody could say what differs; with a field it is another change
    more = dataclasses.replace(change, fields=(*change.fields, field))

    assert judged([more], book).risk >= judged([change], book).risk


@settings(deadline=None, max_examples=60)
@given(st.lists(changes((Matter.MACHINE,)), min_size=1, max_size=3), BOOKS)
def test_machine_configuration_is_never_gitops_and_never_nothing(some: list[Change], book: RuleBook) -> None:
    found = judged(some, book)

    assert found.side in (Side.BOOTSTRAP, Side.HYBRID)
    assert all(each.side in (Side.BOOTSTRAP, Side.HYBRID) for each in found.items)


@settings(deadline=None, max_examples=40)
@given(st.lists(changes(), min_size=1, max_size=4), BOOKS)
def test_the_whole_is_the_worst_of_its_parts(some: list[Change], book: RuleBook) -> None:
    found = judged(some, book)

    assert found.risk == max(each.risk for each in found.items)
    assert found.side == sides.union(each.side for each in found.items)
    for item in found.items:
        assert item.risk == max(each.risk for each in item.rulings)
        assert item.side == sides.union(each.side for each in item.rulings)
        assert [each.risk for each in item.rulings] == sorted((each.risk for each in item.rulings), reverse=True)


@settings(deadline=None, max_examples=40)
@given(changes(), BOOKS)
def test_the_first_rule_counts(change: Change, book: RuleBook) -> None:
    """Rules after the one that counts can go, and nothing changes."""
    found = judged([change], book)
    names = [each.id for each in book.rules]
    used = [names.index(each.rule) for each in found.items[0].rulings if each.rule in names]

    shorter = dataclasses.replace(book, rules=book.rules[: max(used) + 1] if used else ())
    again = judged([change], shorter)

    if len(used) == len(found.items[0].rulings):
        assert [each.rule for each in again.items[0].rulings] == [each.rule for each in found.items[0].rulings]
