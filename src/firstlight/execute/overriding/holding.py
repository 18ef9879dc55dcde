"""Letting engines rest for an override, and go on again."""

import asyncio
import functools
from collections.abc import Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.applying.guarding import guarded
from firstlight.execute.overriding import engines, restoring, snapshot
from firstlight.execute.overriding.ground import Ground
from firstlight.model.override import MANAGER, Held, Override
from firstlight.ownership import field_paths

QUIET = 15.0
"""Seconds for a controller to end what it has begun before it was told to rest; one that is down says so for ever."""
_TRIES = 8
_PAUSE = 0.25


async def hold(override: Override, ground: Ground) -> None:
    """Let everybody rest that the record names, outermost first; whoever rests already is left so.

    Raises:
        errors.ClientError: The server does not let one be suspended.
        errors.Refused: Somebody wakes one again and again.
    """
    for each in sorted(override.held, key=lambda one: one.depth):
        await _hold(each, override, ground)
    # Whoever is above may have read an object before it was told to rest, and write after.
    for each in sorted(override.held, key=lambda one: one.depth):
        await _quiet(each, ground)
        await _hold(each, override, ground)


async def unshield(held: Held, override: Override, ground: Ground) -> str:
    """Let a Kustomization above write to an object again that goes on resting; which Kustomization that is.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    live = await look(held, ground)
    if live is None or not _is_ours(live, override):
        return ""
    namespace, name = engines.kustomization_above(live)
    annotations = live["metadata"].get("annotations") or {}
    if not name:
        return ""
    if annotations.get(engines.SHIELD) == "disabled":
        await _apply(
            f"unshield {held}", held, lambda seen: engines.resting(held, seen, override, is_shielded=False), override,
            ground,
        )  # fmt: skip
    return f"Kustomization {namespace}/{name}"


async def release(held: Held, override: Override, ground: Ground) -> bool:
    """Let an object go on; whether it rested for this override.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    live = await look(held, ground)
    if live is None or not _is_ours(live, override):
        return False
    if held.kind == "ApplicationSet" and not _is_anothers(live, override):
        # Its list is one value: what was in it before must come back, and to whom it was.
        await restoring.back(live, engines.manager(override), await _before(held, override, ground), ground)
    else:
        await _apply(f"release {held}", held, lambda seen: engines.bare(held), override, ground)
    return True


async def look(held: Held, ground: Ground) -> dict[str, Any] | None:
    """The object as it is now; None if it is gone, or another one of that name is there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        live = await ground.client.get(engines.API[held.kind], held.kind, held.name, namespace=held.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return None
    return dict(live) if live["metadata"].get("uid") == held.uid else None


async def awake(override: Override, ground: Ground) -> list[Held]:
    """Those that should rest for an override, and do not.

    Raises:
        errors.ClientError: The API does not answer.
    """
    lives = await asyncio.gather(*(look(each, ground) for each in override.held))
    pairs = zip(override.held, lives, strict=True)
    return [each for each, live in pairs if live is not None and not engines.is_resting(each, live)]


async def _hold(held: Held, override: Override, ground: Ground) -> None:
    for _ in range(_TRIES):
        live = await look(held, ground)
        if live is None:
            return
        if engines.is_resting(held, live) and _is_ours(live, override):
            return
        await _apply(
            f"hold {held}", held, lambda seen: engines.resting(held, seen, override, is_shielded=True), override,
            ground,
        )  # fmt: skip
    raise errors.Refused(
        f"{held} is woken again and again", hint="Somebody else resumes it: firstlight owners tells who writes it."
    )


async def _quiet(held: Held, ground: Ground) -> None:
    clock = asyncio.get_running_loop().time
    ends = clock() + QUIET
    while clock() < ends:
        live = await look(held, ground)
        if live is None or not engines.is_busy(held, live):
            return
        await asyncio.sleep(_PAUSE)


async def _apply(
    name: str, held: Held, make: Callable[[Mapping[str, Any]], Mapping[str, Any]], override: Override, ground: Ground
) -> None:
    """Apply on nothing but what was seen, so that a foreign write in between is not lost."""
    for number in range(_TRIES):
        live = await look(held, ground)
        if live is None:
            return
        value = guarded(make(live), live)
        try:
            await ground.write(
                name, functools.partial(ground.client.apply, value, manager=engines.manager(override), force=True)
            )
        except kube.Conflict:
            if number + 1 == _TRIES:
                raise
        else:
            return


async def _before(held: Held, override: Override, ground: Ground) -> Mapping[str, Any]:
    for id, value in (await snapshot.read(override, ground.client)).items():
        if (id.kind, id.namespace, id.name) == (held.kind, held.namespace, held.name):
            return value
    return engines.bare(held)


def _is_anothers(live: Mapping[str, Any], override: Override) -> bool:
    """Whether another override lets it rest as well, and goes on doing so."""
    mine = engines.manager(override)
    names = [str(each.get("manager")) for each in field_paths.entries(live)]
    return any(each.startswith(f"{MANAGER}-") and each != mine for each in names)


def _is_ours(live: Mapping[str, Any], override: Override) -> bool:
    return any(each.get("manager") == engines.manager(override) for each in field_paths.entries(live))
