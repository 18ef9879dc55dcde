"""What an engine's object that rests for a handover says of it: the handover was not finished, and how it is."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.model.handover import MARK
from firstlight.model.verdict import Verdict, Waiting


def handover(value: Mapping[str, Any], name: str) -> Verdict | None:
    """The verdict on something that firstlight has suspended; None if it has not.

    Args:
        value: As it is now.
        name: What it is called.
    """
    if not (run := text(value, "metadata", "annotations", MARK)):
        return None
    return Waiting(
        f"{name} is suspended for a handover that was not finished ({MARK}: {run}): "
        "run firstlight handover or firstlight up again, and it is resumed"
    )
