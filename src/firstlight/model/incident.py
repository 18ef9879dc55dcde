"""An emergency that was met past the usual way, and whether anybody has written down what it teaches."""

import dataclasses
import datetime


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """What is known of an incident record."""

    id: str
    cluster: str
    day: datetime.date
    path: str
    """The record, from the top of the repo."""
    has_cause: bool = False
    has_follow_ups: bool = False

    @property
    def is_reviewed(self) -> bool:
        """Whether people have filled in both, by a command or by hand."""
        return self.has_cause and self.has_follow_ups
