"""Asking engines to come now, and waiting until they have been there."""

import asyncio
import functools
import uuid
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.execute.overriding import engines
from firstlight.execute.overriding.ground import Ground
from firstlight.gates import revisions

_PAUSE = 0.3
_SOURCES = {"GitRepository": "source.toolkit.fluxcd.io/v1"}


async def reconciled(name: str, ground: Ground) -> str:
    """Ask an engine's object to reconcile, and wait until it has; why it has not, or nothing.

    Args:
        name: ``Kustomization flux-system/shop``, ``Application shop`` …
        ground: Where.

    Raises:
        errors.ClientError: The API does not answer.
    """
    live = await engines.get(name, ground.client)
    if live is None:
        return f"{name} is not there"
    if mapping(live, "spec").get("suspend") is True:
        return f"{name} is suspended by somebody else"
    token = f"{ground.now():.0f}-{uuid.uuid4().hex[:8]}"
    await _ask(name, live, ground, token=token)
    return await _waited(name, token, ground)


async def first(name: str, ground: Ground) -> None:
    """See that an Application that still rests asks Git itself when it goes on, and not what Argo CD remembers of it.

    Raises:
        errors.ClientError: The API does not answer.
    """
    live = await engines.get(name, ground.client)
    if live is not None:
        await _ask(name, live, ground, token="")


async def _ask(name: str, live: Mapping[str, Any], ground: Ground, *, token: str) -> None:
    kind, metadata = str(live["kind"]), live["metadata"]
    asked = {"Application": {engines.REFRESH: "hard"}, "ApplicationSet": {engines.SET_REFRESH: "true"}}
    annotations = asked.get(kind, {engines.REQUEST: token})
    await ground.write(
        f"ask {name}",
        lambda: ground.client.patch(
            engines.API[kind], kind, metadata["name"], {"metadata": {"annotations": annotations}},
            manager="firstlight", namespace=metadata["namespace"],
        ),
    )  # fmt: skip


async def sourced(held: Mapping[str, Any], revision: str, ground: Ground, *, url: str = "") -> str:
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
    namespace, name = engines.kustomization_above(held)
    if held.get("kind") != "Kustomization" and name:
        above = await engines.get(f"Kustomization {namespace}/{name}", ground.client)
        return await sourced(above, revision, ground, url=url) if above is not None else ""
    reference = mapping(held, "spec", "sourceRef")
    kind = text(reference, "kind")
    if not revision or held.get("kind") != "Kustomization" or kind not in _SOURCES:
        return ""
    namespace = text(reference, "namespace") or text(held, "metadata", "namespace")
    name = text(reference, "name")
    clock = asyncio.get_running_loop().time
    ends, at, is_asked = clock() + ground.patience, "", False
    while clock() < ends:
        try:
            found = await ground.client.get(_SOURCES[kind], kind, name, namespace=namespace)
        except (kube.NotFound, kube.UnknownKind):
            return f"{kind} {namespace}/{name} is not there"
        if url and not revisions.is_same_repository(url, text(found, "spec", "url")):
            return ""
        at = text(found, "status", "artifact", "revision")
        if revisions.is_at(at, revision):
            return ""
        if not is_asked:
            body = {"metadata": {"annotations": {engines.REQUEST: f"{ground.now():.0f}"}}}
            await ground.write(
                f"ask {kind} {namespace}/{name}",
                functools.partial(
                    ground.client.patch, _SOURCES[kind], kind, name, body, manager="firstlight", namespace=namespace
                ),
            )
            is_asked = True
        await asyncio.sleep(_PAUSE)
    return f"{kind} {namespace}/{name} has {revisions.short(at) if at else 'nothing'}, not {revision[:7]}"


async def _waited(name: str, token: str, ground: Ground) -> str:
    clock = asyncio.get_running_loop().time
    ends = clock() + ground.patience
    why = f"{name} has not been reconciled within {ground.patience:.0f} s"
    while clock() < ends:
        try:
            live = await engines.get(name, ground.client)
        except errors.Unreachable:
            live = None
        if live is not None:
            is_done, why = _answer(name, live, token)
            if is_done:
                return why
        await asyncio.sleep(_PAUSE)
    return f"{why}, and was waited for {ground.patience:.0f} s"


def _answer(name: str, live: Mapping[str, Any], token: str) -> tuple[bool, str]:
    """Whether the engine has been there, and what is wrong then."""
    if live.get("kind") == "Application":
        return _application(name, live)
    if live.get("kind") == "ApplicationSet":
        is_done = engines.SET_REFRESH not in mapping(live, "metadata", "annotations")
        return is_done, "" if is_done else f"{name} has not been refreshed yet"
    if text(live, "status", "lastHandledReconcileAt") != token:
        return False, f"{name} has not been reconciled yet"
    ready = next((each for each in sequence(live, "status", "conditions") if text(each, "type") == "Ready"), None)
    seen = mapping(live, "status").get("observedGeneration") or mapping(ready).get("observedGeneration")
    if ready is None or seen != mapping(live, "metadata").get("generation") or text(ready, "status") == "Unknown":
        return False, f"{name} is being reconciled"
    return True, "" if text(ready, "status") == "True" else f"{name} is not ready: {text(ready, 'message')}"


def _application(name: str, live: Mapping[str, Any]) -> tuple[bool, str]:
    if engines.REFRESH in mapping(live, "metadata", "annotations"):
        return False, f"{name} has not been refreshed yet"
    if text(live, "status", "operationState", "phase") == "Running" or "operation" in live:
        return False, f"{name} is being synced"
    automated = mapping(live, "spec", "syncPolicy").get("automated")
    is_automatic = isinstance(automated, Mapping) and automated.get("enabled") is not False
    sync = text(live, "status", "sync", "status")
    if sync == "Synced" or not is_automatic:
        return True, ""
    return False, f"{name} is {sync or 'not compared yet'}"
