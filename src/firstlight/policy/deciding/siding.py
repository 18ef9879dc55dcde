"""Which side a change is on: what a rule says, who owns the component in the end, and what is never so."""

from collections.abc import Iterable

from firstlight.model.change import Change, Matter
from firstlight.model.component import Component, Owner, Side
from firstlight.plan import facts as plan_facts
from firstlight.policy.deciding.form import SideWord

_OF_NOTHING = {Matter.TOOLING, Matter.DOCUMENTATION}
WITHOUT_CLUSTER = _OF_NOTHING | {Matter.POLICY, Matter.PLATFORM}
"""What no cluster has, whatever it says of clusters."""
HARMLESS_UNREAD = _OF_NOTHING | {Matter.UNKNOWN}
"""What nobody could read of these was of no cluster before."""
_OF_NO_CLUSTER = WITHOUT_CLUSTER | HARMLESS_UNREAD
_OF_BOOTSTRAP = {Matter.MACHINE, Matter.SCRIPT, Matter.RELEASE}


def owned(component: Component) -> Side:
    """The side of a change to a component, by who owns it in the end."""
    if component.owner is Owner.BOOTSTRAP:
        return Side.BOOTSTRAP
    return Side.HYBRID if is_of_foundation(component) else Side.GITOPS


def is_of_foundation(component: Component) -> bool:
    """Whether it is there before Git owns anything; an engine that installs itself is, though Git alone declares it."""
    return component.phase in plan_facts.BOOTSTRAP_PHASES


def reached(side: Side | None, matter: Matter) -> Side | None:
    """A side, if it can be: no engine reaches machine configuration."""
    return Side.BOOTSTRAP if matter is Matter.MACHINE and side in (None, Side.GITOPS) else side


def by_matter(change: Change) -> Side | None:
    """The side of what belongs to no component."""
    if change.matter in _OF_NOTHING:
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
    if found is None and change.matter is Matter.PLATFORM and not is_own:
        return None, ""  # all fields of firstlight.yaml are known, also where it lists machines
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
