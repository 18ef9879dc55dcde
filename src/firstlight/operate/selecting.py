"""Which steps of a plan a run is about: all, those up to a phase, or those of some components."""

import dataclasses

from firstlight import errors
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Plan, Step

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


def unwanted(plan: Plan, only: tuple[str, ...]) -> frozenset[str]:
    """The steps that were not asked for.

    Raises:
        errors.UsageError: Something was asked for that the plan does not have.
    """
    if not only:
        return frozenset()
    known = {each.component for each in plan.steps if each.component} | {SECRETS}
    for name in only:
        if name not in known:
            raise errors.UsageError(
                f"there is no component {name} in {plan.cluster}", hint=f"There is {', '.join(sorted(known))}."
            )
    return frozenset(each.id for each in plan.steps if not _is_wanted(each, only))


def _is_wanted(step: Step, only: tuple[str, ...]) -> bool:
    if step.action in _ALWAYS:
        return True
    return step.component in only if step.component else SECRETS in only and step.action in _SECRETS
