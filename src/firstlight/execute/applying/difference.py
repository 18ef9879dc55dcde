"""What differs between an object and what is live of it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.clients.kube.errors import FieldConflict
from firstlight.model.rendition import Object
from firstlight.ownership.engine_marks import Mark

_SHOWN = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An object that is not as it must be."""

    object: Object
    """As it is to be applied."""
    manager: str
    """As whom."""
    live: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    fields: tuple[str, ...] = ()
    """Which fields would change; empty if it is created, if only its owner would change, or if that was not asked."""
    conflicts: tuple[FieldConflict, ...] = ()
    """Fields that others own with another value, as far as the server was asked."""
    mark: Mark | None = None
    """The engine's, if it is the engine's: then it is not written."""
    downgrade: str = ""
    """What would be lost of a CRD."""
    is_once: bool = False
    """Whether it is only created: if somebody else did so, it stays as whatever."""

    @property
    def is_going(self) -> bool:
        """Whether the live object is being deleted."""
        return self.live is not None and "deletionTimestamp" in (self.live.get("metadata") or {})

    @property
    def sentence(self) -> str:
        """What is to be written, for people."""
        name = str(self.object.id)
        if self.live is None:
            return f"create {name}"
        if self.is_going:
            return f"create {name} again, once it is gone"
        if not self.fields:
            return f"apply {name}"
        more = f" and {len(self.fields) - _SHOWN} more" if len(self.fields) > _SHOWN else ""
        return f"change {name} ({', '.join(self.fields[:_SHOWN])}{more})"

    @property
    def left(self) -> str:
        """Whose it is, and what of it differs, for people; empty if it is nobody's."""
        if self.mark is None:
            return ""
        what = f" in {', '.join(self.fields[:_SHOWN])}" if self.fields else ""
        whose = f"it is left to {self.mark.engine}: {self.mark.owner}"
        return f"{self.object.id} differs from the repo{what}; {whose}"
