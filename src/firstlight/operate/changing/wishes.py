"""What the user asked of a change, and how the command talks with the user."""

import dataclasses
from collections.abc import Awaitable, Callable

from firstlight.execute.loop import Result
from firstlight.execute.world import World
from firstlight.operate.changing.carrying import PATIENCE
from firstlight.operate.walk import Walk


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """What was typed."""

    why: str = ""
    title: str = ""
    clusters: tuple[str, ...] = ()
    """Only these; all that it reaches if it is empty."""
    order: tuple[str, ...] = ()
    emergency: str = ""
    """The kind of emergency; empty for the usual way."""
    is_merging: bool = False
    """Merge it here, where it is approved."""
    is_waiting: bool = True
    """Wait for the merge."""
    is_at_once: bool = False
    """All clusters get what they share at the same moment."""
    anyway: str = ""
    """Why it is carried through although a check fails."""
    without_backup: str = ""
    """Why nothing is kept before bootstrap changes machines or components; empty where it is."""
    is_reverted_on_failure: bool = False
    patience: float = PATIENCE


@dataclasses.dataclass(frozen=True, kw_only=True)
class Host:
    """The command that carries a change through."""

    say: Callable[[str], None]
    """Told what is done in Git."""
    walk: Callable[[Walk, World], Awaitable[Result]]
    """Carries out the stages of one cluster, with journal and screen."""
