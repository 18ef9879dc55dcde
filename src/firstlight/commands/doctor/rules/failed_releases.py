"""Helm releases: pending, failed with no try left, without their chart, with values that do not fit."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import engine_state, error_messages, symptoms
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import mapping, sequence, text
from firstlight.gates.causes import message_codes
from firstlight.model import flux_names, helm_names
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_SAYINGS = (
    (r"another operation \(install/upgrade/rollback\) is in progress", "helm-pending"),
    (r"chart values reference|don't meet the specifications of the schema|unable to merge values", "values-error"),
    (r"is not ready: |[Ss]ource (is )?not ready|could not get Source|artifact not (found|ready)", "source-waits"),
)  # fmt: skip
_REASONS = {
    "ValuesError": "values-error",
    "SourceNotReady": "source-waits",
    "ArtifactFailed": "source-waits",
    "HelmChartNotReady": "source-waits",
}


def failing_releases(scene: ClusterObservation) -> Iterator[Symptom]:
    """HelmReleases that are not Ready by their own word."""
    brought = _brought(scene)
    for value, reason, said in engine_state.failing(scene, flux_names.HELM_RELEASE_GROUP_KIND):
        if reason == "DependencyNotReady":
            continue
        code = next((code for pattern, code in _SAYINGS if re.search(pattern, said)), "") or _REASONS.get(reason, "")
        stalled = text(conditions.condition(value, "Stalled"), "reason") in ("RetriesExceeded", "MissingRollbackTarget")
        code = code or message_codes.apply_code(said) or ("helm-exhausted" if stalled else "helm-failed")
        shown = [symptoms.of_condition(value, "Ready")]
        if stalled:
            shown.append(symptoms.of_condition(value, "Stalled"))
        space = text(value, "metadata", "namespace")
        yield symptoms.symptom(
            code=code,
            subject=name_of(value),
            message=f"{name_of(value)}: {_says(code, value, said)}",
            evidence=tuple(shown),
            next=_next(code, value),
            since=conditions.condition_since(value, "Ready"),
            names=engine_state.kinds_of(value),
            needs=symptoms.names(
                engine_state.rests_on(value),
                error_messages.needs_of_apply(said, text(value, "spec", "targetNamespace") or space),
                _values(value),
                _mine(value, brought) if code in ("helm-exhausted", "helm-failed") else (),
            ),
        )


def _brought(scene: ClusterObservation) -> dict[tuple[str, str, str], list[str]]:
    """The objects of releases, by the labels that helm-controller puts on them, and by Helm's own annotations."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for each in scene.objects:
        labels, notes = mapping(each, "metadata", "labels"), mapping(each, "metadata", "annotations")
        for by, whose, name, namespace in (
            ("flux", labels, flux_names.HELM_RELEASE_NAME_LABEL, flux_names.HELM_RELEASE_NAMESPACE_LABEL),
            ("helm", notes, helm_names.RELEASE_NAME_ANNOTATION, helm_names.RELEASE_NAMESPACE_ANNOTATION),
        ):
            if name in whose:
                key = by, str(whose.get(namespace)), str(whose[name])
                told.setdefault(key, []).append(name_of(each))
    return told


def _mine(value: Mapping[str, Any], brought: Mapping[tuple[str, str, str], list[str]]) -> Iterator[str]:
    space, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    target, release = text(value, "spec", "targetNamespace") or space, text(value, "spec", "releaseName") or name
    yield from brought.get(("flux", space, name), ())
    yield from brought.get(("helm", target, release), ())


def _values(value: Mapping[str, Any]) -> Iterator[str]:
    space = text(value, "metadata", "namespace")
    for each in sequence(value, "spec", "valuesFrom"):
        yield f"{text(each, 'kind')} {space}/{text(each, 'name')}"


def _says(code: str, value: Mapping[str, Any], said: str) -> str:
    told = conditions.said(said)
    match code:
        case "helm-exhausted":
            return f"it failed and is not tried again: {told}"
        case "source-waits":
            chart = re.search(r"HelmChart '[^']+' is not ready: (.*)", said)
            why = message_codes.REPOSITORY_MESSAGES.get(message_codes.chart_code(chart[1]), "") if chart else ""
            return f"its chart is not there{f': {why}' if why else ''}"
        case "values-error":
            return f"its values cannot be used: {told}"
        case "helm-pending":
            return "an earlier install or upgrade of its release never ended, and Helm refuses the next one"
    return told or "no reason given"


