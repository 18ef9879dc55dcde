"""What of a prediction must not happen, and what somebody must agree to."""

from collections.abc import Iterable

from firstlight import errors
from firstlight.model.handover import Prediction

_SHOWN = 12


def check(predictions: Iterable[Prediction], *, cluster: str, is_loss_allowed: bool) -> None:
    """See to it that nothing is taken over in a way that harms.

    Args:
        predictions: What would become of everything that passes.
        cluster: Its name, for what to do next.
        is_loss_allowed: Whether somebody agreed that fields disappear.

    Raises:
        errors.Refused: The server would not take an object, or fields would be lost.
    """
    found = [*predictions]
    reasons, hints = [], []
    if refused := [each for each in found if each.refused]:
        reasons += ["the server would not take what Git has:"]
        reasons += _shown([f"  {each.id}: {each.refused}" for each in refused])
        names = ", ".join(dict.fromkeys(each.component for each in refused))
        hints.append(
            f"make Git say what is live (firstlight boundary {cluster} shows where they differ), or replace the object "
            f"by hand when {names} may be away for a moment"
        )
    lost = [each for each in found if each.lost]
    if lost and not is_loss_allowed:
        reasons += ["fields would disappear that Git does not have, once their old owner is gone:"]
        reasons += _shown([f"  {each.id}: {path}" for each in lost for path in each.lost])
        hints.append(f"take them into Git, or let them go: firstlight handover {cluster} --allow-loss")
    if reasons:
        raise errors.Refused("\n".join(reasons), hint="; ".join(hints))


def danger(predictions: Iterable[Prediction]) -> str:
    """What takes something down, for a person to confirm; empty if nothing does."""
    rolling = sorted(str(each.id) for each in predictions if each.rolls)
    if not rolling:
        return ""
    return f"the engine replaces the pods of {', '.join(rolling)} when it takes over"


def _shown(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"  and {more} more"] if more > 0 else [])]
