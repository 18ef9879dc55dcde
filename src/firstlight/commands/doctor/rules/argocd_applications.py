"""Applications of Argo CD: repositories that cannot be read, syncs that fail or wait, hooks, loops of self-healing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import engine_state, error_messages, symptoms
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates.causes import message_codes
from firstlight.model import argocd_names
from firstlight.model.diagnostic import Evidence
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_OFTEN = 3
"""Times that self-healing has tried again: once or twice is what it is for."""
_BUILDING = (
    (r"app path does not exist", "path-missing"),
    (r"dial tcp \S+:(8081|6379)|argocd-repo-server|redis", "argocd-comparison"),
    (r"kustomize build|helm template|failed to execute|error unmarshalling|Manifest generation error", "build-failed"),
)
_WAITED = re.compile(r"(?:waiting for healthy state of|waiting for completion of hook) (\S*)/([A-Z]\w+)/(\S+)")


def applications(scene: ClusterObservation) -> Iterator[Symptom]:
    """One symptom for each Application that does not go on, and one for each repository that several cannot read."""
    unread: dict[str, Symptom] = {}
    for value in scene.of(argocd_names.APPLICATION_GROUP_KIND):
        if engine_state.is_resting(value) or conditions.is_going(value):
            continue
        complaint = _complaint(value)
        if complaint is not None:
            told = _compared(value, complaint)
            if told.subject.startswith("repository ") and told.subject not in unread:
                unread[told.subject] = told
                yield told
            yield told if not told.subject.startswith("repository ") else _unread(value, complaint, told.subject)
        elif (found_one := _synced(value, scene) or _looping(value) or _degraded(value, scene)) is not None:
            yield found_one


def _complaint(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for each in sequence(value, "status", "conditions"):
        if text(each, "type") in ("ComparisonError", "InvalidSpecError", "UnknownError"):
            return mapping(each)
    return None


def _compared(value: Mapping[str, Any], complaint: Mapping[str, Any]) -> Symptom:
    """What Argo CD cannot compare: a repository is told once, whoever uses it."""
    said, name = text(complaint, "message"), name_of(value)
    shown = symptoms.evidence(f"{name}, status.conditions", f"{text(complaint, 'type')}: {said}")
    code = next((code for pattern, code in _BUILDING if re.search(pattern, said)), "") or message_codes.apply_code(said)
    git = message_codes.git_code(said) if not code else ""
    since = conditions.moment(text(complaint, "lastTransitionTime"))
    needs = symptoms.names(
        error_messages.needs_of_repository(said),
        error_messages.needs_of_apply(said),
        symptoms.controller(argocd_names.REPO_SERVER),
        symptoms.controller(argocd_names.REDIS) if "6379" in said else "",
    )
    if git:
        return symptoms.symptom(
            code=git,
            subject=f"repository {_url(value)}",
            message=f"{_url(value)}: {message_codes.REPOSITORY_MESSAGES[git]}",
            evidence=(shown,),
            next=_next(git, value),
            since=since,
            needs=needs,
        )
    code = code or ("argocd-spec" if text(complaint, "type") == "InvalidSpecError" else "argocd-comparison")
    path = text(value, "spec", "source", "path")
    told = f"the path {path} is not in its repository" if code == "path-missing" and path else conditions.said(said)
    return symptoms.symptom(
        code=code,
        subject=name,
        message=f"{name}: {told}",
        evidence=(shown,),
        next=_next(code, value),
        since=since,
        needs=needs,
    )


def _unread(value: Mapping[str, Any], complaint: Mapping[str, Any], repository: str) -> Symptom:
    name = name_of(value)
    return symptoms.symptom(
        code="argocd-comparison",
        subject=name,
        message=f"{name} cannot be compared with Git",
        evidence=(symptoms.evidence(f"{name}, status.conditions", text(complaint, "message")),),
        next=_next("argocd-comparison", value),
        since=conditions.moment(text(complaint, "lastTransitionTime")),
        needs=frozenset({repository}),
    )


def _url(value: Mapping[str, Any]) -> str:
    several = sequence(value, "spec", "sources")
    return text(value, "spec", "source", "repoURL") or (text(several[0], "repoURL") if several else "") or "(unknown)"


def _synced(value: Mapping[str, Any], scene: ClusterObservation) -> Symptom | None:
    """A sync that failed, or that waits for long."""
    operation = mapping(value, "status", "operationState")
    phase, said, name = text(operation, "phase"), text(operation, "message"), name_of(value)
    since = conditions.moment(text(operation, "startedAt"))
    results = [mapping(each) for each in sequence(operation, "syncResult", "resources")]
    shown = [symptoms.evidence(f"{name}, status.operationState", f"{phase}: {said}", since)]
    if phase in ("Failed", "Error"):
        hooks = [each for each in results if text(each, "hookPhase") in ("Failed", "Error")]
        bad = hooks or [each for each in results if text(each, "status") == "SyncFailed"]
        shown += [symptoms.evidence(f"{name}, {_object(each)}", text(each, "message")) for each in bad[:2]]
        words = " ".join([said, *(text(each, "message") for each in bad)])
        code = "hook-failed" if hooks else message_codes.apply_code(words) or "sync-failed"
        told = (
            f"its hook {_object(hooks[0])} failed"
            if hooks
            else conditions.said(text(bad[0], "message") if bad else said)
        )
        needs = symptoms.names(error_messages.needs_of_apply(words), (_object(each) for each in bad), _rests(value))
        return _told(code, value, f"its sync failed: {told}", shown, since=since, needs=needs)
    waits = _WAITED.search(said)
    if phase == "Running" and waits and scene.is_over(since, times=10):
        awaited = _awaited(waits, value)
        code = "hook-waits" if "hook" in waits[0] else "wave-waits"
        return _told(
            code,
            value,
            f"its sync waits for {awaited}",
            shown,
            since=since,
            needs=symptoms.names(awaited, _rests(value)),
        )
    return None


def _awaited(match: re.Match[str], value: Mapping[str, Any]) -> str:
    """The object that a sync waits for; its namespace is found among the resources."""
    _, kind, name = match.groups()
    for each in [
        *sequence(value, "status", "resources"),
        *sequence(value, "status", "operationState", "syncResult", "resources"),
    ]:
        if (text(each, "kind"), text(each, "name")) == (kind, name):
            return _object(each)
    return f"{kind} {text(value, 'spec', 'destination', 'namespace')}/{name}"


def _looping(value: Mapping[str, Any]) -> Symptom | None:
    tries = number(value, "status", "operationState", "operation", "sync", "autoHealAttemptsCount")
    heals = at(value, "spec", "syncPolicy", "automated", "selfHeal") is True
    if not heals or tries < _OFTEN or text(value, "status", "sync", "status") != "OutOfSync":
        return None
    objects = [_object(each) for each in sequence(value, "status", "resources") if text(each, "status") == "OutOfSync"]
    what = ", ".join(objects[:3]) or "something of it"
    shown = [symptoms.of_field(value, "status.operationState.operation.sync.autoHealAttemptsCount", tries)]
    message = f"{what} differs again after each of {tries} syncs: somebody else changes it, or the server does"
    return _told("self-heal-loop", value, message, shown, needs=symptoms.names(objects))


def _degraded(value: Mapping[str, Any], scene: ClusterObservation) -> Symptom | None:
    since = conditions.moment(text(value, "status", "health", "lastTransitionTime"))
    if text(value, "status", "health", "status") != "Degraded" or not scene.is_over(since):
        return None
    objects = [
        _object(each)
        for each in sequence(value, "status", "resources")
        if text(each, "health", "status") in ("Degraded", "Missing")
    ]
    shown = [symptoms.of_field(value, "status.health", "Degraded")]
    return _told(
        "application-degraded",
        value,
        f"{', '.join(objects[:3]) or 'a workload of it'} fails",
        shown,
        since=since,
        needs=symptoms.names(objects, _rests(value)),
    )


def _told(
    code: str,
    value: Mapping[str, Any],
    message: str,
    shown: list[Evidence],
    *,
    since: float | None = None,
    needs: frozenset[str] = frozenset(),
) -> Symptom:
    name = name_of(value)
    return symptoms.symptom(
        code=code,
        subject=name,
        message=f"{name}: {message}",
        evidence=tuple(shown),
        next=_next(code, value),
        since=since,
        needs=needs,
    )


def _rests(value: Mapping[str, Any]) -> Iterator[str]:
    yield symptoms.controller(argocd_names.APPLICATION_CONTROLLER)
    yield f"Namespace {text(value, 'spec', 'destination', 'namespace')}"


def _object(each: Mapping[str, Any]) -> str:
    return name_of({"kind": text(each, "kind"), "metadata": each})


def _next(code: str, value: Mapping[str, Any]) -> tuple[NextCommand, ...]:
    space, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    match code:
        case "git-authentication" | "git-host-key":
            why = "whether there are credentials for it"
            return (symptoms.command(f"kubectl -n {space} get secrets -l {argocd_names.SECRET_TYPE_LABEL}", why),)
        case "git-reference":
            return (symptoms.command(f"git ls-remote {_url(value)}", "which branches and tags there are"),)
        case "git-unreachable" | "argocd-comparison":
            return (symptoms.command(f"kubectl -n {space} logs deployment/argocd-repo-server", "how it fails"),)
        case "self-heal-loop" | "apply-conflict":
            return (symptoms.command("firstlight owners --flaws --fields", "who else writes it"),)
        case "path-missing" | "build-failed":
            return (symptoms.command("firstlight render", "the same build on this computer"),)
    return (
        symptoms.command(f"argocd app get {space}/{name}", "every object, with what Argo CD says of it"),
        symptoms.kubectl("describe", value),
    )
