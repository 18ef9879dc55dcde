"""A gate made a question: what must be watched and asked, and the function that judges what was seen."""

import dataclasses
from collections.abc import Callable

from firstlight.model.observation import Asked, Look, View
from firstlight.model.plan import Gate
from firstlight.model.verdict import Verdict


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a gate needs to see, and its judgement."""

    gate: Gate
    name: str
    """For people: ``workload cert-manager/cert-manager-webhook``."""
    looks: tuple[Look, ...] = ()
    asks: tuple[Asked, ...] = ()
    judge: Callable[[View], Verdict] = dataclasses.field(repr=False)
    """Pure. A look that has not been listed yet is not in the view; the judge is called only when all of them are."""
    timeout: float = 600.0
    """Seconds after which a verdict that still waits ends the step."""
    hint: str = ""
    """What to try next when it does not pass in time."""
