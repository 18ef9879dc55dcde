"""How a run stands, folded from its events: pure, so that a live screen, another terminal and a picture all agree.

``after`` takes one event; ``fold`` all of them. What follows from the steps (blocked, phases, causes, the critical
path) is computed when it is asked for.
"""

import contextlib
import dataclasses
import enum
import functools
import graphlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from firstlight.model.component import Phase
from firstlight.model.event import Event, Judged, RunEnded, RunStarted, StepBrief, StepEnded, StepStarted, Told, Writing


class StepState(enum.StrEnum):
    """Where a step is."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    """Its gates are waited for."""
    PASSED = "passed"
    FAILED = "failed"
    """Also one that was given up when its time was over."""
    SKIPPED = "skipped"
    BLOCKED = "blocked"
    """It cannot begin, since something that it needs has failed."""


class RunOutcome(enum.StrEnum):
    """Where a run is."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Somebody stopped it, and it could still say so."""
    KILLED = "killed"
    """It has no end, and its process is gone."""
    UNKNOWN = "unknown"
    """It has no end, and from here nobody can tell whether its process lives."""


class SpanKind(enum.StrEnum):
    """What a step spends its time with."""

    WORK = "work"
    WAIT = "wait"


_OUTCOMES = {
    "passed": RunOutcome.PASSED,
    "skipped": RunOutcome.PASSED,
    "waiting": RunOutcome.INTERRUPTED,
}
LIVE = (StepState.RUNNING, StepState.WAITING)
DONE = (StepState.PASSED, StepState.SKIPPED)


@dataclasses.dataclass(frozen=True, slots=True)
class RunSpan:
    """A stretch of time of a step; one that has no end goes on."""

    kind: SpanKind
    start: float
    end: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """A gate of a step, and what it said last."""

    name: str
    verdict: str
    reason: str = ""
    since: float
    """When it was judged first."""
    at: float
    """When the verdict changed last."""

    def seconds(self, until: float) -> float:
        """How long it was waited for; up to a moment if it waits still."""
        return between(self.since, until if self.verdict == "waiting" else self.at)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """A step of a run, as far as it is."""

    brief: StepBrief
    state: StepState = StepState.PENDING
    since: float = 0.0
    """When it came into this state."""
    started: float | None = None
    ended: float | None = None
    reason: str = ""
    """What it waits for, why it failed, what it found."""
    hint: str = ""
    told: str = ""
    """How far it said that it is."""
    writes: tuple[str, ...] = ()
    """What it was about to write."""
    written: int = 0
    """How many things it wrote, once it ended."""
    is_given_up: bool = False
    """It still waited when its time was over."""
    gates: tuple[GateRun, ...] = ()
    spans: tuple[RunSpan, ...] = ()
    causes: tuple[str, ...] = ()
    """The failed steps that block it."""

    @property
    def id(self) -> str:
        """The id of the step."""
        return self.brief.id

    def seconds(self, now: float) -> float:
        """How long it took, or takes so far."""
        return between(self.started, now if self.ended is None else self.ended)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRun:
    """A phase of a run, as far as it is."""

    phase: Phase
    state: StepState
    done: int
    total: int
    started: float | None = None
    ended: float | None = None

    def seconds(self, now: float) -> float:
        """How long it took, or takes so far."""
        return between(self.started, now if self.ended is None else self.ended)


