"""What a cluster says of objects that an engine has taken over: reads, dry runs as the engine, and repeated applies.

A real apply is repeated only where the dry run of the very same body, on the very same version, would change nothing;
the server compares the version once more with the write.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.clients.kube import refusals
from firstlight.clients.kube.kube_errors import UnknownKind
from firstlight.document import conditions
from firstlight.document.within import text
from firstlight.engines import adapters
from firstlight.engines.engine_kind import VerdictFacts
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.world import World
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GatePart, GateQuestion
from firstlight.model import flux_names
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.owner import ObjectOwner
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.observe.live_objects import LiveObject, observe_objects
from firstlight.ownership import apply_comparison, apply_form, field_merge, inventories, proofs
from firstlight.ownership.evidence import ApplyAttempt, HandoverEvidence, Omission, Repetition
from firstlight.ownership.field_set import FieldSet, path_text

TRIES = 5
"""How often an object is looked at anew that somebody writes at the same time."""
OMITTED = 6
"""How many fields are left out at most until one goes: each is a dry run."""

Holders = Mapping[ObjectOwner, Mapping[str, Any] | None]
"""The engine's objects that own others; None for one that is not there."""


async def holders(owners: Iterable[ObjectOwner], client: kube.Client) -> Holders:
    """The engine's objects as they are.

    Raises:
        errors.ClientError: The API does not answer.
    """
    wanted = sorted(set(owners))
    return dict(zip(wanted, await asyncio.gather(*(_holder(each, client) for each in wanted)), strict=True))


async def gather(
    passing: Sequence[Passing], held: Holders, client: kube.Client, *, is_repeated: bool
) -> list[HandoverEvidence]:
    """Everything about all objects, in their order.

    Args:
        passing: What the engine is to own.
        held: The engine's objects.
        client: The API.
        is_repeated: Whether real applies are repeated as well.

    Raises:
        errors.ClientError: The API does not answer.
    """
    listed = {owner: inventories.objects_of(each) for owner, each in held.items() if each is not None}
    now = time.time()
    faults = {owner: engine_fault(each, now=now) for owner, each in held.items() if each is not None}
    seen = await look(passing, held, client)

    async def one(number: int, each: Passing) -> HandoverEvidence:
        id = ObjectId.of(seen[number].live or seen[number].object.value)
        objects = listed.get(each.owner)
        base = HandoverEvidence(
            passing=each, id=id, has_holder=each.owner in listed, fault=faults.get(each.owner, ""),
            is_listed=None if objects is None else id in objects,
        )  # fmt: skip
        return await _tried(base, seen[number], client, is_repeated=is_repeated)

    return list(await asyncio.gather(*(one(number, each) for number, each in enumerate(passing))))


async def look(passing: Sequence[Passing], held: Holders, client: kube.Client) -> list[LiveObject]:
    """All objects as they are now, in their order; nothing is tried.

    Args:
        passing: What the engine is to own.
        held: The engine's objects.
        client: The API.

    Raises:
        errors.ClientError: The API does not answer.
    """
    placed = [_placed(each, held.get(each.owner)) for each in passing]
    seen: dict[int, LiveObject] = {}
    # Only what the repo does not place goes where the engine says.
    for namespace in {namespace for _, namespace in placed}:
        numbers = [number for number, (_, place) in enumerate(placed) if place == namespace]
        found = await observe_objects([placed[number][0] for number in numbers], client, namespace=namespace)
        seen |= dict(zip(numbers, found, strict=True))
    return [seen[number] for number in range(len(passing))]


async def _holder(owner: ObjectOwner, client: kube.Client) -> Mapping[str, Any] | None:
    id = inventories.holder_of(owner)
    if id is None:
        return None
    try:
        if id.namespace:
            return await client.get(inventories.api_version(id), id.kind, id.name, namespace=id.namespace)
        found = await client.list(inventories.api_version(id), id.kind, fields=f"metadata.name={id.name}")
    except (kube.NotFound, UnknownKind):
        return None
    return found.items[0] if len(found.items) == 1 else None


def _placed(passing: Passing, holder: Mapping[str, Any] | None) -> tuple[Object, str]:
    if passing.id.namespace or holder is None:
        return passing.object, ""
    return passing.object, inventories.namespace_of(holder)