def _next(code: str, value: Mapping[str, Any]) -> tuple[NextCommand, ...]:
    space, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    target = text(value, "spec", "targetNamespace") or space
    release = text(value, "spec", "releaseName") or name
    again = symptoms.command(
        f"flux reconcile helmrelease {name} -n {space} --reset", "tries again from the first try on"
    )
    match code:
        case "helm-exhausted" | "helm-failed":
            return (
                symptoms.command(f"helm -n {target} history {release}", "what was tried, and how it ended"),
                again,
            )
        case "helm-pending":
            return (symptoms.command(f"helm -n {target} history {release}", "which revision is pending"), again)
        case "source-waits":
            chart = symptoms.command(f"flux get sources chart -n {space}", "which chart, and why it is not there")
            return (chart, symptoms.kubectl("describe", value))
    return (symptoms.kubectl("describe", value), again)


def pending_releases(scene: ClusterObservation) -> Iterator[Symptom]:
    """Releases whose newest revision is pending for long: whoever installed them was cut off."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for secret in scene.of("/Secret"):
        if text(secret, "type") != helm_names.RELEASE_SECRET_TYPE:
            continue
        key = text(secret, "metadata", "namespace"), text(secret, "metadata", "labels", "name")
        if key not in newest or _revision(secret) > _revision(newest[key]):
            newest[key] = secret
    failing = {name_of(value) for value, _, _ in engine_state.failing(scene, flux_names.HELM_RELEASE_GROUP_KIND)}
    for (space, name), secret in sorted(newest.items()):
        state, began = text(secret, "metadata", "labels", "status"), _began(secret)
        owner = _owner(space, name, scene)
        if not state.startswith("pending-") or not scene.is_over(began, times=10) or name_of(owner or {}) in failing:
            continue
        yield _pending(space, name, secret, owner=owner)


def _pending(space: str, name: str, secret: Mapping[str, Any], *, owner: Mapping[str, Any] | None) -> Symptom:
    state = text(secret, "metadata", "labels", "status")
    subject = name_of(owner) if owner else f"Helm release {space}/{name}"
    history = symptoms.command(f"helm -n {space} history {name}", "which revisions there are")
    own = text(owner, "metadata", "namespace"), text(owner, "metadata", "name")
    mend = (
        symptoms.command(
            f"flux reconcile helmrelease {own[1]} -n {own[0]} --force", "helm-controller takes it up again"
        )
        if owner
        else symptoms.command(f"helm -n {space} rollback {name}", "back to the last revision that was deployed")
    )
    return symptoms.symptom(
        code="helm-pending",
        subject=subject,
        message=f"{subject}: revision {_revision(secret)} of the release {name} is {state}, and nobody works on it: "
        "Helm refuses the next install or upgrade",
        evidence=(symptoms.of_field(secret, "metadata.labels.status", state),),
        next=(history, mend),
        since=_began(secret),
        needs=symptoms.names(engine_state.rests_on(owner) if owner else ()),
    )


def _revision(secret: Mapping[str, Any]) -> int:
    written = text(secret, "metadata", "labels", "version")
    return int(written) if written.isdecimal() else 0


def _began(secret: Mapping[str, Any]) -> float | None:
    written = text(secret, "metadata", "labels", "modifiedAt") or text(secret, "metadata", "labels", "createdAt")
    return float(written) if written.isdecimal() else conditions.created(secret)


def _owner(space: str, name: str, scene: ClusterObservation) -> Mapping[str, Any] | None:
    for each in scene.of(flux_names.HELM_RELEASE_GROUP_KIND):
        own = text(each, "metadata", "namespace")
        target, release = text(each, "spec", "targetNamespace"), text(each, "spec", "releaseName")
        storage = text(each, "spec", "storageNamespace") or own
        default = f"{target}-{text(each, 'metadata', 'name')}" if target else text(each, "metadata", "name")
        if storage == space and (release or default) == name:
            return each
    return None
