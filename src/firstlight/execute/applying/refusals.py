"""What is not written although it differs: fields of others, and CRDs that are newer than the repo's."""

from collections.abc import Iterable

from firstlight import errors
from firstlight.clients.kube.errors import FieldConflict
from firstlight.execute.applying.difference import Difference

_OWN = frozenset({"before-first-apply", "firstlight", "helm", "talos", "talosctl"})
"""Managers that are bootstrap's own, whatever wrote for it; their fields may be taken."""


def is_own(manager: str, *, applied_by: str) -> bool:
    """Whether the fields of a manager may be taken by another one of bootstrap's."""
    return manager in _OWN or manager == applied_by or manager.startswith(("kubectl", "firstlight-"))


def strangers(conflicts: Iterable[FieldConflict], *, manager: str) -> list[FieldConflict]:
    """Those conflicts that are with somebody else than bootstrap."""
    return [each for each in conflicts if not is_own(each.manager, applied_by=manager)]


def check(differences: Iterable[Difference]) -> None:
    """See to it that nothing is written that must not be.

    Raises:
        errors.Refused: A live CRD would be downgraded, or somebody else owns a field.
    """
    reasons, hints = [], []
    for each in differences:
        if each.downgrade:
            reasons.append(f"{each.object.id} would be downgraded: {each.downgrade}")
            hints.append("take the version that is live into the repo, or newer")
        elif others := strangers(each.conflicts, manager=each.manager):
            reasons.append(conflict(each, others))
            hints.append(HINT)
    if reasons:
        raise errors.Refused("\n".join(reasons), hint="; ".join(dict.fromkeys(hints)))


HINT = "leave the field out of the repo, or let go of it there"


def conflict(difference: Difference, conflicts: Iterable[FieldConflict]) -> str:
    """A conflict for people."""
    owned = ", ".join(f"{each.field} by {each.manager}" for each in conflicts)
    return f"fields of {difference.object.id} are owned by others, with other values: {owned}"
