"""What is written down of a change that was carried through: for people, for programs, and to go on with it."""

import dataclasses
import enum

from firstlight.model.decision import Check


class ChangePath(enum.StrEnum):
    """How a change is carried through."""

    GITOPS = "gitops"
    BOOTSTRAP = "bootstrap"
    HYBRID = "hybrid"
    EXPEDITED = "expedited"
    """In an emergency, while the engine works: reconciled now, with the standard checks and an incident record."""
    CNI = "cni"
    """The network's own upgrade: one minor version at a time, gated."""


class ChangeStanding(enum.StrEnum):
    """How far it is."""

    UNDER_WAY = "under way"
    DONE = "done"
    FAILED = "failed"
    """It stopped, and can be gone on with or reverted."""
    REVERTED = "reverted"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangeStep:
    """One stage, and what came of it."""

    id: str
    cluster: str
    """Empty for what is done in Git alone."""
    title: str
    verdict: str = ""
    """passed, failed, waiting, skipped; empty before it began."""
    says: str = ""
    begun: float = 0.0
    ended: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """One change."""

    id: str
    """``20261116-1931-retention``: its day, time and name."""
    title: str
    why: str
    who: str
    path: ChangePath
    standing: ChangeStanding
    side: str
    risk: str
    rules: tuple[str, ...] = ()
    approval: str = ""
    """Who had to agree, and who did."""
    clusters: tuple[str, ...] = ()
    """In the order in which they get it."""
    files: tuple[str, ...] = ()
    base: str = ""
    """The commit that it stands on."""
    branch: str = ""
    commit: str = ""
    """Its own, on the branch."""
    merged: str = ""
    """The commit of the followed branch that has it."""
    reverted: str = ""
    """The commit that took it back."""
    begun: float = 0.0
    ended: float = 0.0
    checks: tuple[Check, ...] = ()
    steps: tuple[ChangeStep, ...] = ()
    incident: str = ""
    """The id of the incident record, where it was an emergency."""
