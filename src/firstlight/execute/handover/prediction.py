"""What becomes of objects when their engine applies them for the first time, told by the server's own dry runs.

Two of them for an object. The first applies what the engine will apply, as the engine: so it tells what changes, and
what the server would not take. It cannot tell which fields disappear, since those still have their old owner; that is
computed, and a second dry run, of a patch that takes them away, tells which the server puts back by itself.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import refusals
from firstlight.document.within import mapping, text
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.model.handover import Passing, Prediction
from firstlight.model.rendition import Object
from firstlight.observe.live_objects import LiveObject, observe_objects
from firstlight.ownership import apply_comparison, apply_form, migration
from firstlight.plan import pod_needs

PARALLEL = 32
"""Objects that are asked for at once; the client takes fewer if the server wants that."""
_TRIES = 4
_ROLLING = ("Deployment", "DaemonSet", "StatefulSet")
_TEMPLATE = "spec.template"


@dataclasses.dataclass(frozen=True, slots=True)
class HandoverCandidate:
    """One object that passes, and is there."""

    passing: Passing
    object: Object
    """As Git has it, with the namespace that it is in."""
    live: Mapping[str, Any] = dataclasses.field(repr=False)
    has_status: bool = False
    """Whether its status is a subresource."""

    @property
    def wanted(self) -> dict[str, Any]:
        """As the engine applies it."""
        return apply_form.marked(self.object.value, self.passing.owner, live=self.live)


async def find(passing: Sequence[Passing], client: kube.Client) -> list[HandoverCandidate]:
    """Those of the passing objects that are there; one that is being deleted is not.

    Raises:
        errors.ClientError: The server does not say.
    """
    seen = await observe_objects([each.object for each in passing], client)
    found = (_candidate(each, one) for each, one in zip(passing, seen, strict=True))
    return [each for each in found if each is not None]


async def again(candidate: HandoverCandidate, client: kube.Client) -> HandoverCandidate | None:
    """The same, as it is now; None if it is not there any more."""
    (seen,) = await observe_objects([candidate.object], client)
    return _candidate(candidate.passing, seen)


def _candidate(passing: Passing, seen: LiveObject) -> HandoverCandidate | None:
    if seen.live is None or "deletionTimestamp" in mapping(seen.live, "metadata"):
        return None
    return HandoverCandidate(passing, seen.object, seen.live, seen.has_status)


async def predict(passing: Sequence[Passing], client: kube.Client) -> tuple[Prediction, ...]:
    """What becomes of the passing objects that are there, in their order.

    Args:
        passing: What the engine is to own.
        client: The API.

    Raises:
        errors.ClientError: The server does not say.
    """
    return await predictions(await find(passing, client), client)


async def predictions(candidates: Iterable[HandoverCandidate], client: kube.Client) -> tuple[Prediction, ...]:
    """What becomes of objects that are there.

    Raises:
        errors.ClientError: The server does not say.
    """
    turns = asyncio.Semaphore(PARALLEL)

    async def one(candidate: HandoverCandidate) -> Prediction | None:
        async with turns:
            return await predicted(candidate, client)

    found = await asyncio.gather(*map(one, candidates))
    return tuple(each for each in found if each is not None)


async def predicted(candidate: HandoverCandidate, client: kube.Client) -> Prediction | None:
    """What becomes of one object; None if it is not there any more."""
    now: HandoverCandidate | None = candidate
    for _ in range(_TRIES):
        if now is None:
            return None
        try:
            return await _tried(now, client)
        except (kube.Conflict, kube.NotFound):
            now = await again(now, client)  # somebody wrote it meanwhile, and is not taken for the engine
    return await _tried(now, client) if now is not None else None


async def _tried(candidate: HandoverCandidate, client: kube.Client) -> Prediction:
    passing, live, wanted = candidate.passing, candidate.live, candidate.wanted
    base = Prediction(
        id=candidate.object.id, component=passing.component, owner=passing.owner, marks=_added(candidate, wanted)
    )
    try:
        after = await client.apply(guarded(wanted, live), manager=passing.manager, force=True, dry_run=True)
    except (kube.BadRequest, kube.Invalid, kube.Forbidden) as error:
        return dataclasses.replace(base, refused=refusals.text(error))
    marks = _marks(candidate.object.value, wanted)
    changed = apply_comparison.changes(_bare(live, marks), _bare(after, marks), has_status=candidate.has_status)
    lost = migration.lost(live, wanted, to=passing.manager)
    answered = await _become(candidate, wanted, client) if lost else None
    if answered is not None:
        lost = migration.lost(live, wanted, to=passing.manager, answered=answered)
    return dataclasses.replace(base, changed=changed, lost=lost, rolls=_rolls(live, after, lost))


async def _become(
    candidate: HandoverCandidate, wanted: Mapping[str, Any], client: kube.Client
) -> Mapping[str, Any] | None:
    """The object as it is after the migration and the first apply; None where the server does not say."""
    live, id = candidate.live, candidate.object.id
    steps = migration.trial(live, wanted, to=candidate.passing.manager)
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": text(live, "metadata", "resourceVersion")}
    try:
        return await client.patch(
            text(candidate.object.value, "apiVersion"), id.kind, id.name, [*steps, guard], form="json",
            manager=candidate.passing.manager, namespace=id.namespace or None, dry_run=True,
        )  # fmt: skip
    except (kube.BadRequest, kube.Invalid, kube.Forbidden):
        return None  # it cannot be without them at all, or a webhook does not let it be tried


def _marks(git: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, set[str]]:
    """The names of the labels and annotations that the engine adds to what Git has."""
    return {
        sort: {*mapping(wanted, "metadata", sort)} - {*mapping(git, "metadata", sort)}
        for sort in ("labels", "annotations")
    }


def _added(candidate: HandoverCandidate, wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of the marks that the live object does not have yet."""
    return tuple(
        f"metadata.{sort}[{name}]"
        for sort, names in _marks(candidate.object.value, wanted).items()
        for name in sorted(names - {*mapping(candidate.live, "metadata", sort)})
    )


def _bare(value: Mapping[str, Any], marks: Mapping[str, set[str]]) -> dict[str, Any]:
    """An object without the marks of its engine."""
    metadata = dict(mapping(value, "metadata"))
    for sort, names in marks.items():
        left = {name: each for name, each in mapping(metadata, sort).items() if name not in names}
        metadata.pop(sort, None)
        if left:
            metadata[sort] = left
    return {**value, "metadata": metadata}


def _rolls(live: Mapping[str, Any], after: Mapping[str, Any], lost: Iterable[str]) -> bool:
    """Whether pods are replaced: their template changes, or loses something."""
    id = Object(live).id
    if id.group != "apps" or id.kind not in _ROLLING:
        return False
    if text(live, "spec", "updateStrategy", "type") == "OnDelete":
        return False  # whoever deletes a pod gets a new one, and nobody does
    is_less = any(each == _TEMPLATE or each.startswith((f"{_TEMPLATE}.", f"{_TEMPLATE}[")) for each in lost)
    return is_less or pod_needs.template(Object(live)) != pod_needs.template(Object(after))


# What of a prediction must not happen, and what somebody must agree to.


_SHOWN = 12


def check_predictions(predictions: Iterable[Prediction], *, cluster: str, is_loss_allowed: bool) -> None:
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
