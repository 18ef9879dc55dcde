"""Overrides as data, for programs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from firstlight.commands.override.output_form import RouteAnswerData, RouteData
from firstlight.drawing import override_text
from firstlight.model.override import AppliedChange, EmergencyRoute, Override, OverrideStatus


def one(override: Override, *, now: float) -> dict[str, Any]:
    """One override."""
    found = msgspec.to_builtins(override)
    assert isinstance(found, dict)
    return {**found, "expired": override.is_expired(now), "over": override.is_over}


def changes(override: Override, found: Sequence[AppliedChange]) -> dict[str, Any]:
    """What was just changed past Git."""
    return {"id": override.id, "changes": [msgspec.to_builtins(each) for each in found]}


def status(seen: Sequence[OverrideStatus], *, cluster: str, now: float) -> dict[str, Any]:
    """All that were found."""
    return {
        "cluster": cluster,
        "overrides": [
            {
                **one(each.override, now=now),
                "awake": each.awake,
                "aligned_in_git": not each.differences if each.is_compared else None,
                "not_in_git": each.differences,
                "is_copy": each.is_copy,
                "next": override_text.next_step(each, now),
            }
            for each in seen
        ],
    }


def route(found: EmergencyRoute) -> RouteData:
    """The flowchart as it was walked."""
    answers: list[RouteAnswerData] = [
        {"question": question, "yes": is_yes, "seen": seen} for question, is_yes, seen in found.answers
    ]
    return {"path": found.path, "answers": answers}
