"""Commands that a platform's owners declare to run once bootstrap has a component up."""

import dataclasses

from firstlight.model.place import Place

TIMEOUT = 60.0
"""Seconds for a hook that says nothing else."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """Runs after a component's gates have passed; it runs only if it was allowed by its content."""

    place: Place
    run: tuple[str, ...]
    """The program and its words; there is no shell."""
    unless: tuple[str, ...]
    """Exits with 0 where there is nothing to do any more: asked before and after."""
    timeout: float = TIMEOUT
    """Seconds for each of the two."""