async def _tried(
    base: HandoverEvidence, seen: LiveObject, client: kube.Client, *, is_repeated: bool
) -> HandoverEvidence:
    live = seen.live
    for _ in range(TRIES):
        if live is None:
            return base
        made = await _once(base, live, client, has_status=seen.has_status, is_repeated=is_repeated)
        if made is not None:
            return made
        live = await _again(seen.object.value, live, client)
    return dataclasses.replace(base, live=live, restless="somebody writes it all the time: nothing can be told of it")


async def _once(
    base: HandoverEvidence, live: Mapping[str, Any], client: kube.Client, *, has_status: bool, is_repeated: bool
) -> HandoverEvidence | None:
    """The evidence about one version of an object; None if it is another one by now."""
    passing, manager = base.passing, base.passing.manager
    body = _body(passing, base.id, live)
    left = [path for path in proofs.meant(live, apart=manager) if field_merge.has_field(body, path)]
    for path in left:
        body = field_merge.without_field(body, path) or body
    attempt = await _attempt(body, live, client, manager, has_status=has_status)
    fields = await _fields(body, live, attempt, client, manager=manager)
    is_client_side = proofs.is_client_side(live, manager)
    extra = proofs.fields_of(live, manager) - fields
    if attempt.after is not None and not attempt.is_same and not attempt.changed and extra:
        # What the engine adds by itself would stay as it is without it too: the server's defaults are the same.
        for are_structs_empty in (True, False):
            wider = field_merge.with_engine_extras(body, live, extra, are_structs_empty=are_structs_empty)
            again = attempt if wider is None else await _attempt(wider, live, client, manager, has_status=has_status)
            if again.is_same:
                body, attempt = wider or body, again
                break
    made = dataclasses.replace(
        base, live=live, attempt=attempt, fields=fields, is_client_side=is_client_side,
        left=tuple(path_text(each) for each in left), extra=extra if attempt.is_same else FieldSet(),
    )  # fmt: skip
    if not attempt.is_same:
        return None if not is_client_side and await _has_moved(body, live, client) else made
    if is_repeated:
        try:
            after = await client.apply(guarded(body, live), manager=manager)
        except (kube.Conflict, kube.NotFound):
            return None
        made = dataclasses.replace(made, repetition=Repetition(before=_version(live), after=_version(after)))
    return dataclasses.replace(made, omission=await _omission(body, made, client))


