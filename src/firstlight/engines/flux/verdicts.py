"""What Flux says of its Kustomizations and HelmReleases: ready, at the revision that is expected, or why not."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.engines import revisions
from firstlight.engines.engine_kind import VerdictFacts
from firstlight.model import flux_names
from firstlight.model.observation import WatchTarget
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

GIT = WatchTarget(api_version=flux_names.SOURCE_API, kind=flux_names.GIT_REPOSITORY)
"""All of them: which one a Kustomization follows is known only when it is seen."""
CHARTS = WatchTarget(api_version=flux_names.SOURCE_API, kind=flux_names.HELM_CHART)
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


def kustomization(value: Mapping[str, Any], name: str, facts: VerdictFacts) -> Verdict:
    """Judge a Kustomization.

    Args:
        value: As it is now.
        name: What it is called.
        facts: All GitRepositories, the commit and its repository.
    """
    now, expected, url = facts.view.now, facts.expected, facts.url
    verdict = _explained(value, conditions.judged_ready(value, name, now=now, expected=("Ready",)), name=name, now=now)
    if not isinstance(verdict, Passed):
        return verdict
    applied = text(value, "status", "lastAppliedRevision")
    if not applied:
        return Waiting(f"{name} has applied nothing yet")
    source = _source(value, facts.view.all(GIT))
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


def helm_release(value: Mapping[str, Any], name: str, facts: VerdictFacts) -> Verdict:
    """Judge a HelmRelease: Ready says that the release of its generation is deployed.

    Where its chart is a directory of the repo itself and a commit is waited for, the chart must be of that commit, too.
    """
    if late := _late_chart(value, name, facts):
        return late
    now = facts.view.now
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
    if (usually := _USUALLY.get(reason)) and not verdict.has_cause:
        return Waiting(f"{verdict.reason}; usually {usually}")
    return verdict


def _late_chart(release: Mapping[str, Any], name: str, facts: VerdictFacts) -> Verdict | None:
    """The verdict on a HelmRelease whose chart is not of the commit, though it may be ready; None where it is."""
    if facts.is_in is None or not _is_of_repo(release, facts):
        return None
    wanted = text(release, "status", "helmChart")
    chart = next((each for each in facts.view.all(CHARTS) if _called(each) == wanted), None)
    if chart is None:
        return Waiting(f"{name} has no chart yet")
    if not facts.is_in(text(chart, "status", "observedSourceArtifactRevision")):
        return Waiting(f"{name}: its chart is not made of the commit yet")
    version, tried = text(chart, "status", "artifact", "revision"), text(release, "status", "lastAttemptedRevision")
    return Waiting(f"{name} is at {tried or 'nothing'}, and its chart is {version}") if tried != version else None


def _is_of_repo(release: Mapping[str, Any], facts: VerdictFacts) -> bool:
    reference = mapping(release, "spec", "chart", "spec", "sourceRef")
    space = text(reference, "namespace") or text(release, "metadata", "namespace")
    called, url = f"{space}/{text(reference, 'name')}", facts.url
    return text(reference, "kind") == flux_names.GIT_REPOSITORY and any(
        _called(each) == called and (not url or revisions.is_same_repository(url, text(each, "spec", "url")))
        for each in facts.view.all(GIT)
    )


def _called(value: Mapping[str, Any]) -> str:
    return f"{text(value, 'metadata', 'namespace')}/{text(value, 'metadata', 'name')}"


# Outside of a wait: whether an object works at all, and what its controller is about.


def fault(live: Mapping[str, Any], name: str, *, now: float, has_ready: bool = False) -> str:
    """Return why an object does not work on what it has; empty if it does, or if it is just about to.

    Args:
        live: As it is now.
        name: What it is called.
        now: Seconds since the epoch.
        has_ready: Whether it says by a condition Ready whether all is well.
    """
    if (resting := suspended(live, name)) is not None:
        return resting.reason
    is_bad = conditions.is_going(live) or conditions.is_true(live, "Stalled") or conditions.is_false(live, "Ready")
    # Between two rounds it is ready or not; while it works it is neither.
    is_silent = has_ready and not conditions.condition(live, "Ready")
    return conditions.judged_ready(live, name, now=now, expected=("Ready",)).reason if is_bad or is_silent else ""


def failure(live: Mapping[str, Any]) -> tuple[str, str]:
    """Return the revision that it could not apply when it tried last, and why; both empty if it could."""
    if not conditions.is_false(live, "Ready") or not conditions.is_seen(live):
        return "", ""
    return text(live, "status", "lastAttemptedRevision"), text(conditions.condition(live, "Ready"), "message")


def is_seen(live: Mapping[str, Any]) -> bool:
    """Return whether its controller has looked at it."""
    found = sequence(live, "status", "conditions")
    said = [at(each, "observedGeneration") for each in (mapping(live, "status"), *found)]
    # Flux writes -1 before its first look has ended, and tells in a condition which generation it looks at.
    observed = [each for each in said if isinstance(each, int)]
    has_looked = max(observed) >= max(1, number(live, "metadata", "generation")) if observed else bool(found)
    return has_looked and not conditions.is_going(live)


def is_busy(live: Mapping[str, Any]) -> bool:
    """Return whether its controller says that it is at work."""
    return conditions.is_true(live, "Reconciling")
