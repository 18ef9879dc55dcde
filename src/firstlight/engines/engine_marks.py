"""Marks that engines leave on what is theirs: from then on bootstrap only reads it."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.engines import adapters
from firstlight.engines.adapter import EngineMark
from firstlight.engines.argocd import adapter as argocd
from firstlight.engines.flux import adapter as flux
from firstlight.model.cluster import Engine

FLUX, INSTANCES = flux.MARKS, argocd.INSTANCES
_RESTS = tuple(each.rest for each in adapters.SUSPENDABLE.values() if each.rest is not None)
_LONGEST = 53
"""Letters of the name of a release; Helm allows no more."""


def of(live: Mapping[str, Any], *, wanted: Mapping[str, Any] | None = None) -> EngineMark | None:
    """The mark of an engine on a live object; None if it has none.

    Bootstrap may have applied it as Argo CD's manager itself. So a label that charts use as well counts only where that
    manager owns it, and bootstrap does not want it.

    Args:
        live: The object.
        wanted: What bootstrap would apply.
    """
    return next(iter(every(live, wanted=wanted)), None)


def every(live: Mapping[str, Any], *, wanted: Mapping[str, Any] | None = None) -> tuple[EngineMark, ...]:
    """All marks on a live object: two mean that two engines, or two owners of one, apply it or have applied it.

    Args:
        live: The object.
        wanted: What bootstrap would apply.
    """
    return tuple(mark for each in adapters.ADAPTERS.values() for mark in each.marks(live, wanted or {}))


def is_suspended(holder: Mapping[str, Any]) -> bool:
    """Whether somebody lets a Kustomization, HelmRelease or Application rest."""
    return any(each.holds(holder) for each in _RESTS)


def release_of(
    releases: Iterable[Mapping[str, Any]], *, name: str, namespace: str, is_kept: bool = False
) -> EngineMark | None:
    """The HelmRelease that has a Helm release, or is about to take it; None if there is none.

    One with a history of it has it. One without any takes it when its controller comes to it, unless it is suspended.
    A history stays where bootstrap has taken the release back: then who rests does not have it.

    Args:
        releases: HelmReleases of the cluster.
        name: Of the Helm release.
        namespace: Where it keeps its Secrets.
        is_kept: Whether the repo says that bootstrap keeps the release; without that whoever rests still has it.
    """
    for each in releases:
        if is_kept and is_suspended(each):
            continue
        metadata, spec, status = each.get("metadata") or {}, each.get("spec") or {}, each.get("status") or {}
        own = str(metadata.get("namespace") or "")
        history = status.get("history") or ()
        is_coming = not history and not spec.get("suspend") and release_name(each) == name
        if is_coming and (spec.get("storageNamespace") or own) == namespace:
            return EngineMark(Engine.FLUX, f"HelmRelease {own}/{metadata.get('name')}")
        for entry in history:
            if (
                entry.get("name") == name
                and (status.get("storageNamespace") or entry.get("namespace") or own) == namespace
            ):
                return EngineMark(Engine.FLUX, f"HelmRelease {own}/{metadata.get('name')}")
    return None


def release_name(release: Mapping[str, Any]) -> str:
    """The Helm release of a HelmRelease, as Flux calls it."""
    spec = mapping(release, "spec")
    parts = (spec.get("targetNamespace"), mapping(release, "metadata").get("name"))
    name = str(spec.get("releaseName") or "-".join(str(each) for each in parts if each))
    return name if len(name) <= _LONGEST else f"{name[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
