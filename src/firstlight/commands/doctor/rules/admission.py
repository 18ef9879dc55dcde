"""Webhooks and aggregated APIs that nobody answers for, so that nothing can be written; CRDs that are not served."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.doctor import symptoms, workload_groups
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import crds, label_selector
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_KINDS = (
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
)
_INJECTED = "cert-manager.io/inject-ca-from"


def webhooks(scene: ClusterObservation) -> Iterator[Symptom]:
    """Webhook configurations that refuse everything: without a CA bundle, or without anybody behind their Service."""
    for value in scene.of(*_KINDS):
        if conditions.is_going(value) or not scene.is_over(conditions.created(value)):
            continue
        strict = [
            mapping(each)
            for each in sequence(value, "webhooks")
            if text(each, "failurePolicy") != "Ignore" and mapping(each, "clientConfig", "service")
        ]
        bare = [each for each in strict if not at(each, "clientConfig", "caBundle")]
        if bare:
            yield _no_bundle(value, bare)
            continue
        for service in sorted({_service(each) for each in strict}):
            mine = [each for each in strict if _service(each) == service]
            if workload_groups.endpoints(scene, *service) == 0:
                yield _silent(value, mine, service, scene)


def _service(hook: Mapping[str, Any]) -> tuple[str, str]:
    return text(hook, "clientConfig", "service", "namespace"), text(hook, "clientConfig", "service", "name")


def _names(hooks: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    return frozenset(f"webhook {text(each, 'name')}" for each in hooks)


def _guarded(hooks: Sequence[Mapping[str, Any]]) -> str:
    kinds = {str(kind) for hook in hooks for rule in sequence(hook, "rules") for kind in sequence(rule, "resources")}
    listed = sorted(kinds)
    return ", ".join(listed[:3]) + (" …" if len(listed) > 3 else "") if listed else "what it guards"


def _no_bundle(value: Mapping[str, Any], bare: Sequence[Mapping[str, Any]]) -> Symptom:
    notes = mapping(value, "metadata", "annotations")
    source = str(notes.get(_INJECTED) or "")
    from_secret = str(notes.get(f"{_INJECTED}-secret") or "")
    is_injected = bool(source or from_secret or notes.get("cert-manager.io/inject-apiserver-ca"))
    who = "cert-manager's cainjector writes it" if is_injected else "a Job or the webhook's own pod writes it"
    name = text(bare[0], "name")
    return symptoms.symptom(
        code="webhook-no-ca",
        subject=name_of(value),
        message=f"the webhook {name} has no CA bundle, so that the server trusts nobody behind it and refuses "
        f"{_guarded(bare)}: {who}, and has not",
        evidence=(symptoms.of_field(value, "webhooks.clientConfig.caBundle", f"is empty in {name}"),),
        next=(
            symptoms.kubectl("get -o yaml", value, "whether something has filled it since"),
            *(
                [symptoms.command("kubectl -n cert-manager logs deployment/cert-manager-cainjector", "why it does not")]
                if is_injected
                else []
            ),
        ),
        since=conditions.created(value),
        names=_names(bare),
        needs=symptoms.names(
            symptoms.controller("cert-manager-cainjector") if is_injected else "",
            f"Certificate {source}" if source else "",
            f"Secret {from_secret}" if from_secret else "",
            (f"Service {'/'.join(_service(each))}" for each in bare if not is_injected),
        ),
    )


def _silent(
    value: Mapping[str, Any], hooks: Sequence[Mapping[str, Any]], service: tuple[str, str], scene: ClusterObservation
) -> Symptom:
    place = "/".join(service)
    behind = _behind(service, scene)
    own = next((each for each in hooks if behind and not behind.pods and _guards(each, behind, scene)), None)
    is_there = scene.one("/Service", service[1], namespace=service[0]) is not None
    why = f"Service {place} {'has no ready endpoint' if is_there else 'does not exist'}"
    name = text(hooks[0], "name")
    message = f"nobody answers for the webhook {name}, so that the server refuses {_guarded(hooks)}: {why}"
    if own is not None and behind is not None:
        message = (
            f"the webhook {text(own, 'name')} blocks its own repair: {why}, and the pods of {behind.subject}, "
            "which would answer, are refused by the webhook itself"
        )
    look = symptoms.command(f"kubectl -n {service[0]} get pods", "why none is ready")
    return symptoms.symptom(
        code="webhook-blocks-itself" if own is not None else "webhook-silent",
        subject=name_of(value),
        message=message,
        evidence=(
            symptoms.evidence(f"Service {place}, EndpointSlices", "no endpoint is ready"),
            symptoms.of_field(value, "webhooks.failurePolicy", text(hooks[0], "failurePolicy") or "Fail"),
        ),
        next=_mend(value, own, scene) if own is not None else (look,),
        since=conditions.created(behind.value) if behind is not None else conditions.created(value),
        names=_names(hooks),
        needs=frozenset() if own is not None else frozenset({f"Service {place}"}),
    )


def _mend(value: Mapping[str, Any], hook: Mapping[str, Any], scene: ClusterObservation) -> tuple[NextCommand, ...]:
    """An override, since Git puts the patch back: begun, applied, and ended once its pods run."""
    kind, name = text(value, "kind"), text(value, "metadata", "name")
    place = [text(each, "name") for each in sequence(value, "webhooks")].index(text(hook, "name"))
    patch = f'[{{"op": "replace", "path": "/webhooks/{place}/failurePolicy", "value": "Ignore"}}]'
    begin = (
        f"firstlight override begin {scene.cluster.name} --emergency outage --for 1h --object {kind}/{name} "
        f"--reason 'the webhook {text(hook, 'name')} blocks its own repair'"
    )
    return (
        symptoms.command(begin, "Git would put back what comes next"),
        symptoms.command(f"kubectl patch {kind.lower()} {name} --type=json -p '{patch}'", "lets its pods start"),
    )


def _behind(service: tuple[str, str], scene: ClusterObservation) -> workload_groups.PodGroup | None:
    value = scene.one("/Service", service[1], namespace=service[0])
    selector = mapping(value, "spec", "selector")
    for group in workload_groups.pod_groups(scene):
        is_near = group.workload is not None and group.namespace == service[0]
        if is_near and label_selector.matches({"matchLabels": selector}, group.labels):
            return group
    return None


def _guards(hook: Mapping[str, Any], group: workload_groups.PodGroup, scene: ClusterObservation) -> bool:
    """Whether a webhook is asked when the pods behind it are made."""
    is_about = any(
        {"*", ""} & set(sequence(rule, "apiGroups"))
        and {"*", "CREATE"} & set(sequence(rule, "operations"))
        and {"*", "*/*", "pods", "pods/*"} & set(sequence(rule, "resources"))
        for rule in sequence(hook, "rules")
    )
    labels = dict(mapping(scene.one("/Namespace", group.namespace), "metadata", "labels"))
    labels.setdefault("kubernetes.io/metadata.name", group.namespace)
    return is_about and _selects(hook, "namespaceSelector", labels) and _selects(hook, "objectSelector", group.labels)


def _selects(hook: Mapping[str, Any], field: str, labels: Mapping[str, Any]) -> bool:
    selector = mapping(hook, field)
    is_empty = not mapping(selector, "matchLabels") and not sequence(selector, "matchExpressions")
    return is_empty or label_selector.matches(selector, labels)


def aggregated_apis(scene: ClusterObservation) -> Iterator[Symptom]:
    """Aggregated APIs that do not answer: discovery fails for them, and no namespace can be deleted meanwhile."""
    for value in scene.of("apiregistration.k8s.io/APIService"):
        service = mapping(value, "spec", "service")
        if (
            not service
            or not conditions.is_false(value, "Available")
            or not scene.is_over(conditions.condition_since(value, "Available"))
        ):
            continue
        place = f"{text(service, 'namespace')}/{text(service, 'name')}"
        name = text(value, "metadata", "name")
        said = conditions.said(text(conditions.condition(value, "Available"), "message"))
        yield symptoms.symptom(
            code="apiservice-down",
            subject=name_of(value),
            message=f"the API {name} does not answer: {said}; until it does, no namespace can be deleted",
            evidence=(symptoms.of_condition(value, "Available"),),
            next=(
                symptoms.command(
                    f"kubectl -n {text(service, 'namespace')} get pods", f"whether somebody answers for {place}"
                ),
            ),
            since=conditions.condition_since(value, "Available"),
            needs=symptoms.names(f"Service {place}", f"Namespace {text(service, 'namespace')}"),
        )


def definitions(scene: ClusterObservation) -> Iterator[Symptom]:
    """CRDs that the server does not serve."""
    for value in scene.of("apiextensions.k8s.io/CustomResourceDefinition"):
        if crds.is_installing(value):
            if crds.is_stuck_crd(value, scene.now):
                yield _stuck(value, scene.now)
            continue
        bad = next((each for each in ("NamesAccepted", "Established") if conditions.is_false(value, each)), "")
        if not bad or conditions.is_going(value) or not scene.is_over(conditions.condition_since(value, bad)):
            continue
        kind = text(value, "spec", "names", "kind")
        said = conditions.said(text(conditions.condition(value, bad), "message"))
        yield symptoms.symptom(
            code="crd-not-served",
            subject=name_of(value),
            message=f"the server does not serve {kind}: {said or bad}",
            evidence=(symptoms.of_condition(value, bad),),
            next=(symptoms.kubectl("describe", value),),
            since=conditions.condition_since(value, bad),
            names=frozenset({f"kind {kind}"}),
        )


def _stuck(value: Mapping[str, Any], now: float) -> Symptom:
    kind, name = text(value, "spec", "names", "kind"), text(value, "metadata", "name")
    patch = json.dumps(crds.wake_patch(value, now))
    return symptoms.symptom(
        code="crd-stuck",
        subject=name_of(value),
        message=f"the server does not serve {kind}: {crds.WHY_STUCK}, and comes back to it only after five minutes",
        evidence=(symptoms.of_condition(value, "Established"),),
        next=(
            symptoms.command(
                f"kubectl patch crd {name} --subresource=status --type=json -p '{patch}'",
                "wakes it; the API server overwrites this message when it establishes the CRD",
            ),
            symptoms.command("firstlight up", "wakes it too, if a step waits longer than some seconds"),
        ),
        since=conditions.condition_since(value, "Established"),
        names=frozenset({f"kind {kind}"}),
    )
