"""The gates of all components, asked once more: what has passed in a run must still hold."""

import asyncio
import dataclasses
from collections.abc import Mapping

from firstlight.gates import gate_parts, gate_table
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.model.observation import Ask
from firstlight.model.verdict import Skipped, Verdict, VerificationCheck
from firstlight.model.work import Work
from firstlight.observe.gate_watch import Watching

_COMMAND = Skipped("its command runs in up and rehearse only")


async def checks(
    work: Work, ground: GateContext, watching: Watching, *, wait: float = 0.0
) -> tuple[VerificationCheck, ...]:
    """A check for every step that has gates.

    Args:
        work: The plan and its tasks.
        ground: What gates know besides the world.
        watching: The cluster.
        wait: Seconds for what is not there yet; 0 for one look.
    """
    asked = _asked(work, ground)
    every = [each for found in asked.values() for each in found]
    verdicts = dict(zip(map(id, every), await judged(every, watching, wait=wait), strict=True))
    return tuple(
        VerificationCheck(
            name=step,
            verdict=gate_parts.worst(verdicts[id(each)] for each in found),
            detail=tuple(dict.fromkeys(each.hint for each in found if each.hint and _is_bad(verdicts[id(each)]))),
        )
        for step, found in asked.items()
    )


async def judged(asked: list[GateQuestion], watching: Watching, *, wait: float) -> list[Verdict]:
    """The verdicts on questions, after one look at all of them, or when they have them."""
    if wait > 0:
        timed = [dataclasses.replace(each, timeout=min(each.timeout, wait)) for each in asked]
        return [*await asyncio.gather(*(_waited(each, watching) for each in timed))]
    able = [each for each in asked if not _commands(each)]
    looks = dict.fromkeys(look for each in able for look in each.looks)
    asks = dict.fromkeys(one for each in able for one in each.asks)
    view = await watching.view(looks, asks)
    return [_COMMAND if _commands(each) else each.judge(view) for each in asked]


async def _waited(question: GateQuestion, watching: Watching) -> Verdict:
    if _commands(question):
        return _COMMAND
    return await watching.wait(question, on_verdict=lambda _: None)


def _asked(work: Work, ground: GateContext) -> Mapping[str, list[GateQuestion]]:
    found: dict[str, list[GateQuestion]] = {}
    for step in work.plan.steps:
        made = [gate_table.question(gate, work.tasks[step.id], ground) for gate in step.gates]
        if some := [each for each in made if each is not None]:
            found[step.id] = some
    return found


def _commands(question: GateQuestion) -> bool:
    return any(each.ask == Ask.COMMAND for each in question.asks)


def _is_bad(verdict: Verdict) -> bool:
    return type(verdict).__name__ in ("Waiting", "Failed")
