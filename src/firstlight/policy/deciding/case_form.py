"""The form of tests of rules: a change as data or a sentence, and the answer that it must get."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from firstlight.policy.deciding.form import RiskWord, Scalar


class ComponentForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The component that a change belongs to, made up for a test."""

    name: str
    role: str = ""
    phase: str = "gitops"
    owner: Literal["bootstrap", "gitops"] = "gitops"
    chart: str = ""
    dependents: tuple[str, ...] = ()


class ChangeForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
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
    component: ComponentForm | None = None


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
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


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One test: ``change``, ``changes`` or ``sentence``."""

    name: str
    expect: Expected
    change: ChangeForm | None = None
    changes: tuple[ChangeForm, ...] = ()
    sentence: str = ""
    operational: bool | None = None
    engine_works: bool | None = None
    source: str = ""
    """Which row of which document says so."""


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A file with tests."""

    tests: tuple[Case, ...]
