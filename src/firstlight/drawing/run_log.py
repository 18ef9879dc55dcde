"""A run as plain lines with timestamps, for CI: one an event, nothing said twice, a sign of life while it waits."""

from firstlight.drawing import clock, run_words, table
from firstlight.model import run_state
from firstlight.model.event import Event, Judged, RunEnded, RunStarted, StepEnded, StepStarted, Told, Writing
from firstlight.model.run_state import RunState

BEAT = 30.0
"""Seconds of silence of a step after which it is said what it waits for."""
_NAMES = 28
"""Cells of the longest name that others are aligned with."""
_SHOWN = 8
"""Writes that are named before the rest is counted."""


class RunLog:
    """Remembers what was said, so that it is not said again; the clock is given."""

    def __init__(self) -> None:
        self._state = RunState(is_alive=True)
        self._said: dict[tuple[str, str], str] = {}
        """What was said last, by step and gate."""
        self._when: dict[str, float] = {}

    def after(self, event: Event) -> list[str]:
        """The lines of an event; none where it says nothing new."""
        self._state = run_state.after(self._state, event)
        match event:
            case RunStarted():
                kind = "dry run" if event.is_dry_run else "rehearsal" if event.is_rehearsal else "run"
                revision = f" at {event.revision[:12]}" if event.revision else ""
                text = f"{kind} {event.run} of {event.cluster}{revision}: {run_words.count(len(event.steps), 'step')}"
                return [f"{clock.moment(event.at)}  {run_words.one_line(text)}"]
            case RunEnded():
                reason = f": {event.reason}" if event.reason else ""
                took = clock.span(self._state.seconds(event.at))
                text = f"run {event.verdict} after {took}, {run_words.count(event.writes, 'write')}{reason}"
                return [f"{clock.moment(event.at)}  {run_words.one_line(text)}"]
            case StepStarted():
                return self._said_now(event.step, event.at, "begins")
            case Writing():
                # What is written begins with what is done: "pass what talos owns of …".
                verb = "would" if self._state.started and self._state.started.is_dry_run else "writes:"
                return self._said_now(event.step, event.at, f"{verb} {run_words.few(event.writes, _SHOWN)}")
            case Told() if not event.step:
                return self._noted(event)
            case Told():
                return self._said_now(event.step, event.at, event.text)
            case Judged():
                return self._said_now(event.step, event.at, _judgement(event), gate=event.gate)
            case StepEnded():
                return self._said_now(event.step, event.at, self._end(event))

    def beat(self, now: float) -> list[str]:
        """What is waited for still, of every step of which nothing was heard for a while."""
        found = []
        for step in self._state.steps:
            if step.state not in run_state.LIVE or now - self._when.get(step.id, now) < BEAT:
                continue
            self._when[step.id] = now
            note = run_words.note(self._state, step, run_words.of(self._state))
            state = f"still {run_words.word(step)}, {clock.span(now - step.since)}"
            found.append(self._line(step.id, now, f"{state}: {note}" if note else state))
        return found

    def _said_now(self, step: str, at: float, text: str, gate: str = "") -> list[str]:
        self._when[step] = at
        if self._said.get((step, gate)) == text:
            return []
        self._said[step, gate] = text
        return [self._line(step, at, text)]

    def _noted(self, event: Told) -> list[str]:
        """What is told of the run as a whole."""
        if self._said.get(("", event.text)) is not None:
            return []
        self._said["", event.text] = event.text
        return [f"{clock.moment(event.at)}  {run_words.one_line(f'note: {event.text}')}"]

    def _line(self, name: str, at: float, text: str) -> str:
        called = run_words.of(self._state)
        width = min(_NAMES, max(map(table.width, called.values()), default=0))
        label = called[name] + " " * (width - table.width(called[name]))
        step = self._state.known[name]
        return f"{clock.moment(at)}  {step.brief.phase:<8}  {label}  {run_words.one_line(text)}"

    def _end(self, event: StepEnded) -> str:
        step = self._state.known[event.step]
        parts = [f"{run_words.word(step)} after {clock.span(step.seconds(event.at))}"]
        if event.writes:
            parts.append(f", {run_words.count(event.writes, 'write')}")
        said = [text for (name, gate), text in self._said.items() if name == event.step and gate]
        if event.reason and not any(each.endswith(f": {event.reason}") for each in said):
            parts.append(f": {event.reason}")
        if event.hint:
            parts.append(f" ({event.hint.rstrip('.')})")
        return "".join(parts)


def _judgement(event: Judged) -> str:
    text = f"waits for {event.gate}" if event.verdict == "waiting" else f"{event.gate} {event.verdict}"
    return f"{text}: {event.reason}" if event.reason else text
