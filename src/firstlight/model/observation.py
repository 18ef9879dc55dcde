"""What was seen of a cluster: the objects that were watched for, and the answers to what was asked."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WatchTarget:
    """What to watch: one object, or all of a kind."""

    api_version: str
    kind: str
    namespace: str = ""
    """Empty for all namespaces, and for kinds that have none."""
    name: str = ""
    """Empty for all of them."""
    labels: str = ""
    """A label selector."""
    with_content: bool = True
    """False for metadata alone: Secrets, unless what they hold is asked for."""


class Ask(enum.StrEnum):
    """What cannot be watched, and is asked instead."""

    READYZ = "readyz"
    """Whether the API server is ready."""
    SERVED = "served"
    """Whether discovery serves a kind: ``group/version/Kind``."""
    DRY_RUN = "dry run"
    """Whether the server would take an object; nothing is stored."""
    HTTP = "http"
    COMMAND = "command"
    """Only if it was allowed by its content."""


@dataclasses.dataclass(frozen=True)
class AskRequest:
    """One question that is asked; equal ones are asked once."""

    ask: Ask
    of: str
    """The kind, the URL, the name of the object, the name of the command."""
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False, repr=False)
    """The object of a dry run, what is expected of a URL, the words of a command."""


@dataclasses.dataclass(frozen=True, slots=True)
class AskResponse:
    """What came back."""

    is_yes: bool
    said: str = ""
    """Why not, or what it said; masked already."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """Everything that a gate looks at, at one moment."""

    now: float
    """Seconds since the epoch, for "since when"."""
    objects: Mapping[WatchTarget, tuple[Mapping[str, Any], ...]] = dataclasses.field(default_factory=dict, repr=False)
    unserved: frozenset[WatchTarget] = frozenset()
    """Looks whose kind the server does not serve."""
    answers: Mapping[AskRequest, AskResponse] = dataclasses.field(default_factory=dict)

    def all(self, look: WatchTarget) -> tuple[Mapping[str, Any], ...]:
        """The objects of a look."""
        return self.objects.get(look, ())

    def one(self, look: WatchTarget) -> Mapping[str, Any] | None:
        """The object of a look; None if it is not there."""
        return next(iter(self.objects.get(look, ())), None)
