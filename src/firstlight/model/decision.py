"""The answer to "where does this change belong, how dangerous is it, who must agree, and how is it done?"."""

import dataclasses
import enum
import functools
from collections.abc import Callable, Sequence

from firstlight.model.change import Change, ChangedField
from firstlight.model.component import Side
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place


@functools.total_ordering
class Risk(enum.Enum):
    """How much can break, the least first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Risk):
            return NotImplemented
        return self.rank < other.rank

    def __str__(self) -> str:
        return self.value

    @property
    def rank(self) -> int:
        """Its place among all, the least being 0."""
        return _ORDER.index(self)

    @property
    def approval(self) -> "Approval":
        """Who must agree."""
        return _APPROVALS[self]


class Approval(enum.StrEnum):
    """Who must agree to a change."""

    SELF = "self"
    PEER = "peer"
    LEAD = "lead"
    TEAM = "team"


_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH, Risk.CRITICAL)
_APPROVALS = dict(zip(_ORDER, Approval, strict=True))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TreeStep:
    """One question on the way through a decision tree."""

    question: str
    """Its id."""
    text: str
    answer: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TreePath:
    """The way through one decision tree, and where it ends."""

    tree: str
    steps: tuple[TreeStep, ...]
    side: Side
    is_overruled: bool = False
    """Whether a table of the documents says otherwise; the table wins."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RiskFactor:
    """Something that raises a risk."""

    id: str
    risk: Risk
    """The least that it makes of it."""
    why: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What one rule says of one field, or of an object as a whole."""

    rule: str
    side: Side | None
    """None where no cluster is touched."""
    risk: Risk
    """The rule's own, raised by the factors."""
    why: str
    field: ChangedField | None = None
    """None for an object as a whole."""
    criteria: tuple[str, ...] = ()
    """Ids of the documents' criteria for a side that apply."""
    factors: tuple[RiskFactor, ...] = ()
    procedure: str = ""
    """The id of a procedure; empty for the usual one of its side."""
    checks: tuple[str, ...] = ()
    """Ids of checks beside the usual ones."""
    trees: tuple[TreePath, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A component that a change belongs to."""

    cluster: str
    component: str
    role: str = ""
    phase: str = ""
    owner: str = ""
    dependents: tuple[str, ...] = ()
    """Who needs it, directly or by others, the nearest first."""
    brings: tuple[str, ...] = ()
    """What it brings, and what needs that: it may change with it, and does not need it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DecisionItem:
    """The answer for one change."""

    change: Change
    side: Side | None
    risk: Risk
    rulings: tuple[Ruling, ...]
    """The gravest first; at least one."""
    touched: tuple[Touched, ...] = ()
    clusters: tuple[str, ...] = ()
    """All that it reaches, also by machines."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureStep:
    """One thing to do."""

    side: Side | None
    """To which half it belongs."""
    text: str
    """What it does, in a few words."""
    command: str = ""
    """What to type; empty where a person must do something else."""


class Moment(enum.StrEnum):
    """When a check is made."""

    PRE = "pre"
    """Before the change."""
    POST = "post"


class CheckState(enum.StrEnum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    PERSON = "person"
    """Somebody has to look."""
    SKIPPED = "skipped"
    """It does not apply, or what it needs is not there; the words say which."""
    OPEN = "open"
    """It was not run."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCheck:
    """One item of a checklist."""

    id: str
    moment: Moment
    title: str
    state: CheckState = CheckState.OPEN
    says: str = ""
    """What was found, or what somebody has to look at."""
    details: tuple[str, ...] = ()
    place: Place | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    """What is wrong or has to be looked at, the worst first."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """Who agreed, and whether that suffices."""

    needed: Approval
    is_given: bool
    says: str
    by: tuple[str, ...] = ()
    """``Ada <ada@example.org>, Approved-by of 1a2b3c4``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer for a whole change."""

    side: Side | None
    risk: Risk
    items: tuple[DecisionItem, ...]
    """The gravest first."""
    procedure: tuple[ProcedureStep, ...] = ()
    rollback: tuple[ProcedureStep, ...] = ()
    checks: tuple[ChangeCheck, ...] = ()
    doubts: tuple[str, ...] = ()
    """What could not be seen, so that the answer may be too mild."""
    title: str = ""
    """What was asked about: ``main...HEAD``, ``staged changes``, a sentence."""
    approved: Approved | None = None

    @property
    def approval(self) -> Approval:
        """Who must agree."""
        return self.risk.approval

    @property
    def affected(self) -> tuple[str, ...]:
        """Components that depend on what is touched and are not touched themselves, each once, with their cluster."""
        return self._others(lambda each: each.dependents)

    @property
    def brought(self) -> tuple[str, ...]:
        """Components that what is touched brings, and that are neither touched themselves nor depend on it."""
        affected = {*self.affected}
        return tuple(each for each in self._others(lambda each: each.brings) if each not in affected)

    def _others(self, names: Callable[[Touched], Sequence[str]]) -> tuple[str, ...]:
        touched = {(each.cluster, each.component) for item in self.items for each in item.touched}
        found = {
            f"{each.cluster}/{name}": None
            for item in self.items
            for each in item.touched
            for name in names(each)
            if (each.cluster, name) not in touched
        }
        return tuple(found)
