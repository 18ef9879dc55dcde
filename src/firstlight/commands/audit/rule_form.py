"""The form of audit rules, as they are written in YAML, by us and by teams.

A rule names a check, which is a function, or says itself what it finds. Whatever has the id of ours takes its place.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.fact import Basis, Fact
from firstlight.model.finding import FileEdit, Finding
from firstlight.model.place import Place
from firstlight.model.remote_url import without_credentials

RestWord = Literal["attribution", "machines", "tree", "values"]
"""``attribution``: which cluster files belong to; ``machines``: everything in the machine configs; ``tree``: everything
that is deployed in the cluster; ``values``: all values of the component's charts."""
SeverityWord = Literal["note", "warning", "error", "critical"]
Scalar = str | int | float | bool | None
_LINES = re.compile(r"(?<=\w):\d+(?::\d+)?(?![\w.]|:[\w:.])|\bline \d+")
"""Where something stands within a file, as messages say it."""


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
    rests: tuple[RestWord, ...] = ()
    """What it needs to know besides what it finds; what of that is a guess or was not read makes findings milder."""
    set: Mapping[str, Any] = {}
    """Ways and the values that make it right, where that is always safe."""
    sources: tuple[str, ...] = ()

    def finding(
        self,
        message: str,
        *,
        at: Place | Iterable[Place],
        clusters: Iterable[str] = (),
        subject: str = "",
        evidence: Iterable[Evidence] = (),
        fix: str = "",
        edits: Iterable[FileEdit] = (),
        key: str = "",
        severity: Severity | None = None,
        rests: Iterable[Fact[Any] | Basis] = (),
    ) -> Finding:
        """Return a finding of this rule.

        Args:
            message: What is wrong here; a sentence without a full stop.
            at: Where; the first place is where to look first.
            clusters: The clusters that it concerns; none where it is about the repo.
            subject: The component that it is about.
            evidence: What shows it.
            fix: What to do here, where more can be said than the rule says for all.
            edits: The safe way to do it; none where a person has to decide.
            key: What makes it the same finding after lines have moved; the message by default.
            severity: Milder than the rule's own, where this one hurts less; a graver one is ignored.
            rests: The facts that it needs, where they are not simply read at its place.
        """
        own = Severity(self.severity)
        return Finding(
            code=self.id,
            severity=own if severity is None else min(own, severity, key=lambda each: each.rank),
            # Not only where it is shown: baselines and caches keep it, too.
            message=without_credentials(message),
            places=(at,) if isinstance(at, Place) else tuple(at),
            clusters=tuple(sorted(set(clusters))),
            subject=subject,
            evidence=tuple(dataclasses.replace(each, text=without_credentials(each.text)) for each in evidence),
            fix=without_credentials(fix or self.fix),
            edits=tuple(edits),
            key=without_credentials(key or _LINES.sub("", message)),
            basis=Basis.of(rests),
        )


class AuditPattern(_Section, frozen=True):
    """One row of the comparison: a way of doing things, and the rules that show who does not."""

    id: str
    title: str
    rules: tuple[str, ...]
    applies: str = ""
    """``function`` of ``matrix.py`` that tells to which clusters it can apply; to all by default."""
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
