"""Words that all forms of a change's record share."""

from firstlight.model.change_record import ChangeStep


def seconds(step: ChangeStep) -> str:
    """How long a step took: ``4 s``, ``12 min``; empty while it is not over."""
    if not step.ended or not step.begun:
        return ""
    took = max(0.0, step.ended - step.begun)
    if took < 100:
        return f"{took:.0f} s"
    return f"{took / 60:.0f} min" if took < 6000 else f"{took / 3600:.0f} h"
