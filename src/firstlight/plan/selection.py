"""Which steps of a plan a run is about: all, those up to a phase, those of some components, or the handover."""

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
    return _reached(plan, [each for each in plan.steps if _is_wanted(each, names)])


def handover(plan: Plan, names: tuple[str, ...] = ()) -> Plan:
    """The handover alone, on a cluster that is there: what bootstrap installs is taken to be so, and not looked at.

    Args:
        plan: The whole of it.
        names: Components that are meant, all if none is named; what else the engine brings is not waited for then.

    Raises:
        errors.UsageError: A component is named that the engine does not take over.
        errors.Refused: There is nobody to hand over to.
    """
    steps = [each for each in plan.steps if each.phase == Phase.HANDOVER]
    if not steps:
        raise errors.Refused(
            f"{plan.cluster} has no engine that could take anything over",
            hint="firstlight inventory shows what the repo is read as.",
        )
    known = {name for each in steps for name in (*_taken_over(each), each.component) if name}
    for name in names:
        if name not in known:
            raise errors.UsageError(
                f"the engine takes over no component {name} in {plan.cluster}",
                hint=f"There is {', '.join(sorted(known))}." if known else "",
            )
    return _reached(plan, [found for each in steps if (found := _narrowed(each, names)) is not None])


def within(plan: Plan, chosen: Plan) -> Plan:
    """The whole plan with the steps that were chosen as they were chosen: what is made of them depends on the rest."""
    return dataclasses.replace(plan, steps=tuple(chosen.by_id.get(each.id, each) for each in plan.steps))


def _taken_over(step: Step) -> tuple[str, ...]:
    return step.targets if step.action in (Action.MIGRATE_OWNERS, Action.RELEASE) else ()


def _narrowed(step: Step, names: tuple[str, ...]) -> Step | None:
    """A step of the handover with the components that are meant; None where it has none of them."""
    if not names:
        return step
    if step.action == Action.RELEASE:
        targets = tuple(each for each in step.targets if each in names)
        return dataclasses.replace(step, targets=targets, what=", ".join(targets)) if targets else None
    if step.action == Action.MIGRATE_OWNERS:
        return dataclasses.replace(step, targets=names, what=", ".join(names))
    return step if not step.component or step.component in names else None


def _reached(plan: Plan, wanted: list[Step]) -> Plan:
    """The plan of some steps alone: what else they need is taken to be there, but for the way to the API."""
    ways = [each for each in plan.steps if each.action in _ALWAYS]
    wanted = [each for each in wanted if each not in ways]
    there = {each.id for each in (*ways, *wanted)}
    api = tuple(StepNeed(each.id, "the API must answer", Tie.RUN) for each in ways)
    steps = [dataclasses.replace(each, needs=tuple(one for one in each.needs if one.step in there)) for each in ways]
    for each in wanted:
        kept = tuple(one for one in each.needs if one.step in there and one.step not in {way.id for way in ways})
        steps.append(dataclasses.replace(each, needs=(*kept, *api)))
    return dataclasses.replace(plan, steps=tuple(steps))


def _is_wanted(step: Step, names: tuple[str, ...]) -> bool:
    return step.component in names if step.component else SECRETS in names and step.action in _SECRETS
