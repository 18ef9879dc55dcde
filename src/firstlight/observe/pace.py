"""How long to wait before looking again: short at first, because most things come soon, then longer."""

FIRST = 0.05
LONGEST = 1.0


class Pace:
    """Pauses that double from the first to the longest."""

    def __init__(self, *, first: float = FIRST, longest: float = LONGEST) -> None:
        self._first = min(first, longest)
        self._longest = longest
        self._next = self._first

    def next(self) -> float:
        """Seconds to wait now."""
        pause = self._next
        self._next = min(self._longest, pause * 2)
        return pause

    def reset(self) -> None:
        """Something happened: what is waited for may come soon."""
        self._next = self._first
