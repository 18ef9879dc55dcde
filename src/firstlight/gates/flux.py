"""What Flux says of its Kustomizations and HelmReleases: ready, at the revision that is expected, or why not."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines import revisions
from firstlight.model import flux_names
from firstlight.model.observation import WatchTarget
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

GIT = WatchTarget(api_version=flux_names.SOURCE_API, kind=flux_names.GIT_REPOSITORY)
"""All of them: which one a Kustomization follows is known only when it is seen."""
_USUALLY = {
    "DependencyNotReady": "what it depends on is not ready: look there first",
    "HealthCheckFailed": "what it applies does not become ready: its pods tell",
    "ArtifactFailed": "its source has no artifact, or the path is not in it",
    "SourceNotReady": "its source has no artifact yet",
    "InstallFailed": "the chart's objects do not become ready in time, or the server refuses one",
    "UpgradeFailed": "the chart's objects do not become ready in time, or the server refuses one",
    "BuildFailed": "the kustomization is wrong, or a variable or a key for decryption is missing",
}


def suspended(value: Mapping[str, Any], name: str, *, is_declared: bool = False) -> Verdict | None:
    """The verdict on something that nobody reconciles; None if it is not suspended."""
    if at(value, "spec", "suspend") is not True:
        return None
    if is_declared:
        return Skipped(f"{name} is suspended, and Git says so")
    return conditions.unfinished_handover(value, name) or Waiting(
        f"{name} is suspended: nothing reconciles it until it is resumed"
    )  # fmt: skip


def kustomization(
    value: Mapping[str, Any], name: str, *, expected: str, url: str, sources: Sequence[Mapping[str, Any]], now: float
) -> Verdict:
    """The verdict on a Kustomization.

    Args:
        value: As it is now.
        name: What it is called.
        expected: The commit that was rendered; empty where it is not known.
        url: The repository that the commit is of.
        sources: All GitRepositories.
        now: Seconds since the epoch.
    """
    verdict = _explained(value, conditions.judged_ready(value, name, now=now, expected=("Ready",)), name=name, now=now)
    if not isinstance(verdict, Passed):
        return verdict
    applied = text(value, "status", "lastAppliedRevision")
    if not applied:
        return Waiting(f"{name} has applied nothing yet")
    source = _source(value, sources)
    if source is None:
        is_ours, offered = text(value, "spec", "sourceRef", "kind") == flux_names.GIT_REPOSITORY, ""
    else:
        is_ours = not url or revisions.is_same_repository(url, text(source, "spec", "url"))
        offered = text(source, "status", "artifact", "revision")
    if is_ours and not revisions.is_at(applied, expected):
        return Waiting(f"{name} has applied {revisions.short(applied)}, not {expected[:7]}{_why(applied, offered)}")
    if not is_ours and offered and applied != offered:
        return Waiting(f"{name} has applied {revisions.short(applied)}, and {revisions.short(offered)} is there")
    return Passed(f"{name} at {revisions.short(applied)}")


def _why(applied: str, offered: str) -> str:
    if offered and applied == offered:
        return "; usually the commit is not pushed, or another one was pushed since: then run again"
    return "; usually the next reconciliation is still to come"


def _source(value: Mapping[str, Any], sources: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    reference = mapping(value, "spec", "sourceRef")
    if text(reference, "kind") != flux_names.GIT_REPOSITORY:
        return None
    space = text(reference, "namespace") or text(value, "metadata", "namespace")
    for each in sources:
        if text(each, "metadata", "name") == text(reference, "name") and text(each, "metadata", "namespace") == space:
            return each
    return None


def helm_release(value: Mapping[str, Any], name: str, *, now: float) -> Verdict:
    """The verdict on a HelmRelease: Ready says that the release of its generation is deployed."""
    verdict = _explained(value, conditions.judged_ready(value, name, now=now, expected=("Ready",)), name=name, now=now)
    if not isinstance(verdict, Passed):
        return verdict
    history = sequence(value, "status", "history")
    version = text(history[0], "chartVersion") if history else ""
    return Passed(f"{name} {version}".strip())


def _explained(value: Mapping[str, Any], verdict: Verdict, *, name: str, now: float) -> Verdict:
    """With what usually causes it, and what a dependency is called, where Flux says so."""
    if not isinstance(verdict, Waiting):
        return verdict
    found = conditions.condition(value, "Ready")
    reason, message = text(found, "reason"), text(found, "message")
    if reason == "DependencyNotReady" and (other := re.search(r"dependency '([^']+)'", message)):
        since = conditions.condition_since(value, "Ready")
        return conditions.waiting(f"{name} waits for {other[1]}, which is not ready", now=now, since=since)
    if (usually := _USUALLY.get(reason)) and "; usually" not in verdict.reason:
        return Waiting(f"{verdict.reason}; usually {usually}")
    return verdict
