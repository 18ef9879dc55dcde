"""The hooks that firstlight.yaml declares for a component, and what is wrong with them."""

import math
import re
from collections.abc import Iterator

from firstlight.model.component import Component, Side
from firstlight.model.hook import Hook
from firstlight.model.remark import Grade, Remark
from firstlight.repo.declaration import form
from firstlight.repo.declaration.reading import Declaration

LONGEST = 3600.0
"""Seconds; whoever needs longer has something else in mind."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def of(declaration: Declaration, name: str) -> tuple[Hook, ...]:
    """The hooks of a component; those that are wrong are left out, and named by ``problems``."""
    return tuple(
        Hook(
            place=declaration.place("components", name, "hooks", number),
            run=each.run,
            unless=each.unless,
            timeout=_seconds(each.timeout),
        )
        for number, each in enumerate(declaration.platform.components[name].hooks)
        if not [*_wrong(each)]
    )


def problems(declaration: Declaration) -> Iterator[Remark]:
    """Everything that is wrong with declared hooks, beyond what the schema says."""
    for name, component in declaration.platform.components.items():
        for number, each in enumerate(component.hooks):
            for step, message, hint in _wrong(each):
                place = declaration.place("components", name, "hooks", number, *step)
                yield Remark(place, Grade.ERROR, f"components.{name}.hooks[{number}] {message}", hint)


def useless(declaration: Declaration, component: Component) -> Iterator[Remark]:
    """That hooks never run, since bootstrap does not have the component."""
    if component.hooks and component.side == Side.GITOPS:
        yield Remark(
            component.hooks[0].place,
            Grade.ERROR,
            f"{component.name} has hooks, and they run after bootstrap alone: Git has all of it in {component.cluster}",
            "Write phase: core for it, or make the hook a Job in Git.",
        )


def _wrong(hook: form.Hook) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    for field, words in (("run", hook.run), ("unless", hook.unless)):
        if not words[0]:
            yield (field, 0), f"has an empty program in {field}", "Write a program, or the path of a script: ./x.sh."
        elif any("\0" in each for each in words):
            yield (field,), f"has a zero byte in {field}", "Leave it out: no command line can have one."
    if not (math.isfinite(seconds := _seconds(hook.timeout)) and 0 < seconds <= LONGEST):
        yield ("timeout",), "has a timeout that is none", "Write seconds, 90s or 5m; an hour at most."


def _seconds(written: float | str) -> float:
    """Seconds; not a number where it is no duration."""
    if not isinstance(written, str):
        return float(written)
    found = _DURATION.fullmatch(written.strip())
    return float(found[1]) * _UNITS[found[2]] if found else math.nan
