"""A rule for decisions, as people read it."""

import dataclasses

from firstlight.model.decision import ProcedureStep, TreePath


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleCard:
    """Everything that there is to say about a rule, or about a factor that raises risks."""

    id: str
    title: str
    side: str
    """``owner`` where it depends on who owns the component; empty for a factor."""
    risk: str
    approval: str
    why: str
    fits: tuple[str, ...] = ()
    """What it fits, each in words; any of them. Nothing for a rule that is only found by its words."""
    side_means: str = ""
    """The side in words."""
    criteria: tuple[str, ...] = ()
    trees: tuple[TreePath, ...] = ()
    ways: tuple[str, ...] = ()
    """The titles of its procedures."""
    own_steps: tuple[ProcedureStep, ...] = ()
    own_rollback: tuple[ProcedureStep, ...] = ()
    """What it has beside what every change of its side has."""
    procedure: tuple[ProcedureStep, ...] = ()
    rollback: tuple[ProcedureStep, ...] = ()
    """With placeholders in braces, which a change fills."""
    checks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    place: str = ""
    """Where it is written."""
    is_own: bool = False
    """Whether the team has written it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A rule that may be meant by a sentence."""

    card: RuleCard
    score: float
    """The greater the nearer."""
    about: tuple[str, ...] = ()
    """What the repo says of the components that the sentence names."""
    open_questions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleTest:
    """What came of one of a team's tests of its rules."""

    name: str
    place: str
    wrong: tuple[str, ...] = ()
    """What is not as expected; empty where all is well."""
