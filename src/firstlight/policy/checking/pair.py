"""Objects as they were and as they will be: what most checks look at."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One object before and after a change; one of the two may be missing."""

    id: ObjectId
    place: Place
    """Where it is said, or what brings it."""
    before: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    after: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    cluster: str = ""
    component: str = ""
    """Empty where nothing says to which one it belongs."""

    @property
    def is_gone(self) -> bool:
        """Whether it goes with the change."""
        return self.before is not None and self.after is None

    def __str__(self) -> str:
        return str(self.id)
