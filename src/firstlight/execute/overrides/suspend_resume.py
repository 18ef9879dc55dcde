"""Asking engines to come now, and waiting until they have been there."""

import asyncio
import functools
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.engines import adapters, revisions
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.overrides import held_engines, object_snapshot, restore
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.override import MANAGER, Override, SuspendedOwner
from firstlight.ownership import field_set

_PAUSE = 0.3


async def ask_reconcile(name: str, ground: OverrideContext) -> str:
    """Ask an engine's object to reconcile, and wait until it has; why it has not, or nothing.

    Args:
        name: ``Kustomization flux-system/shop``, ``Application shop`` …
        ground: Where.

    Raises:
        errors.ClientError: The API does not answer.
    """
    live = await held_engines.get_engine(name, ground.client)
    if live is None:
        return f"{name} is not there"
    if mapping(live, "spec").get("suspend") is True:
        return f"{name} is suspended by somebody else"
    token = f"{ground.now():.0f}-{uuid.uuid4().hex[:8]}"
    await _ask(name, live, ground, token=token)
    return await _waited(name, token, ground)


async def ask_first(name: str, ground: OverrideContext) -> None:
    """See that an Application that still rests asks Git itself when it goes on, and not what Argo CD remembers of it.

    Raises:
        errors.ClientError: The API does not answer.
    """
    live = await held_engines.get_engine(name, ground.client)
    if live is not None:
        await _ask(name, live, ground, token="")


async def _ask(name: str, live: Mapping[str, Any], ground: OverrideContext, *, token: str) -> None:
    kind, metadata = str(live["kind"]), live["metadata"]
    annotations = adapters.KINDS[kind].request(token)
    await ground.write(
        f"ask {name}",
        lambda: ground.client.patch(
            held_engines.API[kind], kind, metadata["name"], {"metadata": {"annotations": annotations}},
            manager="firstlight", namespace=metadata["namespace"],
        ),
    )  # fmt: skip


async def ask_source(held: Mapping[str, Any], revision: str, ground: OverrideContext, *, url: str = "") -> str:
    """Wait until the source of a Kustomization, or of the one that brings an object, has fetched a commit.

    Args:
        held: As it is.
        revision: The commit; nothing is waited for without one.
        ground: Where.
        url: The repository that the commit is of; sources of others are not waited for.

    Returns:
        Why it has not; or nothing.

    Raises:
        errors.ClientError: The API does not answer.
    """
    kind = adapters.KINDS.get(text(held, "kind"))
    source = kind.source(held) if kind is not None else None
    if (kind is None or not kind.has_source) and (name := held_engines.shielding_owner(held)):
        above = await held_engines.get_engine(name, ground.client)
        return await ask_source(above, revision, ground, url=url) if above is not None else ""
    if not revision or source is None or not adapters.SOURCES[source.kind].has_commits:
        return ""
    fetching = adapters.SOURCES[source.kind]
    clock = asyncio.get_running_loop().time
    ends, at, is_asked = clock() + ground.patience, "", False
    while clock() < ends:
        try:
            found = await ground.client.get(fetching.api_version, source.kind, source.name, namespace=source.namespace)
        except (kube.NotFound, kube.UnknownKind):
            return f"{source} is not there"
        if url and not revisions.is_same_repository(url, fetching.url(found)):
            return ""
        at = fetching.revision(found)
        if revisions.is_at(at, revision):
            return ""
        if not is_asked:
            body = {"metadata": {"annotations": fetching.request(f"{ground.now():.0f}")}}
            await ground.write(
                f"ask {source}",
                functools.partial(
                    ground.client.patch, fetching.api_version, source.kind, source.name, body, manager="firstlight",
                    namespace=source.namespace,
                ),
            )  # fmt: skip
            is_asked = True
        await asyncio.sleep(_PAUSE)
    return f"{source} has {revisions.short(at) if at else 'nothing'}, not {revision[:7]}"


async def _waited(name: str, token: str, ground: OverrideContext) -> str:
    clock = asyncio.get_running_loop().time
    ends = clock() + ground.patience
    why = f"{name} has not been reconciled within {ground.patience:.0f} s"
    while clock() < ends:
        try:
            live = await held_engines.get_engine(name, ground.client)
        except errors.Unreachable:
            live = None
        if live is not None:
            is_done, why = adapters.KINDS[live["kind"]].requests.progress(name, live, token)
            if is_done:
                return why
        await asyncio.sleep(_PAUSE)
    return f"{why}, and was waited for {ground.patience:.0f} s"


