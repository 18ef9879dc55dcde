"""A cause: what holds something up, since when, and what usually lies behind it."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """What holds something up."""

    what: str
    usually: str = ""
    since: float | None = None
    rank: int = 5
    """How much it explains: of several, the lowest is told."""
