"""What Argo CD says of an Application: synced, healthy, its operation ended well, at the revision that is expected."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines import revisions
from firstlight.engines.engine_kind import Rest, VerdictFacts
from firstlight.model import argocd_names
from firstlight.model.observation import GateView
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

SKIPPED = Rest(
    group=argocd_names.GROUP,
    steps=("metadata", "annotations", argocd_names.SKIP_RECONCILE_ANNOTATION),
    value="true",
    words=f'the annotation {argocd_names.SKIP_RECONCILE_ANNOTATION}: "true"',
    # What Go takes for true.
    also=frozenset({"1", "t", "T", "TRUE", "True"}),
)
_HEALTH = {
    "Degraded": "a workload of it fails: its pods tell",
    "Missing": "it has not been synced yet",
    "Suspended": "a paused rollout or a suspended CronJob",
    "Progressing": "its workloads still start",
}


def application(value: Mapping[str, Any], name: str, facts: VerdictFacts) -> Verdict:
    """Judge an Application.

    Args:
        value: As it is now.
        name: What it is called.
        facts: The commit and its repository.
    """
    now, expected, url = facts.view.now, facts.expected, facts.url
    if conditions.is_going(value):
        since = conditions.moment(text(value, "metadata", "deletionTimestamp"))
        return conditions.waiting(f"{name} is being deleted", now=now, since=since)
    if (resting := skipped(value, name)) is not None:
        return resting
    sync = text(value, "status", "sync", "status")
    if not text(value, "status", "reconciledAt") and not sync:
        usually = "the application controller does not run, or does not watch its namespace"
        return conditions.waiting(f"{name} was not seen yet", now=now, since=conditions.created(value), usually=usually)
    if complaint := _complaint(value):
        return Waiting(f"{name}: {complaint}")
    if (unsynced := _unsynced(value, name, sync, now)) is not None:
        return unsynced
    if behind := _behind(value, expected, url):
        usually = "the commit is not pushed, or the next refresh is still to come"
        return Waiting(f"{name} is at {revisions.short(behind)}, not {expected[:7]}; usually {usually}")
    health = text(value, "status", "health", "status")
    if health != "Healthy":
        told = conditions.said(text(value, "status", "health", "message"))
        since = conditions.moment(text(value, "status", "health", "lastTransitionTime"))
        what = f"{name} is synced and {health or 'of unknown health'}{f' ({told})' if told else _unhealthy(value)}"
        return conditions.waiting(what, now=now, since=since, usually=_HEALTH.get(health, ""))
    return Passed(f"{name} at {revisions.short(_revision(value))}" if _revision(value) else name)


def skipped(value: Mapping[str, Any], name: str, *, is_declared: bool = False) -> Verdict | None:
    """The verdict on an Application that nobody reconciles; None if it does not rest.

    Args:
        value: As it is now.
        name: What it is called.
        is_declared: Whether Git says so: then nobody waits for it.
    """
    if not SKIPPED.holds(value):
        return None
    if is_declared:
        return Skipped(f"{name} rests, and Git says so")
    return conditions.unfinished_handover(value, name) or Waiting(
        f"{name} is skipped: nothing reconciles it while it has the annotation {argocd_names.SKIP_RECONCILE_ANNOTATION}"
    )


def _complaint(value: Mapping[str, Any]) -> str:
    """What Argo CD itself could not do; its warnings about resources are not of that kind."""
    for each in sequence(value, "status", "conditions"):
        if text(each, "type") in ("ComparisonError", "InvalidSpecError", "UnknownError"):
            return f"{text(each, 'type')}: {conditions.said(text(each, 'message'))}"
    return ""


def _unsynced(value: Mapping[str, Any], name: str, sync: str, now: float) -> Verdict | None:
    operation = mapping(value, "status", "operationState")
    phase, message = text(operation, "phase"), conditions.said(text(operation, "message"))
    since = conditions.moment(text(operation, "startedAt"))
    if phase in ("Failed", "Error"):
        usually = "the server refuses an object, or a hook failed"
        return conditions.waiting(
            f"{name}: its sync ended in {phase}: {message}", now=now, since=since, usually=usually
        )
    if phase in ("Running", "Terminating"):
        return conditions.waiting(f"{name} syncs: {message or 'no word yet'}", now=now, since=since)
    if sync == "Synced":
        # Without an operation nothing had to be done: everything was as Git says already.
        return None
    automated = at(value, "spec", "syncPolicy", "automated")
    if not isinstance(automated, Mapping) or automated.get("enabled") is False:
        return Waiting(f"{name} is {sync or 'of unknown sync'}, and nobody syncs it: it has no automated sync policy")
    objects = [
        f"{text(each, 'kind')} {text(each, 'name')}"
        for each in sequence(value, "status", "resources")
        if text(each, "status") == "OutOfSync"
    ]
    told = f" ({', '.join(objects[:3])}{' …' if len(objects) > 3 else ''})" if objects else ""
    return Waiting(f"{name} is {sync or 'of unknown sync'}{told}")


def _unhealthy(value: Mapping[str, Any]) -> str:
    found = [
        f"{text(each, 'kind')} {text(each, 'name')}"
        for each in sequence(value, "status", "resources")
        if text(each, "health", "status") not in ("", "Healthy")
    ]
    return f" ({', '.join(found[:3])}{' …' if len(found) > 3 else ''})" if found else ""


def _sources(value: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    one = mapping(value, "spec", "source")
    return [one] if one else [mapping(each) for each in sequence(value, "spec", "sources")]


def _revision(value: Mapping[str, Any]) -> str:
    several = sequence(value, "status", "sync", "revisions")
    found = several[0] if several and isinstance(several[0], str) else ""
    return text(value, "status", "sync", "revision") or found


def _behind(value: Mapping[str, Any], expected: str, url: str) -> str:
    """The revision of a source that is the repo itself and is not at the commit; charts have versions instead."""
    several = [each for each in sequence(value, "status", "sync", "revisions") if isinstance(each, str)]
    found = several or [text(value, "status", "sync", "revision")]
    for source, revision in zip(_sources(value), found, strict=False):
        is_ours = not url or revisions.is_same_repository(url, text(source, "repoURL"))
        if is_ours and not text(source, "chart") and not revisions.is_at(revision, expected):
            return revision
    return ""


# Outside of a wait: whether an Application works at all, and what its controller is about.


def fault(live: Mapping[str, Any], name: str, *, now: float) -> str:
    """Return why an Application does not work on what it has; empty if it does, or if it is just about to.

    Args:
        live: As it is now.
        name: What it is called.
        now: Seconds since the epoch.
    """
    verdict = application(live, name, VerdictFacts(view=GateView(now=now)))
    is_starting = text(live, "status", "health", "status") == "Progressing"
    is_fine = isinstance(verdict, Passed) or is_busy(live) or is_starting
    return "" if is_fine and not conditions.is_going(live) else verdict.reason


def failure(live: Mapping[str, Any]) -> tuple[str, str]:
    """Return the revision that it could not sync when it tried last, and why; both empty if it could."""
    operation = mapping(live, "status", "operationState")
    if text(operation, "phase") not in ("Failed", "Error"):
        return "", ""
    return text(operation, "syncResult", "revision"), text(operation, "message")


def is_seen(live: Mapping[str, Any]) -> bool:
    """Return whether the application controller has looked at it."""
    return bool(text(live, "status", "reconciledAt") or text(live, "status", "sync", "status"))


def is_busy(live: Mapping[str, Any]) -> bool:
    """Return whether it is being synced."""
    return text(live, "status", "operationState", "phase") == "Running"


# Which commit it has applied.


def applied(live: Mapping[str, Any]) -> str:
    """Return the revision that it is synced to; of several sources the first that is a commit."""
    several = [each for each in sequence(live, "status", "sync", "revisions") if isinstance(each, str)]
    known = next((each for each in several if revisions.commit(each)), "")
    return text(live, "status", "sync", "revision") or known


def applied_from(live: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], url: str) -> str:
    """Return the revision of the repository at a URL that it has applied; empty if it follows another one."""
    several = [each for each in sequence(live, "status", "sync", "revisions") if isinstance(each, str)]
    found = several or [text(live, "status", "sync", "revision")]
    for source, revision in zip(_sources(live), found, strict=False):
        is_ours = not url or revisions.is_same_repository(url, text(source, "repoURL"))
        if is_ours and not text(source, "chart"):
            return revision
    return ""