# Letting engines rest for an override, and go on again.


QUIET = 15.0
"""Seconds for a controller to end what it has begun before it was told to rest; one that is down says so for ever."""
_TRIES = 8
_HOLDING_PAUSE = 0.25


async def hold(override: Override, ground: OverrideContext) -> None:
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


async def unshield(held: SuspendedOwner, override: Override, ground: OverrideContext) -> str:
    """Let a Kustomization above write to an object again that goes on resting; which Kustomization that is.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    live = await look_held(held, ground)
    if live is None or not _is_ours(live, override):
        return ""
    above = held_engines.shielding_owner(live)
    if not above:
        return ""
    if held_engines.is_shielded(live):
        await _apply(
            f"unshield {held}",
            held,
            lambda seen: held_engines.resting(held, seen, override, is_shielded=False),
            override,
            ground,
        )
    return above


async def release(held: SuspendedOwner, override: Override, ground: OverrideContext) -> bool:
    """Let an object go on; whether it rested for this override.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    live = await look_held(held, ground)
    if live is None or not _is_ours(live, override):
        return False
    if adapters.KINDS[held.kind].hold.is_shared and not _is_anothers(live, override):
        # Its list is one value: what was in it before must come back, and to whom it was.
        await restore.back(live, held_engines.manager(override), await _before(held, override, ground), ground)
    else:
        await _apply(f"release {held}", held, lambda seen: held_engines.bare(held), override, ground)
    return True


async def look_held(held: SuspendedOwner, ground: OverrideContext) -> dict[str, Any] | None:
    """The object as it is now; None if it is gone, or another one of that name is there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        live = await ground.client.get(held_engines.API[held.kind], held.kind, held.name, namespace=held.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return None
    return dict(live) if live["metadata"].get("uid") == held.uid else None


async def awake(override: Override, ground: OverrideContext) -> list[SuspendedOwner]:
    """Those that should rest for an override, and do not.

    Raises:
        errors.ClientError: The API does not answer.
    """
    lives = await asyncio.gather(*(look_held(each, ground) for each in override.held))
    pairs = zip(override.held, lives, strict=True)
    return [each for each, live in pairs if live is not None and not held_engines.is_resting(each, live)]


async def _hold(held: SuspendedOwner, override: Override, ground: OverrideContext) -> None:
    for _ in range(_TRIES):
        live = await look_held(held, ground)
        if live is None:
            return
        if held_engines.is_resting(held, live) and _is_ours(live, override):
            return
        await _apply(
            f"hold {held}", held, lambda seen: held_engines.resting(held, seen, override, is_shielded=True), override,
            ground,
        )  # fmt: skip
    raise errors.Refused(
        f"{held} is woken again and again", hint="Somebody else resumes it: firstlight owners tells who writes it."
    )


async def _quiet(held: SuspendedOwner, ground: OverrideContext) -> None:
    clock = asyncio.get_running_loop().time
    ends = clock() + QUIET
    while clock() < ends:
        live = await look_held(held, ground)
        if live is None or not held_engines.is_busy(held, live):
            return
        await asyncio.sleep(_HOLDING_PAUSE)


async def _apply(
    name: str,
    held: SuspendedOwner,
    make: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    override: Override,
    ground: OverrideContext,
) -> None:
    """Apply on nothing but what was seen, so that a foreign write in between is not lost."""
    for number in range(_TRIES):
        live = await look_held(held, ground)
        if live is None:
            return
        value = guarded(make(live), live)
        try:
            await ground.write(
                name, functools.partial(ground.client.apply, value, manager=held_engines.manager(override), force=True)
            )
        except kube.Conflict:
            if number + 1 == _TRIES:
                raise
        else:
            return


async def _before(held: SuspendedOwner, override: Override, ground: OverrideContext) -> Mapping[str, Any]:
    for id, value in (await object_snapshot.read(override, ground.client)).items():
        if (id.kind, id.namespace, id.name) == (held.kind, held.namespace, held.name):
            return value
    return held_engines.bare(held)


def _is_anothers(live: Mapping[str, Any], override: Override) -> bool:
    """Whether another override lets it rest as well, and goes on doing so."""
    mine = held_engines.manager(override)
    names = [str(each.get("manager")) for each in field_set.managed_entries(live)]
    return any(each.startswith(f"{MANAGER}-") and each != mine for each in names)


def _is_ours(live: Mapping[str, Any], override: Override) -> bool:
    return any(each.get("manager") == held_engines.manager(override) for each in field_set.managed_entries(live))
