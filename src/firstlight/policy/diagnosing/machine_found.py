"""What is found of a machine: it is named for it, and shows what the machine said."""

from firstlight.model.diagnosis import NextCommand
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import MachineSight


def told(
    rule: str,
    sight: MachineSight,
    says: str,
    *,
    shown: str,
    next: NextCommand,
    needs: frozenset[str] = frozenset(),
    names: frozenset[str] = frozenset(),
    since: float | None = None,
) -> Found:
    """A symptom of a machine; its node has it too."""
    return Found(
        rule=rule,
        subject=f"machine {sight.name}",
        says=says,
        evidence=(found.evidence(f"machine {sight.name}", shown),),
        next=(next,),
        since=since,
        names=names,
        needs=needs,
    )
