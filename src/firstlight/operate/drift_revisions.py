"""Which commit the engine has applied: what differs from another one is no drift."""

import asyncio
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.gates import revisions
from firstlight.model.cluster import Cluster
from firstlight.model.owner import ObjectOwner
from firstlight.operate.engine_objects import KINDS
from firstlight.ownership import engine_marks

_SOURCE = ("source.toolkit.fluxcd.io/v1", "GitRepository")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Applied:
    """What owners, and those that have applied them, have of this repo."""

    others: tuple[str, ...] = ()
    """Commits other than the one that was rendered, with who has them."""
    unknown: tuple[str, ...] = ()
    """Owners of which nobody can tell which commit they have."""
    notes: tuple[str, ...] = ()
    """Why owners correct nothing by themselves."""


async def applied(cluster: Cluster, owners: Iterable[ObjectOwner], client: kube.Client, *, revision: str) -> Applied:
    """Which commits of this repo owners have applied.

    Args:
        cluster: Which repository its engine follows.
        owners: Who is looked at; whoever has applied them is, too.
        client: The API.
        revision: The commit that was rendered; empty where it is not known.
    """
    mine = sorted(set(owners))
    *found, sources = await asyncio.gather(
        *(_all(version, kind, client) for kind, version in KINDS.items()), _all(*_SOURCE, client)
    )
    everybody = {name: each for some in found for each in some for name in _names(each)}
    others: dict[str, set[str]] = {}
    unknown: list[str] = []
    for owner in mine:
        line = list(_line(owner.name, everybody))
        commits = [(each, has) for each in line if (has := of(each, sources, url=cluster.url))]
        for each, has in commits:
            if revision and not revisions.is_at(has, revision):
                others.setdefault(revisions.short(has), set()).add(text(each, "metadata", "name"))
        # A release is of the commit of whoever has applied it; a Kustomization is of its own.
        is_known = bool(commits) and (commits[0][0] is line[0] or not owner.name.startswith("Kustomization "))
        if not is_known or not revisions.commit(commits[0][1]):
            unknown.append(owner.name)
    told = tuple(f"{commit} ({', '.join(sorted(names))})" for commit, names in sorted(others.items()))
    notes = tuple(note for each in mine if each.name in everybody for note in _notes(everybody[each.name]))
    return Applied(others=told, unknown=tuple(unknown), notes=notes)


def _line(name: str, everybody: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """An owner, who has applied it, who has applied that, and so on."""
    seen: set[str] = set()
    while name in everybody and name not in seen:
        seen.add(name)
        yield everybody[name]
        marks = [each.owner for each in engine_marks.every(everybody[name])]
        name = next((each for each in marks if each in everybody and each not in seen), "")


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


def _names(holder: Mapping[str, Any]) -> tuple[str, ...]:
    """What owners are called by their marks: Applications may be called without a namespace."""
    kind, name = text(holder, "kind"), text(holder, "metadata", "name")
    placed = f"{kind} {text(holder, 'metadata', 'namespace')}/{name}"
    return (placed, f"{kind} {name}") if kind == "Application" else (placed,)


def _notes(holder: Mapping[str, Any]) -> Iterator[str]:
    """Why somebody corrects nothing by itself."""
    called = f"{text(holder, 'kind')} {text(holder, 'metadata', 'namespace')}/{text(holder, 'metadata', 'name')}"
    if engine_marks.is_suspended(holder):
        yield f"{called} is suspended: nothing corrects what is its"
    for each in sequence(holder, "status", "conditions"):
        if text(each, "type") == "Ready" and text(each, "status") == "False":
            yield f"{called} is not ready: {' '.join(text(each, 'message').split())[:200]}"


async def _all(api_version: str, kind: str, client: kube.Client) -> Sequence[Mapping[str, Any]]:
    try:
        found = (await client.list(api_version, kind)).items
        return [{**each, "apiVersion": api_version, "kind": kind} for each in found]
    except (kube.UnknownKind, kube.Forbidden, kube.NotFound):
        return ()
