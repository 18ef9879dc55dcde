"""What rules fit: each field of a condition alone."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.decide.rule_form import When
from firstlight.commands.decide.rule_match import MatchSubject, RuleCondition
from firstlight.document import path_patterns
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.component import ObjectId, Owner, Phase
from firstlight.model.source import ChartSource
from tests.unit.commands.decide import books

CILIUM = books.component("cilium", role="cni", phase=Phase.CORE, owner=Owner.BOOTSTRAP)
OBJECT = ObjectId("apps", "Deployment", "web", "front")
CHANGE = books.change(
    "apps/front.yaml", books.field("spec.replicas", 1, 2), object=OBJECT, kind="Deployment", old_path="old/front.yaml"
)


def fits(
    when: When, change: Change = CHANGE, field: ChangedField | None = CHANGE.fields[0], component: Any = CILIUM
) -> bool:
    condition = RuleCondition(when)
    way = path_patterns.joined(field.steps) if field else ""
    values = [path_patterns.joined(field.values)] if field and field.values else []
    return condition.fits_thing(MatchSubject.of(change, component)) and condition.fits_field(change, field, way, values)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"matter": ("object",)}, {"matter": ("machine",)}),
        ({"verb": ("changed", "added")}, {"verb": ("removed",)}),
        ({"kinds": ("apps/*",)}, {"kinds": ("/Deployment",)}),
        ({"paths": ("spec.*",)}, {"paths": ("status.*",)}),
        ({"files": ("apps/*.yaml",)}, {"files": ("*.yaml",)}),
        ({"files": ("old/*.yaml",)}, {"files": ("new/*.yaml",)}),
        ({"names": ("front",)}, {"names": ("back",)}),
        ({"names": ("cil*",)}, {"names": ("CIL*",)}),
        ({"roles": ("dns", "cni")}, {"roles": ("dns",)}),
        ({"phases": ("core",)}, {"phases": ("gitops",)}),
        ({"owners": ("bootstrap",)}, {"owners": ("gitops",)}),
        ({"before": (1,)}, {"before": (True,)}),
        ({"after": (2,)}, {"after": ("2",)}),
        ({"grows": True}, {"grows": False}),
        ({"whole": False}, {"whole": True}),
        ({}, {"values": ("replicas",)}),
    ],
    ids=str,
)
def test_each_condition(good: dict[str, Any], bad: dict[str, Any]) -> None:
    assert fits(When(**good))
    assert not fits(When(**bad))
    assert not fits(When(**{**good, "matter": ("tooling",)}))


def test_values_are_matched_where_they_stand() -> None:
    field = dataclasses.replace(CHANGE.fields[0], values=("hubble", "enabled"), before=True, after=False)

    assert fits(When(values=("hubble.*",), after=(False,)), field=field)
    assert not fits(When(values=("hubble",)), field=field)


def test_a_star_alone_means_itself() -> None:
    """As rules of RBAC have it: everything."""
    wide, narrow = (dataclasses.replace(CHANGE.fields[0], before="get", after=each) for each in ("*", "list"))

    assert fits(When(after=("*",)), field=wide)
    assert not fits(When(after=("*",)), field=narrow)
    assert fits(When(after=("l*",)), field=narrow)


def test_a_text_may_have_stars() -> None:
    field = books.field("spec.image", "a:1", "a:latest")

    assert fits(When(after=("*:latest",)), field=field)
    assert not fits(When(before=("*:latest",)), field=field)


def test_null_is_what_was_not_there() -> None:
    field = books.field("spec.image", None, "a", verb=ChangeVerb.ADDED)

    assert fits(When(before=(None,)), field=field)
    assert not fits(When(after=(None,)), field=field)


def test_nobody_knows_what_a_secret_is() -> None:
    field = dataclasses.replace(books.field("data.password"), is_secret=True)

    assert not fits(When(before=(None,)), field=field)
    assert fits(When(paths=("data.*",)), field=field)


def test_versions() -> None:
    field = books.field("spec.version", "1.2.3", "2.0.0")

    assert fits(When(bump=("major", "minor")), field=field)
    assert not fits(When(bump=("minor",)), field=field)


def test_an_object_as_a_whole_has_no_fields() -> None:
    assert fits(When(whole=True), field=None)
    assert fits(When(verb=("changed",)), field=None)
    for when in (When(paths=("**",)), When(bump=("other",)), When(after=(None,)), When(grows=True)):
        assert not fits(when, field=None)


def test_without_a_component_nothing_is_known_of_it() -> None:
    assert fits(When(kinds=("apps/*",)), component=None)
    assert not fits(When(owners=("bootstrap",)), component=None)
    assert not fits(When(names=("cilium",)), component=None)


def test_names_are_also_those_of_charts_and_without_the_kind() -> None:
    origin = dataclasses.replace(CILIUM.origins[0], source=ChartSource(name="charts/network"))
    component = dataclasses.replace(CILIUM, name="kustomization/net", origins=(origin,))

    assert fits(When(names=("network",)), component=component)
    assert fits(When(names=("net",)), component=component)
    assert fits(When(names=("kustomization/net",)), component=component)


def test_kinds_of_talos_are_talos_own() -> None:
    machine = books.change("talos/a.yaml", books.field("a", 1, 2), matter=Matter.MACHINE, kind="v1alpha1")

    assert fits(When(kinds=("talos/v1alpha1",)), machine, machine.fields[0])
    assert not fits(When(kinds=("/v1alpha1",)), machine, machine.fields[0])
