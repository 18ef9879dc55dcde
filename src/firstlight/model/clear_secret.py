"""A Secret that stands in a repo as anybody can read it."""

import dataclasses

from firstlight.model.component import ObjectId
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClearSecret:
    """A Secret with values in clear; the values are not among what is known of it."""

    id: ObjectId
    keys: tuple[str, ...]
    place: Place
    """Of the first of the keys."""