@dataclasses.dataclass(frozen=True, slots=True)
class FailureCause:
    """A failed step, and everything that cannot begin because of it."""

    step: StepRun
    blocks: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunBrief:
    """As much of a run as a list of them shows."""

    run: str
    cluster: str
    started: float
    last: float
    """When something happened last."""
    outcome: RunOutcome
    reason: str = ""
    writes: int = 0
    steps: int = 0
    who: str = ""
    is_rehearsal: bool = False
    is_dry_run: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunState:
    """How a run stands."""

    started: RunStarted | None = None
    known: Mapping[str, StepRun] = dataclasses.field(default_factory=dict, repr=False)
    """Steps as their events tell; ``steps`` also knows which are blocked."""
    ended: RunEnded | None = None
    notes: tuple[str, ...] = ()
    """What was told of the run as a whole, each once: what the user has to do, or must know."""
    last: float = 0.0
    """When something happened last."""
    is_alive: bool | None = None
    """Whether the process that runs it lives; None where that cannot be told."""

    @property
    def outcome(self) -> RunOutcome:
        """Whether it is over, and how; or was killed; or goes on."""
        if self.ended is not None:
            return _OUTCOMES.get(self.ended.verdict, RunOutcome.FAILED)
        if self.is_alive is None:
            return RunOutcome.UNKNOWN
        return RunOutcome.RUNNING if self.is_alive else RunOutcome.KILLED

    @cached_property
    def steps(self) -> tuple[StepRun, ...]:
        """Every step, in the order of the plan."""
        causes: dict[str, tuple[str, ...]] = {}
        for name in order(tuple(each.brief for each in self.known.values())):
            step = self.known[name]
            if step.state == StepState.PENDING:
                causes[name] = tuple(
                    dict.fromkeys(cause for need in step.brief.needs for cause in self._of(need, causes))
                )
        return tuple(
            dataclasses.replace(each, state=StepState.BLOCKED, causes=causes[each.id]) if causes.get(each.id) else each
            for each in self.known.values()
        )

    def _of(self, need: str, causes: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        step = self.known.get(need)
        return (need,) if step is not None and step.state == StepState.FAILED else causes.get(need, ())

    @cached_property
    def by_id(self) -> Mapping[str, StepRun]:
        """Steps by their ids."""
        return {each.id: each for each in self.steps}

    @cached_property
    def phases(self) -> tuple[PhaseRun, ...]:
        """The phases that have steps, in order."""
        return tuple(
            _phase(phase, mine)
            for phase in Phase
            if (mine := [each for each in self.steps if each.brief.phase == phase])
        )

    @cached_property
    def causes(self) -> tuple[FailureCause, ...]:
        """What failed, with what it blocks; the one that blocks most on top, else the one that failed first."""
        found = [
            FailureCause(step, tuple(each.id for each in self.steps if step.id in each.causes))
            for step in self.steps
            if step.state == StepState.FAILED
        ]
        return tuple(sorted(found, key=lambda each: (-len(each.blocks), each.step.since)))

    @property
    def writes(self) -> int:
        """How many things were written, by the steps that have ended."""
        told = sum(each.written for each in self.known.values())
        return max(told, self.ended.writes) if self.ended is not None else told

    def unmet(self, step: StepRun) -> tuple[str, ...]:
        """What a step needs directly and does not have yet."""
        return tuple(need for need in step.brief.needs if need in self.known and self.known[need].state not in DONE)

    def until(self, now: float) -> float:
        """The moment up to which it is told: now while it goes on, else when something happened last."""
        if self.ended is not None:
            return self.ended.at
        return self.last if self.outcome == RunOutcome.KILLED else max(now, self.last)

    def seconds(self, now: float) -> float:
        """How long it took, or takes so far."""
        return between(self.started.at if self.started else None, self.until(now))

    def critical_path(self, now: float) -> tuple[StepRun, ...]:
        """The longest chain by what steps took so far; while the run goes on, with what is still to come."""
        goes_on = self.outcome in (RunOutcome.RUNNING, RunOutcome.UNKNOWN)
        length: dict[str, float] = {}
        before: dict[str, str] = {}
        until = self.until(now)
        for name in order(tuple(each.brief for each in self.known.values())):
            step = self.by_id[name]
            if step.started is None and (not goes_on or step.state == StepState.BLOCKED):
                continue
            # A step that has not begun counts a little, so that a long rest is seen.
            own = step.seconds(until) if step.started is not None else 1.0
            needs = [each for each in step.brief.needs if each in length]
            if needs:
                before[name] = max(needs, key=length.__getitem__)
            length[name] = own + (length[before[name]] if needs else 0.0)
        path = []
        name = max(length, key=length.__getitem__, default="")
        while name:
            path.append(self.by_id[name])
            name = before.get(name, "")
        return tuple(reversed(path))


def between(start: float | None, end: float | None) -> float:
    """Seconds from one moment to another; a clock that went back gives none."""
    return 0.0 if start is None or end is None or not end > start else end - start


def fold(events: Iterable[Event], *, is_alive: bool | None = None) -> RunState:
    """How a run stands after all its events."""
    return functools.reduce(after, events, RunState(is_alive=is_alive))


def after(state: RunState, event: Event) -> RunState:
    """How a run stands after one more event; one of a step that was not announced makes it known."""
    last = max(state.last, event.at)
    if isinstance(event, RunStarted):
        return RunState(
            started=event, known={each.id: StepRun(brief=each) for each in event.steps}, last=event.at,
            is_alive=state.is_alive,
        )  # fmt: skip
    if isinstance(event, RunEnded):
        return dataclasses.replace(state, ended=event, last=last)
    if isinstance(event, Told) and not event.step:
        return dataclasses.replace(state, notes=tuple(dict.fromkeys((*state.notes, event.text))), last=last)
    step = state.known.get(event.step) or StepRun(brief=_unannounced(event.step))
    return dataclasses.replace(state, known={**state.known, step.id: _step_after(step, event)}, last=last)


def _unannounced(name: str) -> StepBrief:
    phase, *rest = re.split("[:/]", name, maxsplit=1)
    with contextlib.suppress(ValueError):
        return StepBrief(id=name, phase=Phase(phase), name=rest[0] if rest and rest[0] else name)
    return StepBrief(id=name, phase=Phase.GITOPS, name=name)


def _step_after(step: StepRun, event: StepStarted | Writing | Told | Judged | StepEnded) -> StepRun:
    if isinstance(event, StepStarted):
        return _turned(StepRun(brief=step.brief), SpanKind.WORK, event.at)
    if isinstance(event, StepEnded):
        return _ended(step, event)
    if step.ended is not None:
        # Said too late: it is remembered, and changes no outcome.
        return _judged(step, event) if isinstance(event, Judged) else step
    match event:
        case Writing():
            step = dataclasses.replace(step, writes=step.writes + event.writes)
            return _turned(step, SpanKind.WORK, event.at)
        case Told():
            step = dataclasses.replace(step, told=event.text)
            return step if step.started is not None else _turned(step, SpanKind.WORK, event.at)
    step = _judged(step, event)
    waiting = [each for each in step.gates if each.verdict == "waiting"]
    if not waiting:
        step = dataclasses.replace(step, reason=event.reason)
        return _turned(step, SpanKind.WORK, event.at) if step.started is None else step
    more = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
    return _turned(dataclasses.replace(step, reason=f"{waiting[0].reason}{more}"), SpanKind.WAIT, event.at)


def _judged(step: StepRun, event: Judged) -> StepRun:
    gates = {each.name: each for each in step.gates}
    old = gates.get(event.gate)
    is_same = old is not None and old.verdict == event.verdict
    gates[event.gate] = GateRun(
        name=event.gate, verdict=event.verdict, reason=event.reason, since=old.since if old else event.at,
        at=old.at if old is not None and is_same else event.at,
    )  # fmt: skip
    return dataclasses.replace(step, gates=tuple(gates.values()))


def _turned(step: StepRun, kind: SpanKind, at: float) -> StepRun:
    """The step at work, or waiting for its gates."""
    state = StepState.RUNNING if kind == SpanKind.WORK else StepState.WAITING
    spans = step.spans
    if not spans or spans[-1].kind != kind:
        spans = (*_closed(spans, at), RunSpan(kind, at))
    since = step.since if step.state == state else at
    return dataclasses.replace(
        step, state=state, since=since, started=at if step.started is None else step.started, spans=spans
    )


def _closed(spans: tuple[RunSpan, ...], at: float) -> tuple[RunSpan, ...]:
    if not spans or spans[-1].end is not None:
        return spans
    return (*spans[:-1], dataclasses.replace(spans[-1], end=at))


def _ended(step: StepRun, event: StepEnded) -> StepRun:
    states = {"passed": StepState.PASSED, "skipped": StepState.SKIPPED}
    return dataclasses.replace(
        step, state=states.get(event.verdict, StepState.FAILED), since=event.at,
        started=event.at if step.started is None else step.started, ended=event.at, reason=event.reason,
        hint=event.hint, written=event.writes, is_given_up=event.verdict == "waiting",
        spans=_closed(step.spans, event.at),
    )  # fmt: skip


def _phase(phase: Phase, steps: list[StepRun]) -> PhaseRun:
    states = {each.state for each in steps}
    done = sum(each.state in DONE for each in steps)
    starts = [each.started for each in steps if each.started is not None]
    ends = [each.ended for each in steps if each.ended is not None]
    is_over = bool(ends) and not states & {*LIVE, StepState.PENDING}
    if StepState.FAILED in states:
        state = StepState.FAILED
    elif done == len(steps):
        state = StepState.PASSED
    elif starts:
        state = StepState.RUNNING
    else:
        state = StepState.BLOCKED if StepState.BLOCKED in states else StepState.PENDING
    return PhaseRun(
        phase=phase, state=state, done=done, total=len(steps), started=min(starts, default=None),
        ended=max(ends) if is_over else None,
    )  # fmt: skip


@functools.lru_cache(maxsize=8)
def order(steps: tuple[StepBrief, ...]) -> tuple[str, ...]:
    """Every step after what it needs; those that hold each other up come last."""
    names = {each.id: None for each in steps}
    sorter = graphlib.TopologicalSorter({each.id: [need for need in each.needs if need in names] for each in steps})
    with contextlib.suppress(graphlib.CycleError):  # it goes on as far as it can
        sorter.prepare()
    found: dict[str, None] = {}
    while ready := sorter.get_ready():
        found |= dict.fromkeys(ready)
        sorter.done(*ready)
    return tuple({**found, **names})
