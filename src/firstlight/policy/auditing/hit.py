"""One place where a rule fits; the rule's card makes a finding of it."""

import dataclasses

from firstlight.model.finding import Edit, Evidence, Severity
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One place where a rule fits."""

    message: str
    """What is wrong here; a sentence without a full stop."""
    place: Place
    clusters: tuple[str, ...] = ()
    component: str = ""
    evidence: tuple[Evidence, ...] = ()
    fix: str = ""
    """What to do here, where more can be said than the rule says for all."""
    edits: tuple[Edit, ...] = ()
    key: str = ""
    """What makes it the same after lines have moved; the message by default."""
    severity: Severity | None = None
    """Milder than the rule's own, where this one hurts less."""
