"""What an override has changed, taken from the cluster: its objects with the fields of its manager and no others."""

from collections.abc import Mapping
from typing import Any

from firstlight.execute.overriding import owned_fields, restoring, versions
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Override
from firstlight.operate.override import records

_COMPONENT = "component "


async def applied(override: Override, ground: Ground) -> dict[ObjectId, Mapping[str, Any] | None]:
    """The objects that were changed; None for one that was deleted and is not there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    before = await records.before(override, ground)
    known = await versions.of(override.changed, ground.client, before=before)
    found: dict[ObjectId, Mapping[str, Any] | None] = {}
    for id in override.changed:
        live = await restoring.look(id, known[id], ground)
        if live is None:
            # One that was made and is gone again is as Git has it.
            if id in before:
                found[id] = None
        elif owned := owned_fields.of(live, MANAGER):
            found[id] = owned_fields.taken(live, owned)
    return found


def component(override: Override) -> str:
    """Where new objects of an override belong; empty where its scope does not tell."""
    named = [each.removeprefix(_COMPONENT) for each in override.scope if each.startswith(_COMPONENT)]
    return named[0] if len(named) == 1 else ""


def made(override: Override) -> frozenset[ObjectId]:
    """The objects that were not there before it."""
    first = {each.object: each for each in reversed(override.changes)}
    return frozenset(id for id, each in first.items() if each.is_new)
