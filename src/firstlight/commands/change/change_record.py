"""What is written down of a change that was carried through: for people, for programs, and to go on with it."""

import dataclasses
import enum

from firstlight.model.decision import ChangeCheck


class ChangePath(enum.StrEnum):
    """How a change is carried through."""

    GITOPS = "gitops"
    BOOTSTRAP = "bootstrap"
    HYBRID = "hybrid"
    EXPEDITED = "expedited"
    """In an emergency, while the engine works: reconciled now, with the standard checks and an incident record."""
    CNI = "cni"
    """The network's own upgrade: one minor version at a time, gated."""
    MOVE = "move"
    """A component that changes sides: guarded, passed on, proven."""


class ChangeStanding(enum.StrEnum):
    """How far it is."""

    UNDER_WAY = "under way"
    DONE = "done"
    FAILED = "failed"
    """It stopped, and can be gone on with or reverted."""
    REVERTING = "being reverted"
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
class ChangePart:
    """What is merged at once: all of a change, or what is for the next of its clusters."""

    cluster: str = ""
    """The one that it is for; empty where it is for all of them."""
    files: tuple[str, ...]
    branch: str = ""
    commit: str = ""
    """Its own, on the branch."""
    merged: str = ""
    """The commit of the followed branch that has it."""
    reverting: str = ""
    """The commit that is to take it back, and its branch where it has one, before it is merged."""
    reverting_branch: str = ""
    reverted: str = ""
    """The commit of the followed branch that has taken it back."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """One change."""

    id: str
    """``20261116-193104-retention``: its day, time and name."""
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
    """Where all of it is committed."""
    commit: str = ""
    """All of it, on its branch."""
    parts: tuple[ChangePart, ...] = ()
    """In the order in which they are merged."""
    begun: float = 0.0
    ended: float = 0.0
    checks: tuple[ChangeCheck, ...] = ()
    """As they were last made, those of before the change first."""
    anyway: str = ""
    """Why it was carried through although checks of before it failed."""
    without_backup: str = ""
    """Why nothing was kept before bootstrap changed machines or components; empty where it was, or did not."""
    steps: tuple[ChangeStep, ...] = ()
    emergency: str = ""
    """The kind of emergency that it was for; empty where it was none."""
    incident: str = ""
    """Where the incident record is, from the repo's top, where it was an emergency."""
    is_at_once: bool = False
    """Whether all clusters get what they share at the same moment."""
    held: tuple[str, ...] = ()
    """Clusters in which what it touches rests until their turn has come."""
    repository: str = ""
    followed: str = ""
    """The branch that the engine follows."""
    failure: str = ""
    """Why it stopped."""

    @property
    def merged(self) -> str:
        """The newest commit of the followed branch that has a part of it."""
        return next((each.merged for each in reversed(self.parts) if each.merged), "")

    @property
    def reverted(self) -> str:
        """The commit that took the last of it back."""
        return next((each.reverted for each in self.parts if each.reverted), "")


# Words that all forms of a change's record share.


def seconds(step: ChangeStep) -> str:
    """How long a step took: ``4 s``, ``12 min``; empty while it is not over."""
    if not step.ended or not step.begun:
        return ""
    took = max(0.0, step.ended - step.begun)
    if took < 100:
        return f"{took:.0f} s"
    return f"{took / 60:.0f} min" if took < 6000 else f"{took / 3600:.0f} h"
