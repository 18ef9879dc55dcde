"""The gates of a step, waited for all at once, and the one verdict that they make."""

import asyncio
import re
from collections.abc import Callable, Container, Sequence

from firstlight.execute import machine_gates
from firstlight.execute.world import World
from firstlight.gates import questions
from firstlight.gates.ground import GateGround
from firstlight.model.plan import Gate, Step, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import Task

_MORE = re.compile(r" and \d+ more$")
_MACHINES = (Subject.MACHINES, Subject.ETCD)

Judging = Callable[[str, Verdict], None]
"""Told of each change of a gate's verdict, with the gate's name."""


async def wait(step: Step, task: Task, world: World, *, ground: GateGround, on_verdict: Judging) -> tuple[Verdict, str]:
    """Wait until all gates of a step have passed, or one has failed or was given up.

    Returns:
        The verdict, and what to try next where it is not good.
    """
    # No group of tasks: what stops one gate stops the step by itself, not wrapped in a group of errors.
    tasks = [asyncio.create_task(_one(gate, task, world, ground, on_verdict)) for gate in step.gates]
    try:
        return together(await asyncio.gather(*tasks))
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(gate: Gate, task: Task, world: World, ground: GateGround, on_verdict: Judging) -> tuple[Verdict, str]:
    if gate.subject in _MACHINES:
        name = str(gate.subject)
        verdict = await machine_gates.wait(
            gate.subject, task, world, on_verdict=lambda each: on_verdict(name, each)
        )  # fmt: skip
        return verdict, ""
    question = questions.question(gate, task, ground)
    if question is None:
        return Skipped(), ""
    verdict = await world.watching.wait(question, on_verdict=lambda each: on_verdict(question.name, each))
    return verdict, question.hint


def together(verdicts: Sequence[tuple[Verdict, str]]) -> tuple[Verdict, str]:
    """The worst verdict, with the reasons of all that are as bad."""
    for kind in (Failed, Waiting):
        bad = [(verdict.reason, hint) for verdict, hint in verdicts if isinstance(verdict, kind)]
        if bad:
            hints = dict.fromkeys(hint for _, hint in bad if hint)
            return kind("; ".join(dict.fromkeys(reason for reason, _ in bad if reason))), " ".join(hints)
    reasons = dict.fromkeys(verdict.reason for verdict, _ in verdicts if isinstance(verdict, Passed) and verdict.reason)
    return Passed(", ".join(each for each in reasons if not _is_told(each, reasons))), ""


def _is_told(reason: str, reasons: Container[str]) -> bool:
    """Whether a list says nothing that other gates do not say one by one: an engine's of its controllers."""
    parts = _MORE.sub("", reason).split(", ")
    return len(parts) > 1 and all(each in reasons for each in parts)
