"""Which side a change is on: what a rule says, who owns the component in the end, and what is never so."""

from collections.abc import Iterable

from firstlight.model.change import Change, Matter
from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.policy.deciding.form import SideWord

_OF_NO_CLUSTER = {Matter.TOOLING, Matter.DOCUMENTATION, Matter.POLICY, Matter.PLATFORM, Matter.UNKNOWN}
_OF_BOOTSTRAP = {Matter.MACHINE, Matter.SCRIPT, Matter.RELEASE}


def owned(component: Component) -> Side:
    """The side of a change to a component, by who owns it in the end."""
    if component.owner is Owner.BOOTSTRAP:
        return Side.BOOTSTRAP
    return Side.GITOPS if component.phase in (Phase.HANDOVER, Phase.GITOPS) else Side.HYBRID


def by_matter(change: Change) -> Side | None:
    """The side of what belongs to no component."""
    if change.matter in (Matter.TOOLING, Matter.DOCUMENTATION):
        return None
    return Side.BOOTSTRAP if change.matter in _OF_BOOTSTRAP else Side.GITOPS


def side(
    word: SideWord, change: Change, component: Component | None, *, is_own: bool, is_of_machines: bool
) -> tuple[Side | None, str]:
    """The side that a rule's word means here, and what it was overruled for.

    Args:
        word: The rule's.
        change: What changed.
        component: Whose it is.
        is_own: Whether it is a team's own rule.
        is_of_machines: Whether it stands in a file that shapes machines.
    """
    found = _meant(word, change, component)
    if (is_of_machines or change.matter is Matter.MACHINE) and found in (None, Side.GITOPS):
        return Side.BOOTSTRAP, "no engine reaches machine configuration"
    if found is None and component is None and change.matter not in _OF_NO_CLUSTER and not is_own:
        return by_matter(change), "what is no tooling and no documentation may reach a cluster"
    return found, ""


def _meant(word: SideWord, change: Change, component: Component | None) -> Side | None:
    match word:
        case "none":
            return None
        case "owner":
            return owned(component) if component is not None else by_matter(change)
    return Side(word)


def union(sides: Iterable[Side | None]) -> Side | None:
    """The side of several changes together."""
    found = {each for each in sides if each is not None}
    if not found:
        return None
    return found.pop() if len(found) == 1 else Side.HYBRID
