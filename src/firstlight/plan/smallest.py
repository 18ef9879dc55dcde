"""The smallest bootstrap set: what the engine cannot work without, by what things are and what objects refer to.

What the repo declares as a need is not counted: Flux that is installed after cert-manager need not need it.
"""

from collections.abc import Iterable, Sequence

from firstlight.model.component import Component, Phase, Side
from firstlight.model.plan import Link, Problem, Severity, Smallest, Step, Tie
from firstlight.plan import facts, ground
from firstlight.plan.ground import Ground

_MISSING = {"cni-missing": "a CNI", "dns-missing": "cluster DNS", "engine-missing": "an engine"}


def of(known: Ground, steps: Sequence[Step], problems: Iterable[Problem]) -> Smallest:
    """What is needed, what of it is missing, and what is there without need."""
    if not known.engines:
        return Smallest(missing=tuple(_MISSING[each.rule] for each in problems if each.rule in _MISSING))
    needed = _closure(known, steps)
    mine = [each for each in known.facts.bootstrap if each.phase != Phase.MACHINE]
    others = [each for each in mine if each.name not in needed]
    # Whose kinds somebody uses is not known before everything that is needed was rendered.
    is_sure = all(known.facts.rendition(each, Side.BOOTSTRAP) for each in mine if each.name in needed)
    unknown = [each.name for each in others if each.phase == Phase.CRDS and not is_sure]
    return Smallest(
        needed=tuple(each.name for each in mine if each.name in needed),
        missing=tuple(dict.fromkeys(_missing(known, needed, problems))),
        spare=tuple(each.name for each in others if each.name not in unknown),
        unknown=tuple(unknown),
    )


def _closure(known: Ground, steps: Sequence[Step]) -> set[str]:
    by_id = {each.id: each for each in steps}
    waiting = [ground.SOURCE, *(ground.bootstrap_id(each) for each in known.engines)]
    seen: set[str] = set()
    while waiting:
        step = by_id.get(name := waiting.pop())
        if name in seen or step is None:
            continue
        seen.add(name)
        waiting += [need.step for need in step.needs if need.tie == Tie.FACT]
    return {by_id[name].component for name in seen} - {""}


def _missing(known: Ground, needed: set[str], problems: Iterable[Problem]) -> Iterable[str]:
    later = {each.name for each in known.facts.gitops}
    for each in problems:
        if each.rule in _MISSING:
            yield each.component or _MISSING[each.rule]
        elif each.severity == Severity.ERROR and each.component in needed:
            yield from (link.name for link in each.chain if link.name in later)


def spare(known: Ground, found: Smallest) -> list[Problem]:
    """What bootstrap has without need, as information."""
    return [_spare(known.facts.by_name[name]) for name in found.spare]


def _spare(component: Component) -> Problem:
    declared = f" ({component.why})" if component.is_why_declared else ""
    return Problem(
        rule="without-need",
        severity=Severity.INFO,
        message=f"{component.name} is in bootstrap{declared}, and nothing that the engine needs uses it",
        chain=(Link(component.name, component.why, facts.place(component, Side.BOOTSTRAP)),),
        way_out="Nothing must be done; it could as well be left to GitOps.",
        component=component.name,
    )
