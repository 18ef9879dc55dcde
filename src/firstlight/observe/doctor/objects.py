"""The objects that rules look at, and every event: kinds listed in parallel, what cannot be listed said and left out.

Of kinds that no rule knows only the metadata is asked for, and kept only of what is being deleted.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube.discovery import Catalog, Resource
from firstlight.document.within import text
from firstlight.gates.causes import of_refusals
from firstlight.observe import owned
from firstlight.observe.doctor import masking, secrets
from firstlight.policy.diagnosing import scene

_PAGE = 500
_EVENTS = 5_000
"""The newest that are kept; they stay for an hour, and a broken cluster makes many."""
_MANAGED = frozenset({"apps/Deployment", "apps/DaemonSet", "apps/StatefulSet", "/ConfigMap"})
"""Kinds of which it is told who writes them."""
_BARE = frozenset({"/ConfigMap", "/ServiceAccount"})
"""Kinds of which the metadata is enough: what is in them is large, or nobody's business."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """What the API told."""

    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    events: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    certificates: Mapping[str, float] = dataclasses.field(default_factory=dict)
    unserved: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    unseen: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Listed:
    kind: str
    items: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""


async def look(client: kube.Client, *, hide: Callable[[str], str] = str) -> Seen:
    """Everything that the API still tells.

    Args:
        client: Of the cluster.
        hide: Takes known values out of what events say.
    """
    try:
        catalog = await client.catalog(refresh=True)
    except errors.ClientError as error:
        return Seen(unlisted=frozenset(scene.KINDS), unseen=(f"objects: {error.message}",))
    served = {_kind(each): each for each in owned.kinds(catalog)}
    known = [kind for kind in scene.KINDS if kind in served and kind != "/Secret"]
    others = [kind for kind in served if kind not in scene.KINDS]
    listed, going, events, secret = await asyncio.gather(
        asyncio.gather(*(_list(client, served[each], catalog, is_bare=each in _BARE) for each in known)),
        asyncio.gather(*(_list(client, served[each], catalog, is_bare=True) for each in others)),
        _events(client, hide),
        secrets.look(client),
    )
    items = [_reduced(item, each.kind) for each in listed for item in each.items]
    items += [item for each in going for item in each.items if text(item, "metadata", "deletionTimestamp")]
    failed = [each for each in [*listed, *going] if each.problem]
    said = [f"{each.kind.removeprefix('/')}: {each.problem}" for each in failed]
    said += [each for each in (secret.problem, events.problem) if each]
    return Seen(
        objects=(*items, *secret.objects),
        events=events.items,
        certificates=secret.certificates,
        unserved=frozenset(each for each in scene.KINDS if each not in served),
        unlisted=frozenset(each.kind for each in failed) | (frozenset({"/Secret"}) if secret.problem else frozenset()),
        unseen=_grouped(said),
    )


async def _list(client: kube.Client, resource: Resource, catalog: Catalog, *, is_bare: bool) -> _Listed:
    kind = _kind(resource)
    if resource.api_version in catalog.stale:
        return _Listed(kind, problem="its server does not answer")
    try:
        found = await client.list(resource.api_version, resource.kind, limit=_PAGE, metadata_only=is_bare)
    except errors.ClientError as error:
        return _Listed(kind, problem=_said(error))
    return _Listed(kind, found.items)


async def _events(client: kube.Client, hide: Callable[[str], str]) -> _Listed:
    try:
        found = (await client.list("v1", "Event", limit=_PAGE)).items
    except errors.ClientError as error:
        return _Listed("/Event", problem=f"events: {_said(error)}")
    newest = sorted(found, key=lambda each: of_refusals.when(each) or 0.0)[-_EVENTS:]
    return _Listed("/Event", tuple({**each, "message": masking.text(hide(text(each, "message")))} for each in newest))


def _kind(resource: Resource) -> str:
    return f"{resource.group}/{resource.kind}"


def _reduced(item: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Without what no rule looks at: who wrote which field, copies of what was applied, schemas."""
    metadata = dict(item.get("metadata") or {})
    if kind not in _MANAGED:
        metadata.pop("managedFields", None)
    notes = metadata.get("annotations")
    if isinstance(notes, Mapping) and masking.LAST_APPLIED in notes:
        metadata["annotations"] = {key: each for key, each in notes.items() if key != masking.LAST_APPLIED}
    made = {**item, "metadata": metadata}
    if kind == "apiextensions.k8s.io/CustomResourceDefinition":
        spec = dict(made.get("spec") or {})
        spec["versions"] = [
            {key: each[key] for key in each if key not in ("schema", "additionalPrinterColumns")}
            for each in spec.get("versions") or ()
        ]
        made["spec"] = spec
    return made


def _said(error: errors.ClientError) -> str:
    if isinstance(error, kube.Forbidden):
        return "this identity may not list it"
    return error.detail if isinstance(error, kube.ApiError) and error.detail else error.message


def _grouped(said: list[str]) -> tuple[str, ...]:
    """One line for each reason, with all kinds that it is true of."""
    found: dict[str, list[str]] = {}
    for each in said:
        what, _, why = each.partition(": ")
        found.setdefault(why, []).append(what)
    return tuple(f"{', '.join(kinds)}: {why}" for why, kinds in found.items())
