"""Differences written by server-side apply: stage after stage, many at once, patient with what is still coming up.

Each is written on nothing but what was seen of it; what somebody else has written since is looked at again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import refusals
from firstlight.execute.apply import object_survey
from firstlight.execute.apply.object_survey import ObjectDifference, survey
from firstlight.model.rendition import Object

PATIENCE = 300.0
"""Seconds for kinds to be served, webhooks to answer and objects to be gone."""
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)
_VAGUE = 2
"""Attempts at a Secret that the server fails with: what it says of that is not kept, so it may never pass."""
_RACES = 3
"""Attempts without a pause at what others write too: most races are over at once."""

Tell = Callable[[str], None]


class _Failed(Exception):
    """Why an object was not applied; the rest goes on."""

    def __init__(self, error: errors.FirstlightError) -> None:
        super().__init__(str(error))
        self.error = error


async def apply(
    changes: Iterable[ObjectDifference],
    client: kube.Client,
    *,
    parallel: int = 64,
    patience: float = PATIENCE,
    tell: Tell = lambda text: None,
) -> None:
    """Write what differs; what an engine owns is left alone, also if it took it only since the survey.

    Args:
        changes: What ``survey`` found.
        client: The API.
        parallel: Requests at once; the client takes fewer if the server wants that.
        patience: Seconds in all for what may come right by itself.
        tell: Told of what is waited for.

    Raises:
        errors.Refused: Somebody else owns a field, or a live CRD would be downgraded.
        errors.ClientError: Something could not be applied; all of it is named.
    """
    wanted = [each for each in changes if each.mark is None]
    object_survey.check_refusals(wanted)
    deadline = time.monotonic() + patience
    turns = asyncio.Semaphore(parallel)
    writer = _Writer(client, deadline, tell)

    async def one(each: ObjectDifference) -> errors.FirstlightError | None:
        async with turns:
            try:
                await writer.write(each)
            except _Failed as failed:
                return failed.error
            return None

    for stage, those in object_survey.stage_order(wanted):
        failures = [error for error in await asyncio.gather(*map(one, those)) if error is not None]
        if failures:
            raise _together(failures, len(those))
        if stage == object_survey.CRD_STAGE:
            await served([each.object for each in those], client, deadline=deadline, tell=tell)


async def served(
    crds: Sequence[Object], client: kube.Client, *, deadline: float, tell: Tell = lambda text: None
) -> None:
    """Wait until CRDs are established, and discovery serves what they define.

    Args:
        crds: The CRDs.
        client: The API.
        deadline: On the monotonic clock.
        tell: Told of what is waited for, if that takes longer than usual.

    Raises:
        errors.TimedOut: One of them is not.
    """
    waiting = {each.id.name: object_survey.crd_kinds(each.value) for each in crds}
    pauses = iter(_PAUSES)
    told: set[str] = set()
    while True:
        # A kind is in discovery only after its CRD is established, and discovery is cheap to ask.
        catalog = (await client.catalog(refresh=True)).resources
        waiting = {name: kinds for name, kinds in waiting.items() if not all(each in catalog for each in kinds)}
        if not waiting:
            return
        pause = next(pauses, None)
        if pause is None or time.monotonic() > deadline:
            name = min(waiting)
            live = await client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)
            why = object_survey.crd_problem(live) or "it is not served"
            text = f"CustomResourceDefinition {name} is applied, and {why}"
            if time.monotonic() > deadline:
                raise errors.TimedOut(text, target=client.config.server)
            if text not in told:
                told.add(text)
                tell(text)
        await asyncio.sleep(pause or _PAUSES[-1])


class _Writer:
    """One object at a time, until it is applied, refused or out of time."""

    def __init__(self, client: kube.Client, deadline: float, tell: Tell) -> None:
        self._client = client
        self._deadline = deadline
        self._tell = tell
        self._told: set[str] = set()

    async def write(self, difference: ObjectDifference) -> None:
        now = difference
        pauses = iter(_PAUSES)
        force = bool(now.conflicts)
        vague = races = 0
        while True:
            if now.is_going:
                now = await self._gone(now)
            try:
                value = guarded(now.object.value, now.live)
                await self._client.apply(value, manager=now.manager, force=force)
                return
            except kube.Conflict as error:
                fresh = await self._again(now)
                if fresh is None:
                    return
                if error.is_field_conflict and _version(fresh) == _version(now):
                    if others := object_survey.stranger_conflicts(error.conflicts, manager=now.manager):
                        text = object_survey.conflict_sentence(now, others)
                        raise _Failed(errors.Refused(text, hint=object_survey.CONFLICT_HINT)) from error
                    force = True
                    continue
                now, force = fresh, bool(fresh.conflicts)
                races += 1
                if races <= _RACES:
                    continue
                why = errors.ClientError(f"{now.object.id} changes all the time: {error.detail}")
            except errors.ClientError as error:
                passing = _passing(error, now)
                if passing is None:
                    raise _Failed(error) from error
                why = passing
                vague += isinstance(error, kube.ServerError) and error.request.is_confidential
            if time.monotonic() > self._deadline or vague > _VAGUE:
                raise _Failed(why)
            self._say(str(why))
            await asyncio.sleep(next(pauses, _PAUSES[-1]))

    async def _again(self, difference: ObjectDifference) -> ObjectDifference | None:
        """What there is to write of an object that was written by somebody else; None if nothing is."""
        once = {difference.object.id} if difference.is_once else ()
        try:
            found = await survey([difference.object], self._client, manager=difference.manager, once=once)
            fresh = next(iter(found), None)
            if fresh is None or fresh.mark is None:
                object_survey.check_refusals(found)
                return fresh
        except (errors.Refused, errors.ClientError) as error:
            raise _Failed(error) from error
        self._say(fresh.left)
        return None

    async def _gone(self, difference: ObjectDifference) -> ObjectDifference:
        """Wait until an object that is being deleted is not there any more."""
        id, value = difference.object.id, difference.object.value
        uid = ((difference.live or {}).get("metadata") or {}).get("uid")
        pauses = iter(_PAUSES)
        while True:
            try:
                live = await self._client.get(
                    str(value["apiVersion"]), id.kind, id.name, namespace=id.namespace or None
                )
            except kube.NotFound:
                return dataclasses.replace(difference, live=None)
            metadata = live["metadata"]
            if metadata["uid"] != uid:
                return dataclasses.replace(difference, live=None)  # somebody made another: that is a conflict
            held = ", ".join(metadata.get("finalizers") or (live.get("spec") or {}).get("finalizers") or ())
            why = f"{id} is being deleted" + (f", and held by {held}" if held else "")
            if time.monotonic() > self._deadline:
                raise _Failed(errors.TimedOut(why, hint="find out who deleted it, and what its finalizers wait for"))
            self._say(why)
            await asyncio.sleep(next(pauses, _PAUSES[-1]))

    def _say(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._tell(text)


def _version(difference: ObjectDifference) -> str:
    return str(((difference.live or {}).get("metadata") or {}).get("resourceVersion") or "")


def _passing(error: errors.ClientError, difference: ObjectDifference) -> errors.ClientError | None:
    """The error for people, if waiting may help; None if it does not."""
    name = str(difference.object.id)
    if isinstance(error, kube.UnknownKind):
        text = f"{name} cannot be applied: no kind {error.kind} in {error.api_version}"
        return errors.ClientError(text, target=error.target, hint=error.hint)
    if isinstance(error, kube.ApiError) and (webhook := refusals.silent_webhook(error)):
        text = f"{name} cannot be applied: the webhook {webhook} does not answer: {error.detail}"
        return errors.ClientError(text, target=error.target, hint="are the pods behind the webhook ready?")
    if isinstance(error, kube.ServerError) and error.request.is_confidential:
        # A webhook cannot be told from another problem.
        return errors.ClientError(f"{name} cannot be applied: {error}", target=error.target)
    if isinstance(error, kube.ApiError) and refusals.is_for_an_ending_namespace(error):
        text = f"{name} cannot be applied: its namespace is being deleted"
        return errors.ClientError(
            text, target=error.target, hint=f"what holds the namespace {difference.object.id.namespace}?"
        )
    return None


def _together(failures: Sequence[errors.FirstlightError], tried: int) -> errors.FirstlightError:
    """Several failures as one that names all of them."""
    if len(failures) == 1:
        return failures[0]
    lines = "\n".join(f"  {each}" for each in failures)
    text = f"{len(failures)} of {tried} objects were not applied:\n{lines}"
    hint = "; ".join(dict.fromkeys(each.hint for each in failures if each.hint))
    if all(isinstance(each, errors.Refused) for each in failures):
        return errors.Refused(text, hint=hint)
    return errors.ClientError(text, hint=hint)


# Writes that only happen if nobody else has written since the look: the server compares, in one step with the write.
#
# An engine that adopts an object in between makes a conflict of the write, and the object is looked at again.


_NEVER = "1"
"""The resource version of nothing: etcd begins with it, so that its first write has the next one. An apply that has a
resource version creates what is not there, and conflicts with whatever is there in another version."""


def guarded(value: Mapping[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """An object to apply on nothing but what was seen.

    Args:
        value: The object.
        live: As it was seen; None if it was not there.
    """
    seen = ((live or {}).get("metadata") or {}).get("resourceVersion") or _NEVER
    return {**value, "metadata": {**(value.get("metadata") or {}), "resourceVersion": seen}}
