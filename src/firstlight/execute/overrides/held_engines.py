"""The engine's objects that an override lets rest: how each kind rests, and who is above it.

A Kustomization above is no reason to suspend it too: what carries ``reconcile: disabled`` in the cluster it leaves
alone (kustomize-controller, ``ssa`` package, ``shouldSkipApply``). Nothing else has such a mark, so others above rest
themselves: a HelmRelease or a ResourceSet would write its form back, an ApplicationSet removes every annotation from
its Applications that it does not know (``createOrUpdateInCluster``), an Application heals itself.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.engines import adapters, engine_marks
from firstlight.engines.engine_kind import merged
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, OVERRIDE_ID, REASON, UNTIL, Override, SuspendedOwner
from firstlight.ownership import managers

API = {each.kind: each.api_version for each in adapters.KINDS.values()}


def manager(override: Override) -> str:
    """As whom an override lets others rest: two may hold the same object above, and each lets go only its own."""
    return f"{MANAGER}-{override.id}"


def bare(held: SuspendedOwner) -> dict[str, Any]:
    """Nothing but its name, and its uid, since an apply would create what somebody has deleted."""
    metadata = {"name": held.name, "namespace": held.namespace, "uid": held.uid}
    return {"apiVersion": API[held.kind], "kind": held.kind, "metadata": metadata}


def resting(held: SuspendedOwner, live: Mapping[str, Any], override: Override, *, is_shielded: bool) -> dict[str, Any]:
    """What is applied so that it rests.

    Args:
        held: Which.
        live: As it is.
        override: For which it rests.
        is_shielded: Whether a Kustomization above is to leave it alone as well.
    """
    until = datetime.datetime.fromtimestamp(override.until, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    notes = {OVERRIDE_ID: override.id, UNTIL: until, REASON: override.reason}
    if is_shielded and (above := shielding_owner(live)):
        name, shield = _shield(above)
        notes[name] = shield
    fields = adapters.KINDS[held.kind].hold.fields(live, (OVERRIDE_ID, UNTIL, REASON))
    return merged(merged(bare(held), fields), {"metadata": {"annotations": notes}})


def is_resting(held: SuspendedOwner, live: Mapping[str, Any]) -> bool:
    """Whether an object rests as it must."""
    return adapters.KINDS[held.kind].hold.holds(live)


def is_busy(held: SuspendedOwner, live: Mapping[str, Any]) -> bool:
    """Whether its controller is just writing, as far as it says so: what rests still ends what it has begun."""
    return adapters.KINDS[held.kind].verdicts.is_busy(live)


def shielding_owner(live: Mapping[str, Any]) -> str:
    """The owner of an object that can be told by the object itself to leave it alone; empty if it has none."""
    return next((each.owner for each in engine_marks.every(live) if _shield(each.owner)[0]), "")


def is_shielded(live: Mapping[str, Any]) -> bool:
    """Whether an object tells the owner above to leave it alone."""
    name, value = _shield(shielding_owner(live))
    return bool(name) and mapping(live, "metadata", "annotations").get(name) == value


def _shield(owner: str) -> tuple[str, str]:
    kind = adapters.kind_of(owner)
    return kind.shield if kind is not None else ("", "")


def owners_above(live: Mapping[str, Any]) -> list[str]:
    """Everybody who applies an object, by the names of owners: ``HelmRelease shop/web``, ``ApplicationSet a/all``."""
    found = [each.owner for each in engine_marks.every(live)]
    namespace = text(live, "metadata", "namespace")
    found += [
        f"{text(each, 'kind')} {namespace}/{text(each, 'name')}"
        for each in sequence(live, "metadata", "ownerReferences")
        if API.get(text(each, "kind"), "").partition("/")[0] == text(each, "apiVersion").partition("/")[0] != ""
    ]
    return [*dict.fromkeys(found)]


def applies(live: Mapping[str, Any]) -> str:
    """The manager as which the engine applies an object; empty if none does."""
    kinds = [each.owner.partition(" ")[0] for each in engine_marks.every(live)]
    return next((managers.APPLIES[each] for each in kinds if each in managers.APPLIES), "")


async def get_engine(name: str, client: kube.Client) -> dict[str, Any] | None:
    """The engine's object that an owner's name means; None if it is not there, or its kind is not served.

    Raises:
        errors.ClientError: The API does not answer.
    """
    kind, _, place = name.partition(" ")
    namespace, _, called = place.rpartition("/")
    if kind not in API:
        return None
    try:
        if namespace:
            return dict(await client.get(API[kind], kind, called, namespace=namespace))
        # Argo CD may put the namespace before the name of an Application that is not in its own.
        names = {called, called.partition("_")[2]}
        items = (await client.list(API[kind], kind)).items
        return next((dict(each) for each in items if text(each, "metadata", "name") in names), None)
    except (kube.NotFound, kube.UnknownKind):
        return None


# Who must rest for an override: those that own what is to be changed, and those above them that would wake them.


async def find_held(
    owners: Iterable[tuple[str, str]], client: kube.Client
) -> tuple[tuple[SuspendedOwner, ...], dict[str, Mapping[str, Any]], tuple[str, ...]]:
    """Everybody who must rest, outermost first.

    Args:
        owners: Those who own what is to be changed, with the reason: ``("Kustomization flux-system/shop", "owns …")``.
        client: The API.

    Returns:
        Who; each as it is now, by its name; and owners that are not there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    direct = dict(owners)
    lives: dict[str, Mapping[str, Any]] = {}
    reasons: dict[str, str] = {}
    missing: list[str] = []
    waiting = [*direct.items()]
    while waiting:
        name, why = waiting.pop(0)
        live = await get_engine(name, client)
        if live is None:
            missing.append(name)
            continue
        own = str(ObjectId.of(live))
        if own in lives:
            continue
        lives[own], reasons[own] = live, why
        # Whoever can be told to leave it alone needs no rest of its own.
        above = [each for each in owners_above(live) if not _shield(each)[0]]
        waiting += [(each, f"applies {own}") for each in above if each not in direct]
    depths = _depths(lives)
    rest = [
        SuspendedOwner(
            kind=str(live["kind"]), namespace=text(live, "metadata", "namespace"), name=text(live, "metadata", "name"),
            uid=text(live, "metadata", "uid"), why=reasons[own], depth=depths[own],
            is_above=reasons[own].startswith("applies "), was_suspended=engine_marks.is_suspended(live),
        )
        for own, live in lives.items()
    ]  # fmt: skip
    gone = [each for each in missing if each in direct]
    return tuple(sorted(rest, key=lambda each: (each.depth, str(each)))), lives, tuple(gone)


def _depths(lives: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """How many of the others are above each one, one above the other."""
    called = {own: {own, f"{live['kind']} {text(live, 'metadata', 'name')}"} for own, live in lives.items()}
    parents = {
        own: [
            other
            for other in lives
            if other != own and called[other] & {*owners_above(live)}
        ]
        for own, live in lives.items()
    }  # fmt: skip
    depths = dict.fromkeys(lives, 0)
    for _ in lives:  # marks may run in a circle
        for own in lives:
            depths[own] = min(len(lives), max((depths[each] + 1 for each in parents[own]), default=0))
    return depths
