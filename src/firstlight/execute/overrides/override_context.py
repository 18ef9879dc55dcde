"""What every part of an override works with; and the one place through which all of its writes go."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from firstlight.clients import kube
from firstlight.journal import run_identity

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class OverrideWriting:
    """A write is about to be sent."""

    name: str
    """``record beginning``, ``hold Kustomization flux-system/apps``, ``apply Deployment shop/web``."""


@dataclasses.dataclass(frozen=True, slots=True)
class OverrideWritten:
    """The server has answered it."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class OverrideMessage:
    """Something for people."""

    text: str


OverrideEvent = OverrideWriting | OverrideWritten | OverrideMessage


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverrideContext:
    """The cluster of an override, and who works on it."""

    client: kube.Client
    cluster: str
    state: Path
    """``.firstlight`` of the repo: a copy of the record and the incident record are kept there."""
    who: str = dataclasses.field(default_factory=lambda: run_identity.who().rpartition(":")[0])
    now: Callable[[], float] = time.time
    tell: Callable[[OverrideEvent], None] = lambda event: None
    """Told before and after each write; what it raises ends the work right there."""
    patience: float = 120.0
    """Seconds for an engine to reconcile what it was asked for."""

    def say(self, text: str) -> None:
        """Tell people something."""
        self.tell(OverrideMessage(text))

    async def write(self, name: str, perform: Callable[[], Awaitable[T]]) -> T:
        """Send one write.

        Raises:
            errors.ClientError: The server refused it, or did not answer.
        """
        self.tell(OverrideWriting(name))
        done = await perform()
        self.tell(OverrideWritten(name))
        return done
