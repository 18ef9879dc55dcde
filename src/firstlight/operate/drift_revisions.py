"""Which commit the engine has applied: what differs from another one is no drift."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import revisions
from firstlight.model.cluster import Cluster
from firstlight.model.owner import ObjectOwner

_SOURCE = ("source.toolkit.fluxcd.io/v1", "GitRepository")
_KINDS = {
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Application": "argoproj.io/v1alpha1",
}


async def applied(
    cluster: Cluster, owners: Iterable[ObjectOwner], client: kube.Client, *, revision: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The commits of this repo that owners have applied, others than the one that was rendered; and notes on owners.

    Args:
        cluster: Which repository its engine follows.
        owners: Who is looked at.
        client: The API.
        revision: The commit that was rendered; empty where it is not known.
    """
    mine = set(owners)
    kinds = [each for each in _KINDS if any(owner.name.startswith(f"{each} ") for owner in mine)]
    found = await asyncio.gather(*(_all(_KINDS[each], each, client) for each in kinds), _all(*_SOURCE, client))
    holders = [each for some in found[:-1] for each in some if _is_one_of(each, mine)]
    others: dict[str, list[str]] = {}
    for each in holders:
        has = of(each, found[-1], url=cluster.url)
        if has and revision and not revisions.is_at(has, revision):
            others.setdefault(revisions.short(has), []).append(text(each, "metadata", "name"))
    told = tuple(f"{commit} ({', '.join(sorted(names))})" for commit, names in sorted(others.items()))
    return told, tuple(note for each in holders for note in _notes(each))


def of(holder: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], *, url: str) -> str:
    """The commit of this repo that one has applied; empty where it follows something else, or has none."""
    match text(holder, "kind"):
        case "Application":
            one = mapping(holder, "spec", "source")
            several = [one] if one else [mapping(each) for each in sequence(holder, "spec", "sources")]
            has = [each for each in sequence(holder, "status", "sync", "revisions") if isinstance(each, str)]
            has = has or [text(holder, "status", "sync", "revision")]
            for source, revision in zip(several, has, strict=False):
                if not text(source, "chart") and _is_same(url, text(source, "repoURL")):
                    return revision
            return ""
        case "Kustomization":
            reference = mapping(holder, "spec", "sourceRef")
            space = text(reference, "namespace") or text(holder, "metadata", "namespace")
            for each in sources if text(reference, "kind") == "GitRepository" else ():
                is_it = text(each, "metadata", "name") == text(reference, "name")
                if is_it and text(each, "metadata", "namespace") == space and _is_same(url, text(each, "spec", "url")):
                    return text(holder, "status", "lastAppliedRevision")
    return ""


def _is_same(url: str, other: str) -> bool:
    return not url or revisions.is_same_repository(url, other)


def _is_one_of(holder: Mapping[str, Any], owners: set[ObjectOwner]) -> bool:
    kind, name = text(holder, "kind"), text(holder, "metadata", "name")
    namespace = text(holder, "metadata", "namespace")
    return any(each.name in (f"{kind} {namespace}/{name}", f"{kind} {name}") for each in owners)


def _notes(holder: Mapping[str, Any]) -> Iterator[str]:
    """Why somebody corrects nothing by itself."""
    called = f"{text(holder, 'kind')} {text(holder, 'metadata', 'namespace')}/{text(holder, 'metadata', 'name')}"
    if at(holder, "spec", "suspend") is True:
        yield f"{called} is suspended: nothing corrects what is its"
    for each in sequence(holder, "status", "conditions"):
        if text(each, "type") == "Ready" and text(each, "status") == "False":
            yield f"{called} is not ready: {' '.join(text(each, 'message').split())[:200]}"


async def _all(api_version: str, kind: str, client: kube.Client) -> Sequence[Mapping[str, Any]]:
    try:
        return (await client.list(api_version, kind)).items
    except (kube.UnknownKind, kube.Forbidden, kube.NotFound):
        return ()
