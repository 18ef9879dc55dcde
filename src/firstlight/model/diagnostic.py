"""The one noun for everything that is wrong, doubtful or not understood.

A diagnostic has a code, and every code has a card (``firstlight explain CODE``). Programs look at codes; people
read messages. Findings of an audit and symptoms of the doctor are diagnostics that know more.
"""

import dataclasses
import enum
from collections.abc import Iterable
from typing import Self

from firstlight.model import fact
from firstlight.model.fact import Basis, Confidence
from firstlight.model.place import Place


class Severity(enum.StrEnum):
    """How bad a diagnostic is, from the mildest on."""

    UNKNOWN = "unknown"
    """Left out, because only running something or asking somebody would tell; nothing is claimed."""
    NOTE = "note"
    """Good to know; nothing has to be done."""
    WARNING = "warning"
    """It will hurt some day, or probably does not mean what its author thinks."""
    ERROR = "error"
    """It cannot be read, does not do what it says, or breaks at the next change."""
    CRITICAL = "critical"
    """It loses data, secrets or the cluster."""

    @property
    def rank(self) -> int:
        """Return a number that grows with the severity."""
        return list(Severity).index(self)


WORST = {
    Confidence.CERTAIN: Severity.CRITICAL,
    Confidence.LIKELY: Severity.WARNING,
    Confidence.GUESS: Severity.NOTE,
    Confidence.NONE: Severity.UNKNOWN,
}
"""How bad a diagnostic may be at most, by how far what it rests on can be relied upon."""


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that shows a diagnostic to be true."""

    text: str
    """As it was found, shortened, secrets masked."""
    place: Place | None = None
    """Live objects have the cluster for a path."""
    where: str = ""
    """What it is about or was seen in: ``log of kustomize-controller``, a component, a step."""
    at: float = 0.0
    """When it happened, in seconds since the epoch; 0 if that is not known."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """Something wrong, doubtful or not understood."""

    code: str
    """Stable, and documented by a card: ``patch-target-missing``."""
    severity: Severity
    message: str
    """What is wrong; a sentence without a full stop, safe to print on one line."""
    places: tuple[Place, ...] = ()
    """Where; the first one is where to look first."""
    fix: str = ""
    """What to write or do instead."""
    subject: str = ""
    """The component, machine or object that it is about, where that is not the place."""
    evidence: tuple[Evidence, ...] = ()
    basis: Basis = fact.READ
    """What it rests on; nothing can be worse than its basis allows."""

    def __post_init__(self) -> None:
        worst = WORST[self.basis.confidence]
        if self.severity.rank > worst.rank:
            object.__setattr__(self, "severity", worst)

    @property
    def place(self) -> Place:
        """Return where to look first."""
        return self.places[0]

    def __lt__(self, other: "Diagnostic") -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[tuple[Place, ...], str, str, str]:
        return self.places, self.severity, self.message, self.code

    @classmethod
    def error(
        cls,
        code: str,
        message: str,
        *,
        at: Place | Iterable[Place] = (),
        fix: str = "",
        subject: str = "",
        evidence: Iterable[Evidence] = (),
    ) -> Self:
        """Return a diagnostic of something that is wrong."""
        return cls._of(Severity.ERROR, code, message, at, fix, subject, evidence)

    @classmethod
    def warning(
        cls,
        code: str,
        message: str,
        *,
        at: Place | Iterable[Place] = (),
        fix: str = "",
        subject: str = "",
        evidence: Iterable[Evidence] = (),
    ) -> Self:
        """Return a diagnostic of something doubtful."""
        return cls._of(Severity.WARNING, code, message, at, fix, subject, evidence)

    @classmethod
    def note(
        cls,
        code: str,
        message: str,
        *,
        at: Place | Iterable[Place] = (),
        fix: str = "",
        subject: str = "",
        evidence: Iterable[Evidence] = (),
    ) -> Self:
        """Return a diagnostic of something that is good to know."""
        return cls._of(Severity.NOTE, code, message, at, fix, subject, evidence)

    @classmethod
    def unknown(
        cls,
        code: str,
        message: str,
        *,
        at: Place | Iterable[Place] = (),
        fix: str = "",
        subject: str = "",
        evidence: Iterable[Evidence] = (),
    ) -> Self:
        """Return a diagnostic of something that was not understood."""
        return cls._of(Severity.UNKNOWN, code, message, at, fix, subject, evidence)

    @classmethod
    def _of(
        cls,
        severity: Severity,
        code: str,
        message: str,
        at: Place | Iterable[Place],
        fix: str,
        subject: str,
        evidence: Iterable[Evidence],
    ) -> Self:
        places = (at,) if isinstance(at, Place) else tuple(at)
        return cls(
            code=code,
            severity=severity,
            message=message,
            places=places,
            fix=fix,
            subject=subject,
            evidence=tuple(evidence),
        )
