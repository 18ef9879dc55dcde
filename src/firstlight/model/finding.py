"""What an audit finds: diagnostics of its rules, what excuses them, and the comparison of clusters."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place

FINDING_SEVERITIES = (Severity.NOTE, Severity.WARNING, Severity.ERROR, Severity.CRITICAL)
"""What a finding can be; what was not understood is said elsewhere."""


class EditVerb(enum.StrEnum):
    """What is done to a file."""

    SET = "set"
    """A value at a path; what the path lacks is made."""
    REMOVE = "remove"
    APPEND = "append"
    """One more item at the end of a list, which is made if it is not there."""
    WRITE = "write"
    """A whole new file, whose text is the value."""
    DELETE = "delete"
    """The whole file goes."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One small change of one file, as data: whoever writes it splices it in and touches nothing else."""

    path: str
    verb: EditVerb
    steps: tuple[str | int, ...] = ()
    value: Any = dataclasses.field(default=None, repr=False)
    document: int = 0
    """The number of the document in the file."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Diagnostic):
    """A diagnostic of an audit rule: its code is the id of the rule, its subject a component."""

    clusters: tuple[str, ...] = ()
    """Empty where it concerns the repo and no cluster."""
    edits: tuple[FileEdit, ...] = dataclasses.field(default=(), repr=False)
    """The safe way to do it; empty where a person has to decide."""
    key: str = ""
    """What makes it the same finding after lines have moved."""


class PatternStanding(enum.StrEnum):
    """How a cluster stands to a pattern."""

    FOLLOWS = "yes"
    BREAKS = "no"
    UNKNOWN = "?"
    """Nothing in the repo tells."""
    NOT_APPLICABLE = "n/a"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """A cluster, or a reference, against one pattern."""

    standing: PatternStanding
    why: str = ""
    rules: tuple[str, ...] = ()
    """The rules whose findings say so."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One pattern against all clusters."""

    pattern: str
    title: str
    cells: tuple[MatrixCell, ...]
    """In the order of the matrix's columns."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Patterns against clusters, and against what reference platforms do."""

    columns: tuple[str, ...]
    references: int = 0
    """How many of the last columns are references and no clusters."""
    rows: tuple[MatrixRow, ...] = ()


class Excuse(enum.StrEnum):
    """Why a finding does not count."""

    INLINE = "ignored in the file"
    BASELINE = "in the baseline"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Excused:
    """A finding that somebody has excused, with the reason and until when."""

    finding: Finding
    by: Excuse
    reason: str
    until: str = ""
    place: Place | None = None
    """Where the excuse is written."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """Something that a rule could not judge."""

    rule: str
    why: str
    """What was not read."""
    clusters: tuple[str, ...] = ()
    place: Place | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything that an audit came to."""

    repo: str
    clusters: tuple[str, ...]
    findings: tuple[Finding, ...]
    """The worst first, then by place."""
    excused: tuple[Excused, ...] = ()
    matrix: Matrix | None = None
    unjudged: tuple[Unjudged, ...] = ()
    """What rules could not judge, since something was not read; nothing is claimed about it."""
    rules: int = 0
    """How many rules were tried."""
    skipped: tuple[str, ...] = ()
    """What was not looked at, and why: not rendered, not reached …"""
    files: int = 0
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of each rule that found something, excused or not: why it matters."""
    remedies: tuple[str, ...] = ()
    """Rules that found something for which there is a remedy."""
    asked: tuple[str, ...] = ()
    """What was looked at besides the files: ``live``, ``render``."""
