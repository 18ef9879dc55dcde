"""What every part of an override works with; and the one place through which all of its writes go."""

import dataclasses
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from firstlight.clients import kube
from firstlight.journal import author

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Writing:
    """A write is about to be sent."""

    name: str
    """``record beginning``, ``hold Kustomization flux-system/apps``, ``apply Deployment shop/web``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """The server has answered it."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """Something for people."""

    text: str


Event = Writing | Written | Said


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ground:
    """The cluster of an override, and who works on it."""

    client: "kube.Client"
    cluster: str
    state: Path
    """``.firstlight`` of the repo: a copy of the record and the incident record are kept there."""
    who: str = dataclasses.field(default_factory=lambda: author.who().rpartition(":")[0])
    now: Callable[[], float] = time.time
    tell: Callable[[Event], None] = lambda event: None
    """Told before and after each write; what it raises ends the work right there."""
    patience: float = 120.0
    """Seconds for an engine to reconcile what it was asked for."""

    def say(self, text: str) -> None:
        """Tell people something."""
        self.tell(Said(text))

    async def write(self, name: str, perform: Callable[[], Awaitable[T]]) -> T:
        """Send one write.

        Raises:
            errors.ClientError: The server refused it, or did not answer.
        """
        self.tell(Writing(name))
        done = await perform()
        self.tell(Written(name))
        return done
