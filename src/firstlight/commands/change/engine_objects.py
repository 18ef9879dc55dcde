"""Which Kustomizations, HelmReleases and Applications of a cluster a change passes through."""

import dataclasses
from collections.abc import Iterable

from firstlight.engines import engine_directives
from firstlight.model.component import Component, ObjectId
from firstlight.model.decision import Decision
from firstlight.model.platform import Platform

GROUPS = {form: each.group for form, each in engine_directives.RESTS.items()}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineObject:
    """One that must be well, and at the commit where it follows the repo itself."""

    id: ObjectId
    component: str
    is_touched: bool
    """Whether the change is in it or in what brings it, and not only in what it needs."""
    is_suspended: bool = False
    """Whether Git says that it rests."""


def of(decision: Decision, before: Platform, after: Platform, *, cluster: str) -> tuple[EngineObject, ...]:
    """All that a change passes through in a cluster: what it touches, what brings that, and what needs it.

    Args:
        decision: The change.
        before: What the cluster comes from.
        after: As it must become; what is gone there is not among it, but what brought it is.
        cluster: Its name.
    """
    known = {each.name: each for each in after.components_of(cluster)}
    gone = {each.name: each for each in before.components_of(cluster)} if before is not after else {}
    parents = gone | known
    mine = [each for item in decision.items for each in item.touched if each.cluster == cluster]
    touched = dict.fromkeys(name for each in mine for name in _with_parents(each.component, parents))
    others = dict.fromkeys(name for each in mine for name in (*each.dependents, *each.brings) if name not in touched)
    found: dict[ObjectId, EngineObject] = {}
    for name in (*touched, *others):
        for each in _declaring(known.get(name)):
            found.setdefault(each.id, dataclasses.replace(each, is_touched=name in touched))
    return tuple(found.values())


def meant(decision: Decision, before: Platform, after: Platform, *, cluster: str) -> tuple[tuple[ObjectId, ...], ...]:
    """For each component that a change is really in, what declares it and then what brings that, the nearest first.

    Args:
        decision: The change.
        before: What the cluster comes from.
        after: As it must become.
        cluster: Its name.
    """
    known = {each.name: each for one in (before, after) for each in one.components_of(cluster)}
    touched = {each.component for item in decision.items for each in item.touched if each.cluster == cluster}
    parents = {known[each].parent for each in touched if each in known}
    return tuple(
        tuple(one.id for name in reversed([*_with_parents(each, known)]) for one in _declaring(known.get(name)))
        for each in sorted(touched - parents)
    )


def _with_parents(name: str, known: dict[str, Component]) -> Iterable[str]:
    """A component and what brings it, the outermost first; also of one that is gone."""
    chain: list[str] = []
    while name and name not in chain:
        chain.append(name)
        name = known[name].parent if name in known else ""
    return reversed(chain)


def _declaring(component: Component | None) -> list[EngineObject]:
    if component is None:
        return []
    return [
        EngineObject(
            id=ObjectId(GROUPS[each.form], each.form.value, each.namespace, each.name), component=component.name,
            is_touched=True, is_suspended=each.suspended,
        )
        for each in component.origins
        if each.form in GROUPS and each.name
    ]  # fmt: skip
