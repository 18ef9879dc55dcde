"""Which commit the engine has applied: what differs from another one is no drift."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.drift import text as drift_text
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.document.within import sequence, text
from firstlight.engines import adapters, engine_marks, revisions
from firstlight.execute import cluster_identity
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.owner import ObjectOwner
from firstlight.observe.live_objects import KINDS

_SOURCE = (flux_names.SOURCE_API, flux_names.GIT_REPOSITORY)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedCommits:
    """What owners, and those that have applied them, have of this repo."""

    others: tuple[str, ...] = ()
    """Commits other than the one that was rendered, with who has them."""
    unknown: tuple[str, ...] = ()
    """Owners of which nobody can tell which commit they have."""
    notes: tuple[str, ...] = ()
    """Why owners correct nothing by themselves."""


async def applied(
    cluster: Cluster, owners: Iterable[ObjectOwner], client: kube.Client, *, revision: str
) -> AppliedCommits:
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
        commits = [(each, has) for each in line if (has := revisions_of(each, sources, url=cluster.url))]
        for each, has in commits:
            if revision and not revisions.is_at(has, revision):
                others.setdefault(revisions.short(has), set()).add(text(each, "metadata", "name"))
        # A release is of the commit of whoever has applied it; a Kustomization is of its own.
        kind = adapters.kind_of(owner.name)
        is_known = bool(commits) and (commits[0][0] is line[0] or kind is None or not kind.has_source)
        if not is_known or not revisions.commit(commits[0][1]):
            unknown.append(owner.name)
    told = tuple(f"{commit} ({', '.join(sorted(names))})" for commit, names in sorted(others.items()))
    notes = tuple(note for each in mine if each.name in everybody for note in _notes(everybody[each.name]))
    return AppliedCommits(others=told, unknown=tuple(unknown), notes=notes)


def _line(name: str, everybody: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """An owner, who has applied it, who has applied that, and so on."""
    seen: set[str] = set()
    while name in everybody and name not in seen:
        seen.add(name)
        yield everybody[name]
        marks = [each.owner for each in engine_marks.every(everybody[name])]
        name = next((each for each in marks if each in everybody and each not in seen), "")


def revisions_of(holder: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], *, url: str) -> str:
    """The commit of this repo that one has applied; empty where it follows something else, or has none."""
    kind = adapters.KINDS.get(text(holder, "kind"))
    return kind.applied_from(holder, sources, url) if kind is not None else ""


def _names(holder: Mapping[str, Any]) -> tuple[str, ...]:
    """What owners are called by their marks: Applications may be called without a namespace."""
    kind, name = text(holder, "kind"), text(holder, "metadata", "name")
    placed = f"{kind} {text(holder, 'metadata', 'namespace')}/{name}"
    return (placed, f"{kind} {name}") if kind in adapters.KINDS and adapters.KINDS[kind].is_named_bare else (placed,)


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


# Whether drift may be corrected: only on the cluster that is meant, and only to the commit that its engine has.


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorrectionContext:
    """How it is known which cluster is meant."""

    state: Path
    """``.firstlight`` of the repo, where ``up`` has written down which cluster is which."""
    uid: str = ""
    """That of kube-system, as the user names it."""


async def check_cluster(
    name: str, client: kube.Client, *, ground: CorrectionContext, confirm: Callable[[str], bool]
) -> None:
    """Refuse another cluster than the one that is meant; where none was written down, a person must know it.

    Args:
        name: Of the cluster.
        client: The API.
        ground: How it is known.
        confirm: Asked whether it is the one, where only a person can tell.

    Raises:
        errors.Refused: It is another cluster, or nobody says that it is this one.
        errors.ClientError: The API does not answer.
    """
    found = await client.get("v1", "Namespace", "kube-system", metadata_only=True)
    uid = str(found["metadata"]["uid"])
    known = cluster_identity.known(ground.state, name)
    for each in (known, ground.uid):
        if each and each != uid:
            raise errors.Refused(
                f"{client.config.server} is not {name}: its kube-system has the UID {uid}, and {each} is meant",
                hint="Check the kubeconfig and its context.",
            )
    if known or ground.uid:
        return
    what = f"{client.config.server}, whose kube-system has the UID {uid}"
    if not confirm(f"It was never written down here which cluster {name} is. This would write to {what}."):
        raise errors.Refused(
            f"it is not known whether this is {name}: {what}; nothing was written",
            hint=f"If it is: --uid {uid}; firstlight up {name} writes it down.",
        )


async def check_commit(scene: ExpectedState, owners: Iterable[ObjectOwner], client: kube.Client) -> None:
    """Refuse to put back what is not the commit that the engine has.

    Args:
        scene: What was rendered.
        owners: Who is to put it back.
        client: The API.

    Raises:
        errors.Refused: The work tree is not as its commit, or the engine has another one, or nobody knows which.
        errors.ClientError: The API does not answer.
    """
    for each in scene.problems:
        if each.code == drift_text.UNCOMMITTED:
            raise errors.Refused(f"{each.message}; nothing is to be put back to that", hint=each.fix)
    if not scene.revision:
        raise errors.Refused(
            "what was rendered is of no known commit, so that nobody can tell whether it is what the engine has",
            hint="Commit and push; from a registry, the engine alone corrects: flux reconcile, or argocd app sync.",
        )
    found = await applied(scene.cluster, owners, client, revision=scene.revision)
    if found.others:
        how = drift_text.to_the_same_commit(scene.problems)
        raise errors.Refused(
            f"the engine has applied {'; '.join(found.others)}, not {scene.revision[:12]}: nothing is to be put back",
            hint=f"First {how}; then again.",
        )
    if found.unknown:
        raise errors.Refused(
            f"which commit of this repo {', '.join(found.unknown)} has applied is not known: nothing is to be put back",
            hint="See what it says: kubectl describe; and whether gitops.url is what its source follows.",
        )
