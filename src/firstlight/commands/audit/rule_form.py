"""The form of audit rules, as they are written in YAML, by us and by teams.

A rule names a check, which is a function, or says itself what it finds. Whatever has the id of ours takes its place.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

SeverityWord = Literal["note", "warning", "error", "critical"]
Scalar = str | int | float | bool | None


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What all sections share: unknown fields are errors."""


class FindClause(_Section, frozen=True):
    """What a rule finds by itself: all that is given must be so, and of a list any."""

    kinds: tuple[str, ...] = ()
    """``group/Kind`` with stars, ``/Secret`` for the core group; objects of clusters, as their engine gets them."""
    machines: tuple[str, ...] = ()
    """Kinds of documents of machine config, ``""`` for the one without a kind."""
    charts: tuple[str, ...] = ()
    """Names of charts, with stars: what is looked at are the values that they are given."""
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    """What the component is for: cni, dns, certificates, secrets, engine, storage …"""
    has: Mapping[str, Scalar | tuple[Scalar, ...]] = {}
    """Ways to values, each with what it must be (of a list any; texts may have stars, ``*`` is anything)."""
    lacks: tuple[str, ...] = ()
    """Ways to values that are not there."""


class AuditRule(_Section, frozen=True):
    """What an audit looks for."""

    id: str
    title: str
    group: str
    """``multi-cluster``, ``bootstrap``, ``talos``, ``gitops``, ``data``, ``security``, or a team's own."""
    severity: SeverityWord
    why: str
    """The reason in one sentence."""
    fix: str
    check: str = ""
    """``file.function`` of ours that finds it."""
    find: tuple[FindClause, ...] = ()
    """Any of these, for a rule without a function."""
    says: str = ""
    """What a finding of ``find`` says, with {kind}, {name}, {namespace}, {path} and {value} filled in."""
    set: Mapping[str, Any] = {}
    """Ways and the values that make it right, where that is always safe."""
    sources: tuple[str, ...] = ()


class AuditPattern(_Section, frozen=True):
    """One row of the comparison: a way of doing things, and the rules that show who does not."""

    id: str
    title: str
    rules: tuple[str, ...]
    applies: str = ""
    """``function`` of ``conditions.py`` that tells to which clusters it can apply; to all by default."""
    references: Mapping[str, Literal["yes", "no", "n/a"]] = {}
    """What reference platforms do."""
    why: str = ""


class AuditFile(_Section, frozen=True):
    """A file with audit rules."""

    rules: tuple[AuditRule, ...] = ()
    patterns: tuple[AuditPattern, ...] = ()


# An audit rule, as people read it.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AuditCard:
    """Everything that there is to say about an audit rule."""

    id: str
    title: str
    group: str
    severity: str
    why: str
    fix: str
    finds: tuple[str, ...] = ()
    """What it looks for, each in words; nothing for a rule that a function finds."""
    sets: tuple[str, ...] = ()
    """What ``--fix`` writes, where the rule itself says so: ``spec.prune: false``."""
    sources: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Titles of the rows of the comparison that it belongs to."""
    is_own: bool = False
    """Whether the team, or a package, has written it."""
