"""Which steps of a plan a run is about: all, those up to a phase, or those of some components."""

import dataclasses

from firstlight import errors
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie

SECRETS = "secrets"
"""What ``--only`` calls the Secrets of the foundation, with the namespaces that they are in."""
_ORDER = list(Phase)
_SECRETS = (Action.CREATE_NAMESPACES, Action.CREATE_SECRET)
_ALWAYS = (Action.FETCH_KUBECONFIG,)
"""Read alone, and nothing is reached without it."""


def until(plan: Plan, phase: Phase | None) -> Plan:
    """The plan without what comes after a phase."""
    if phase is None:
        return plan
    steps = tuple(each for each in plan.steps if _ORDER.index(each.phase) <= _ORDER.index(phase))
    return dataclasses.replace(plan, steps=steps)


def only(plan: Plan, names: tuple[str, ...]) -> Plan:
    """The plan of some components alone: what else they need is taken to be there, but for the way to the API.

    Raises:
        errors.UsageError: Something was asked for that the plan does not have.
    """
    if not names:
        return plan
    known = {each.component for each in plan.steps if each.component} | {SECRETS}
    for name in names:
        if name not in known:
            raise errors.UsageError(
                f"there is no component {name} in {plan.cluster}", hint=f"There is {', '.join(sorted(known))}."
            )
    ways = [each for each in plan.steps if each.action in _ALWAYS]
    wanted = [each for each in plan.steps if each not in ways and _is_wanted(each, names)]
    there = {each.id for each in (*ways, *wanted)}
    api = tuple(StepNeed(each.id, "the API must answer", Tie.RUN) for each in ways)
    steps = [dataclasses.replace(each, needs=tuple(one for one in each.needs if one.step in there)) for each in ways]
    for each in wanted:
        kept = tuple(one for one in each.needs if one.step in there and one.step not in {way.id for way in ways})
        steps.append(dataclasses.replace(each, needs=(*kept, *api)))
    return dataclasses.replace(plan, steps=tuple(steps))


def _is_wanted(step: Step, names: tuple[str, ...]) -> bool:
    return step.component in names if step.component else SECRETS in names and step.action in _SECRETS