def _body(passing: Passing, id: ObjectId, live: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine applies; without the marks for what it gives none, as CRDs of a chart that were there before."""
    made = apply_form.marked(passing.object.value, passing.owner, live=live)
    is_chart_crd = passing.object.is_crd and passing.owner.name.startswith("HelmRelease ")
    if is_chart_crd and not text(live, "metadata", "labels", flux_names.HELM_RELEASE_NAME_LABEL):
        made = {name: each for name, each in passing.object.value.items() if name != "status"}
    metadata = {name: each for name, each in made["metadata"].items() if name != "namespace"}
    return {**made, "metadata": {**metadata, **({"namespace": id.namespace} if id.namespace else {})}}


async def _attempt(
    body: Mapping[str, Any], live: Mapping[str, Any], client: kube.Client, manager: str, *, has_status: bool
) -> ApplyAttempt:
    try:
        after = await client.apply(body, manager=manager, dry_run=True)
    except kube.ServerError:
        raise
    except kube.ApiError as error:
        return ApplyAttempt(refusal=refusals.text(error), is_possible=not isinstance(error, kube.DryRunRefused))
    return ApplyAttempt(
        after=after, is_same=apply_comparison.is_same(live, after, has_status=has_status),
        changed=apply_comparison.changes(live, after, has_status=has_status),
    )  # fmt: skip


async def _fields(
    body: Mapping[str, Any], live: Mapping[str, Any], attempt: ApplyAttempt, client: kube.Client, *, manager: str
) -> FieldSet:
    """What Git has, as the server counts fields: what the manager would own after its apply.

    Where nothing can be tried, it is told by how everybody's fields of the object are counted.
    """
    if not attempt.is_possible:
        return proofs.counted(body, live)
    after = attempt.after
    if after is None:
        try:
            after = await client.apply(body, manager=manager, force=True, dry_run=True)
        except kube.ServerError:
            raise
        except kube.ApiError:
            return FieldSet()
    return proofs.fields_of(after, manager)


async def _omission(body: Mapping[str, Any], base: HandoverEvidence, client: kube.Client) -> Omission | None:
    """What becomes of the first field that the server lets go, or that somebody holds."""
    tried = 0
    stays: Omission | None = None
    for path in field_merge.omission_candidates(base.fields, git=base.passing.object.value):
        rest = field_merge.without_field(body, path)
        if rest is None:
            continue
        tried += 1
        try:
            after = await client.apply(rest, manager=base.passing.manager, dry_run=True)
        except kube.ServerError:
            raise
        except kube.ApiError:
            after = None
        if after is not None:
            if not field_merge.has_field(after, path):
                return Omission(path=path, is_gone=True)
            is_plain = path[0] in ("f:metadata", "f:data", "f:binaryData")
            # Elsewhere the server's own default may have come in its place.
            stays = stays or (Omission(path=path, is_gone=False) if is_plain else None)
        if stays is not None or tried >= OMITTED:
            break
    return stays


async def _has_moved(body: Mapping[str, Any], live: Mapping[str, Any], client: kube.Client) -> bool:
    fresh = await _again(body, live, client)
    return fresh is None or _version(fresh) != _version(live)


async def _again(body: Mapping[str, Any], live: Mapping[str, Any], client: kube.Client) -> Mapping[str, Any] | None:
    id = ObjectId.of(live)
    try:
        return await client.get(str(body["apiVersion"]), id.kind, id.name, namespace=id.namespace or None)
    except kube.NotFound:
        return None


def _version(value: Mapping[str, Any]) -> str:
    return text(value, "metadata", "resourceVersion")


# Waits until an engine has taken over what it is to own, by its own word: reconciled, and everything is in its list.
#
# Watched, and not for ever: what does not come is then a claim that fails, with the reason.


ENGINE_TIMEOUT = 300.0
"""Seconds: the commit has been waited for before; what is left is the engine's next round."""


async def engine_settled(
    passing: Sequence[Passing], world: World, *, step: str = "", timeout: float | None = None
) -> Verdict:
    """Wait until every owner is done and lists what is to be its own.

    Args:
        passing: What the engine is to own.
        world: The run.
        step: Who is told what is waited for.
        timeout: Seconds; TIMEOUT if it is not given.
    """
    owners = sorted({each.owner for each in passing})
    asked = [_part(each, [one for one in passing if one.owner == each]) for each in owners]
    question = GateQuestion(
        gate=Gate(Subject.CERTIFICATE), name="owners", timeout=ENGINE_TIMEOUT if timeout is None else timeout,
        looks=gate_parts.together(asked).looks, judge=lambda view: gate_parts.worst(each.judge(view) for each in asked),
    )  # fmt: skip
    return await world.watching.wait(
        question, on_verdict=lambda each: _tell(each, world, step)
    )  # fmt: skip


def engine_fault(holder: Mapping[str, Any], *, now: float) -> str:
    """Why an engine's object does not work on what it has; empty if it does, or if it is just about to.

    Args:
        holder: As it is now.
        now: Seconds since the epoch.
    """
    return adapters.KINDS[text(holder, "kind")].verdicts.fault(holder, str(ObjectId.of(holder)), now=now)


def _tell(verdict: Verdict, world: World, step: str) -> None:
    if step and isinstance(verdict, Waiting):
        world.tell(step, f"waits for the engine: {verdict.reason}")


def _part(owner: ObjectOwner, mine: Sequence[Passing]) -> GatePart:
    id = inventories.holder_of(owner)
    if id is None:
        return GatePart((), lambda view: Skipped(f"{owner} keeps no list"))
    look = WatchTarget(api_version=inventories.api_version(id), kind=id.kind, namespace=id.namespace, name=id.name)
    kind = adapters.KINDS[id.kind]

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(id, is_served=look not in view.unserved)
        name = str(id)
        verdict: Verdict = Passed(name)
        if (resting := kind.verdicts.suspended(found, name)) is not None:
            return Failed(resting.reason)
        if kind.verdicts.judge is not None:
            verdict = kind.verdicts.judge(found, name, VerdictFacts(view=view))
        if not isinstance(verdict, Passed):
            return verdict
        listed = inventories.objects_of(found)
        names = {(each.group, each.kind, each.name) for each in listed or ()}
        left = [each.id for each in mine if (each.id.group, each.id.kind, each.id.name) not in names]
        if listed is not None and left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            return Waiting(f"{name} does not list {left[0]}{more}")
        return verdict

    return GatePart((look, *kind.verdicts.beside), judge)
