from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.kube import retry
from firstlight.clients.kube.retry import (
    Again,
    AttemptEnd,
    AttemptOutcome,
    Doubt,
    LookThenAgain,
    PastAttempts,
    Refresh,
    Repeat,
    Stop,
)

POLICY = retry.RetryPolicy()
FIRST = PastAttempts()
ANY = tuple(Repeat)
SAFE = (Repeat.ALWAYS, Repeat.CONVERGENT, Repeat.GUARDED)


def decide(repeat: Repeat, outcome: AttemptOutcome, past: PastAttempts = FIRST) -> retry.Next:
    return retry.decide(repeat, outcome, past=past, policy=POLICY, jitter=1.0)


def answered(code: int, reason: str = "", **more: Any) -> AttemptOutcome:
    return AttemptOutcome(AttemptEnd.ANSWERED, code=code, reason=reason, **more)


@pytest.mark.parametrize("repeat", ANY)
def test_what_was_never_sent_is_always_sent_again(repeat: Repeat) -> None:
    assert decide(repeat, AttemptOutcome(AttemptEnd.NOT_SENT)) == Again(0.1)


@pytest.mark.parametrize("repeat", ANY)
def test_too_many_requests_is_never_carried_out(repeat: Repeat) -> None:
    assert decide(repeat, answered(429, "TooManyRequests")) == Again(0.1)


@pytest.mark.parametrize(
    "outcome",
    [
        AttemptOutcome(AttemptEnd.LOST),
        AttemptOutcome(AttemptEnd.SLOW),
        answered(500),
        answered(502),
        answered(503),
        answered(504),
    ],
)
@pytest.mark.parametrize(
    ("repeat", "expected"),
    [
        *((repeat, Again(0.1)) for repeat in SAFE),
        (Repeat.READ_BACK, LookThenAgain(0.1)),
        (Repeat.NEVER, Doubt()),
    ],
)
def test_what_may_have_been_carried_out(outcome: AttemptOutcome, repeat: Repeat, expected: retry.Next) -> None:
    assert decide(repeat, outcome) == expected


@pytest.mark.parametrize(
    ("repeat", "has_field_conflicts", "expected"),
    [
        (Repeat.CONVERGENT, False, Again(0.1)),
        (Repeat.CONVERGENT, True, Stop()),
        (Repeat.GUARDED, False, Stop()),
        (Repeat.ALWAYS, False, Stop()),
        (Repeat.READ_BACK, False, Stop()),
    ],
)
def test_a_409_is_a_race_only_where_nothing_was_asked(
    repeat: Repeat, has_field_conflicts: bool, expected: retry.Next
) -> None:
    assert decide(repeat, answered(409, "Conflict", has_field_conflicts=has_field_conflicts)) == expected


@pytest.mark.parametrize("code", [400, 403, 404, 405, 410, 413, 415, 422])
@pytest.mark.parametrize("repeat", ANY)
def test_an_answer_is_an_answer(code: int, repeat: Repeat) -> None:
    assert decide(repeat, answered(code)) == Stop()


def test_credentials_are_refreshed_once() -> None:
    assert decide(Repeat.NEVER, answered(401)) == Refresh()
    assert decide(Repeat.NEVER, answered(401), PastAttempts(is_refreshed=True)) == Stop()


def test_a_server_that_never_answered_is_tried_a_few_times() -> None:
    unknown = [
        decide(
            Repeat.ALWAYS, AttemptOutcome(AttemptEnd.NOT_SENT), PastAttempts(attempts=attempts, is_server_known=False)
        )
        for attempts in (1, 2, 3)
    ]

    assert unknown == [Again(0.1), Again(0.2), Stop()]
    assert decide(Repeat.ALWAYS, AttemptOutcome(AttemptEnd.NOT_SENT), PastAttempts(attempts=30)) == Again(10)


def test_an_internal_error_without_a_hint_is_tried_a_few_times() -> None:
    last = PastAttempts(attempts=POLICY.internal_errors)

    assert decide(Repeat.ALWAYS, answered(500, "InternalError"), last) == Stop()
    assert isinstance(decide(Repeat.ALWAYS, answered(500, "ServerTimeout"), last), Again)
    assert isinstance(decide(Repeat.ALWAYS, answered(500, retry_after=1.0), last), Again)


@pytest.mark.parametrize(
    ("repeat", "expected"),
    [(Repeat.ALWAYS, Stop()), (Repeat.GUARDED, Stop()), (Repeat.READ_BACK, Doubt()), (Repeat.NEVER, Doubt())],
)
def test_at_the_deadline_a_lost_write_is_in_doubt(repeat: Repeat, expected: retry.Next) -> None:
    assert decide(repeat, AttemptOutcome(AttemptEnd.LOST), PastAttempts(elapsed=POLICY.deadline)) == expected


def test_retry_after_is_honoured_up_to_a_bound() -> None:
    assert decide(Repeat.ALWAYS, answered(429, retry_after=3.0)) == Again(3.1)
    assert decide(Repeat.ALWAYS, answered(503, retry_after=3600.0)) == Again(30.1)


@given(
    st.integers(1, 200),
    st.floats(0, 1),
    st.none() | st.floats(0, 1e6),
)
def test_a_delay_is_bounded_and_never_below_what_was_asked(
    attempts: int, jitter: float, retry_after: float | None
) -> None:
    delay = retry.delay(attempts, retry_after=retry_after, policy=POLICY, jitter=jitter)

    assert 0 < delay <= POLICY.longest_retry_after + POLICY.first_delay
    assert delay >= min(retry_after or 0, POLICY.longest_retry_after)


@given(st.integers(1, 100), st.floats(0, 1))
def test_delays_grow(attempts: int, jitter: float) -> None:
    now, later = (
        retry.delay(count, retry_after=None, policy=POLICY, jitter=jitter) for count in (attempts, attempts + 1)
    )

    assert now <= later
