"""Several names in one sentence."""

from collections.abc import Iterable


def listed(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    several = list(names)
    more = f" and {len(several) - most} more" if len(several) > most else ""
    return ", ".join(several[:most]) + more


def first(names: Iterable[str]) -> str:
    """The first name, and how many more there are."""
    return listed(names, 1)
