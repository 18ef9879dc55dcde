"""The form of rules for decisions, as they are written in YAML, by us and by teams.

A field that differs, or an object as a whole, gets the answer of the *first* rule that fits; a team's rules come before
ours, and one with the id of ours takes its place. *Factors* are tried besides, all of them: each raises the risk to at
least its own. So what is added to a change never makes the answer milder.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from firstlight.policy.deciding.procedure_form import CheckForm, Procedure
from firstlight.policy.deciding.tree_form import Criterion, Tree

SideWord = Literal["bootstrap", "gitops", "hybrid", "owner", "none"]
"""``owner``: bootstrap where bootstrap keeps the component, hybrid where it brings it and Git takes it over, else
gitops."""
RiskWord = Literal["low", "medium", "high", "critical"]
Bump = Literal["major", "minor", "patch", "down", "other", "skip"]
Scalar = str | int | float | bool | None


class When(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a rule fits: all that is given must be so, and of a list any."""

    matter: tuple[str, ...] = ()
    """Sorts of things, such as ``machine`` or ``object``."""
    verb: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """``group/Kind`` with stars, ``/Secret`` for the core group, ``*/Kind``; documents of Talos as ``talos/Kind``."""
    paths: tuple[str, ...] = ()
    """Ways to a field: ``machine.network.**``; ``*`` is one step, ``**`` any number, an item of a list is a step.
    A step with a dot in it stands in double quotes."""
    values: tuple[str, ...] = ()
    """Ways to a field inside the values of a chart, wherever those stand."""
    files: tuple[str, ...] = ()
    """Paths with stars; the last resort, since a path says little."""
    names: tuple[str, ...] = ()
    """Names, with stars, of the object, of the component or of its chart: any of them."""
    roles: tuple[str, ...] = ()
    """What the component is for: cni, dns, certificates, secrets, engine, storage …"""
    phases: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    bump: tuple[Bump, ...] = ()
    """What becomes of a version: the first number that differs; ``skip`` where a minor version is left out besides."""
    before: tuple[Scalar, ...] = ()
    after: tuple[Scalar, ...] = ()
    """Values; a text may have stars, and a star alone means itself. Null is for what was or will not be there."""
    grows: bool | None = None
    """Whether a number or quantity grows (true) or shrinks (false)."""
    clear: bool | None = None
    """True for a secret that anybody can read in Git from now on."""
    hooked: bool | None = None
    """True for a file that a hook or a command gate of firstlight.yaml runs or reads."""
    whole: bool | None = None
    """True for an object as a whole that comes, goes or moves, false for single fields."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a sort of change means."""

    id: str
    title: str
    side: SideWord
    risk: RiskWord
    why: str
    when: tuple[When, ...] = ()
    """Any of these; a rule without any is only found by its words."""
    criteria: tuple[str, ...] = ()
    answers: Mapping[str, bool] = {}
    """What the questions of the decision trees get for an answer."""
    procedure: str = ""
    checks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """How people say it."""
    asks: tuple[str, ...] = ()
    """What to ask whoever only says it in words."""
    sources: tuple[str, ...] = ()
    """Which row of which document says so."""


class Factor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What makes a change more dangerous, whatever it is."""

    id: str
    risk: RiskWord
    why: str
    when: tuple[When, ...]
    sources: tuple[str, ...] = ()


class RuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A file with rules, and with what they name; whatever has the id of ours takes its place."""

    rules: tuple[Rule, ...] = ()
    factors: tuple[Factor, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    procedures: tuple[Procedure, ...] = ()
    checks: tuple[CheckForm, ...] = ()
    trees: tuple[Tree, ...] = ()
    synonyms: Mapping[str, tuple[str, ...]] = {}
    """Words for a word of the rules, by which sentences are understood."""
    examples: Mapping[str, tuple[str, ...]] = {}
    """Names by the sort of thing that they are names of."""
