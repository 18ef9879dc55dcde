"""Questions that are made of several: each part has its looks and its judgement, and together they are one."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from firstlight.gates.question import Question
from firstlight.model.observation import Asked, Look, View
from firstlight.model.plan import Gate
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What must be seen for one judgement."""

    looks: tuple[Look, ...]
    judge: Callable[[View], Verdict] = dataclasses.field(repr=False)
    asks: tuple[Asked, ...] = ()


def question(gate: Gate, name: str, part: Part, *, hint: str = "", timeout: float = 600.0) -> Question:
    """A part made a whole question."""
    return Question(
        gate=gate, name=name, looks=part.looks, asks=part.asks, judge=part.judge, hint=hint, timeout=timeout
    )


def together(parts: Sequence[Part]) -> Part:
    """All of them as one, judged at once."""
    return Part(
        looks=tuple(dict.fromkeys(look for each in parts for look in each.looks)),
        asks=tuple(dict.fromkeys(asked for each in parts for asked in each.asks)),
        judge=lambda view: worst(each.judge(view) for each in parts),
    )


def in_turn(parts: Sequence[Part], *, last: bool = False) -> Part:
    """All of them as one; what comes later is not worth a word before what comes first has passed.

    Args:
        parts: In their order.
        last: Whether the last one's reason speaks for all when they have passed.
    """

    def judge(view: View) -> Verdict:
        passed = []
        for each in parts:
            verdict = each.judge(view)
            if isinstance(verdict, Waiting | Failed):
                return verdict
            passed.append(verdict)
        return worst(passed[-1:] if last else passed)

    return dataclasses.replace(together(parts), judge=judge)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for several: what failed, else what waits, else everything that passed."""
    every = list(verdicts)
    for kind in (Failed, Waiting):
        if reasons := [each.reason for each in every if isinstance(each, kind)]:
            return kind(_listed(reasons))
    if every and all(isinstance(each, Skipped) for each in every):
        return Skipped(_listed([each.reason for each in every]))
    return Passed(_listed([each.reason for each in every]))


def _listed(reasons: Sequence[str]) -> str:
    told = [*dict.fromkeys(each for each in reasons if each)]
    more = f" and {len(told) - 4} more" if len(told) > 4 else ""
    return ", ".join(told[:4]) + more if all("," not in each for each in told) else "; ".join(told[:4]) + more
