"""What happens after an attempt: pure, the clock and the randomness come in as numbers.

The client describes what came of an attempt as an ``Outcome`` and how the request may be repeated as a
``Repeat``; ``decide`` says what to do next.
"""

import dataclasses
import enum
from typing import assert_never


class Repeat(enum.Enum):
    """How a request may be repeated when nobody knows whether it was carried out."""

    ALWAYS = "always"
    """Twice does what once does: reads, deletes, dry runs."""
    CONVERGENT = "convergent"
    """The same, and a 409 that names no field is only a race: apply, merge and strategic patches."""
    GUARDED = "guarded"
    """A resource version, uid or test in it keeps a second one from doing harm."""
    READ_BACK = "read back"
    """Look first whether it is there: create with a name."""
    NEVER = "never"
    """Twice may do more than once: create with generateName, a JSON patch without a test."""


class AttemptEnd(enum.Enum):
    """What came of an attempt."""

    ANSWERED = "answered"
    NOT_SENT = "not sent"
    """There was no connection to send it on."""
    LOST = "lost"
    """The connection broke after it may have been sent."""
    SLOW = "slow"
    """No answer in time."""


@dataclasses.dataclass(frozen=True)
class AttemptOutcome:
    """What came of an attempt, with what matters of the answer."""

    happened: AttemptEnd
    code: int = 0
    reason: str = ""
    retry_after: float | None = None
    has_field_conflicts: bool = False


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """How patient a client is; seconds."""

    deadline: float = 60
    """For a request with all its repeats; waiting for a turn does not count."""
    attempt: float = 30
    """For one attempt. An API server gives up by itself after 60."""
    connect: float = 10
    first_delay: float = 0.1
    longest_delay: float = 10
    longest_retry_after: float = 30
    """Some proxies ask for minutes."""
    first_contact: int = 3
    """Attempts at a server that never answered before: a wrong address should be said at once."""
    internal_errors: int = 4
    """Attempts at a 500 without a hint that it will pass: it may be a webhook that starts, or never work."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """What came is the answer."""


@dataclasses.dataclass(frozen=True)
class Again:
    """Send it again after ``delay``."""

    delay: float


@dataclasses.dataclass(frozen=True)
class LookThenAgain:
    """After ``delay`` read what is there, and send it again only if it is absent."""

    delay: float


@dataclasses.dataclass(frozen=True)
class Refresh:
    """Fetch new credentials, then send it again."""


@dataclasses.dataclass(frozen=True)
class Doubt:
    """Nobody knows whether it was carried out, and it cannot be repeated."""


Next = Stop | Again | LookThenAgain | Refresh | Doubt


@dataclasses.dataclass(frozen=True)
class PastAttempts:
    """What was before this outcome."""

    attempts: int = 1
    """Attempts so far, this one included."""
    elapsed: float = 0
    is_refreshed: bool = False
    is_server_known: bool = True
    """Whether this client ever had an answer from there."""


def decide(repeat: Repeat, outcome: AttemptOutcome, *, past: PastAttempts, policy: RetryPolicy, jitter: float) -> Next:
    """What to do after an attempt.

    Args:
        repeat: How the request may be repeated.
        outcome: What came of the attempt.
        past: What was before.
        policy: How patient to be.
        jitter: A random number from 0 to 1.
    """
    if outcome.code == 401 and not past.is_refreshed:
        return Refresh()
    if not _is_transient(repeat, outcome, past=past, policy=policy):
        return Stop()
    wait = delay(past.attempts, retry_after=outcome.retry_after, policy=policy, jitter=jitter)
    in_time = past.elapsed + wait < policy.deadline
    if not may_be_done(outcome):
        return Again(wait) if in_time else Stop()
    match repeat:
        case Repeat.ALWAYS | Repeat.CONVERGENT | Repeat.GUARDED:
            return Again(wait) if in_time else Stop()
        case Repeat.READ_BACK:
            return LookThenAgain(wait) if in_time else Doubt()
        case Repeat.NEVER:
            return Doubt()
        case _:
            assert_never(repeat)


def may_be_done(outcome: AttemptOutcome) -> bool:
    """Whether a write with this outcome may have been carried out all the same."""
    match outcome.happened:
        case AttemptEnd.NOT_SENT:
            return False
        case AttemptEnd.LOST | AttemptEnd.SLOW:
            return True
        case AttemptEnd.ANSWERED:
            # 503 too: an aggregated API may have done it before the connection to it broke.
            return outcome.code >= 500
        case _:
            assert_never(outcome.happened)


def delay(attempts: int, *, retry_after: float | None, policy: RetryPolicy, jitter: float) -> float:
    """Seconds to wait after so many attempts: doubled each time, between a half and the whole of it.

    What the server asks for is granted up to a bound, and jitter comes on top, so that not all come back at
    once.
    """
    backoff = min(policy.longest_delay, policy.first_delay * 2.0 ** min(attempts - 1, 30)) * (0.5 + jitter / 2)
    if retry_after is None:
        return backoff
    asked = min(max(retry_after, 0), policy.longest_retry_after)
    return max(backoff, asked + policy.first_delay * jitter)


def _is_transient(repeat: Repeat, outcome: AttemptOutcome, *, past: PastAttempts, policy: RetryPolicy) -> bool:
    match outcome.happened:
        case AttemptEnd.NOT_SENT:
            return past.is_server_known or past.attempts < policy.first_contact
        case AttemptEnd.LOST | AttemptEnd.SLOW:
            return True
        case AttemptEnd.ANSWERED:
            pass
        case _:
            assert_never(outcome.happened)
    match outcome.code:
        case 429 | 502 | 503 | 504:
            return True
        case 500:
            # Said of a webhook that does not answer yet, of an etcd that elects, and of a field that is unknown.
            is_hinted = outcome.reason == "ServerTimeout" or outcome.retry_after is not None
            return is_hinted or past.attempts < policy.internal_errors
        case 409:
            return repeat is Repeat.CONVERGENT and not outcome.has_field_conflicts
        case _:
            return False
