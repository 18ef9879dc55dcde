"""Who owns what in a cluster, beside who is to own it as the repo says."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Owner, Side, SourceForm
from firstlight.model.owner import ObjectOwner, OwnedObject, OwnerMap, Party
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.observe import owned_objects
from firstlight.ownership import claims, owner_map
from firstlight.ownership.owner_map import DeclaredOwnership
from firstlight.plan import build, cluster_facts, final_owners


async def owners(
    client: kube.Client,
    *,
    cluster: str,
    declared: Mapping[ObjectId, DeclaredOwnership] | None = None,
    namespace: str = "",
    with_fields: bool = False,
    notes: Iterable[str] = (),
) -> OwnerMap:
    """Every object of a cluster with its owners; nothing is written.

    Args:
        client: Of the cluster.
        cluster: Its name, to be shown.
        declared: Who is to own what; None where no repo says so.
        namespace: The one that is looked at, beside objects in none; all if it is not given.
        with_fields: Whether the managers of every field are told.
        notes: What was not looked for, and why.

    Raises:
        errors.ClientError: The cluster cannot be asked.
    """
    seen = await owned_objects.look(client, namespace=namespace)
    return OwnerMap(
        cluster=cluster,
        objects=owner_map.every(seen.objects, seen.inventories, declared=declared, with_fields=with_fields),
        unread=seen.unread,
        notes=tuple(notes),
    )


def declared(
    platform: Platform, cluster: Cluster, renditions: Iterable[Rendition]
) -> dict[ObjectId, DeclaredOwnership]:
    """Who is to own every object that the repo brings to a cluster.

    Args:
        platform: The repo.
        cluster: One of it.
        renditions: What its components deploy.
    """
    rendered = tuple(renditions)
    known = cluster_facts.of(platform, cluster, rendered)
    found: dict[ObjectId, DeclaredOwnership] = {}
    brought = {each.id for component in known.bootstrap for each in known.objects(component, Side.BOOTSTRAP)}
    steps = build.build(platform, cluster, renditions=rendered).steps
    brought |= {each for step in steps if step.side != Side.GITOPS for each in step.creates or ()}
    passed = {each.id for each in final_owners.passing_objects(known, brought)}
    for component in known.components:
        origin = final_owners.passing_owner(component)
        if origin is not None:
            party = Party.ARGOCD if origin.form == SourceForm.APPLICATION else Party.FLUX
            to_be = DeclaredOwnership(component.name, ObjectOwner(party, final_owners.owner_name(origin)))
            side = Side.GITOPS
        elif component.owner == Owner.BOOTSTRAP:
            to_be, side = DeclaredOwnership(component.name, None), Side.BOOTSTRAP
        else:
            continue
        for each in known.objects(component, side):
            if not claims.is_hook(each.value):
                found.setdefault(each.id, dataclasses.replace(to_be, is_passing=each.id in passed))
    return found


def unrendered(platform: Platform, cluster: Cluster, renditions: Iterable[Rendition]) -> tuple[str, ...]:
    """Components of which not everything could be rendered: whose their objects are to be is not known."""
    return cluster_facts.of(platform, cluster, renditions).unrendered


def only(
    found: OwnerMap, *, kind: str = "", namespace: str = "", owner: str = "", everything: bool = False
) -> OwnerMap:
    """The part of a map that is asked for.

    Args:
        found: The whole.
        kind: Of objects, in small letters or not.
        namespace: Of objects.
        owner: A party, or a part of an owner's name.
        everything: Also what others bring, such as pods, and what the system makes by itself.

    Raises:
        errors.UsageError: There is no such owner, or no object of that kind.
    """
    if owner and not any(_is_meant(each, owner) for each in found.objects) and owner not in list(Party):
        raise errors.UsageError(
            f"nobody is called {owner}",
            hint=f"Name one of {', '.join(Party)}, or a part of a name, such as flux-system/apps.",
        )
    kinds = {each.id.kind for each in found.objects}
    if kind and kind.lower() not in {each.lower() for each in kinds}:
        near = difflib.get_close_matches(kind, sorted(kinds), n=3)
        raise errors.UsageError(f"there is no {kind} here", hint=f"There is {', '.join(near)}." if near else "")
    return dataclasses.replace(
        found,
        objects=tuple(
            each
            for each in found.objects
            if (not namespace or each.id.namespace == namespace)
            and (not kind or each.id.kind.lower() == kind.lower())
            and (not owner or _is_meant(each, owner))
            and (everything or _stands_alone(each, owner=owner, kind=kind))
        ),
    )


def counted(found: OwnerMap, *, kind: str = "", namespace: str = "", owner: str = "") -> OwnerMap:
    """What numbers are told of: all that is asked for, what others bring and what the system makes among it."""
    if not (kind or namespace or owner):
        return found
    return only(found, kind=kind, namespace=namespace, owner=owner, everything=True)


def _is_meant(each: OwnedObject, owner: str) -> bool:
    return each.owner.party == owner if owner in list(Party) else owner in each.owner.name


def _stands_alone(each: OwnedObject, *, owner: str, kind: str) -> bool:
    """Whether it is shown by itself: a kind or the system that somebody names is meant."""
    return (each.under is None or bool(kind)) and (
        each.owner.party != Party.SYSTEM or owner == Party.SYSTEM or bool(kind)
    )
