"""Edits of objects where they are written; none where something made them, or a patch says it elsewhere."""

from typing import Any

from firstlight.model.component import Stated
from firstlight.model.finding import Edit, EditVerb


def put(stated: Stated | None, *steps: str | int, value: Any) -> tuple[Edit, ...]:
    """Set a value of an object."""
    return _edit(stated, EditVerb.SET, steps, value)


def append(stated: Stated | None, *steps: str | int, value: Any) -> tuple[Edit, ...]:
    """One more item at the end of a list of an object."""
    return _edit(stated, EditVerb.APPEND, steps, value)


def remove(stated: Stated | None, *steps: str | int) -> tuple[Edit, ...]:
    """Take a value of an object away."""
    return _edit(stated, EditVerb.REMOVE, steps, None)


def _edit(stated: Stated | None, verb: EditVerb, steps: tuple[str | int, ...], value: Any) -> tuple[Edit, ...]:
    if stated is None or stated.way is None:
        return ()
    document, above = stated.way
    return (Edit(path=stated.place.path, verb=verb, steps=(*above, *steps), value=value, document=document),)
