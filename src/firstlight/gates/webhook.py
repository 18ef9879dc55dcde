"""Whether a webhook can answer: it has a CA bundle, and its Service has ready endpoints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import gate_parts, label_selector, replicas
from firstlight.gates import services as gates_services
from firstlight.gates.causes import pods as causes_pods
from firstlight.gates.causes import scheduling
from firstlight.gates.causes.refusals import WaitCause
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task

_INJECTED = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
)
_INJECTOR = WatchTarget(api_version="apps/v1", kind="Deployment", labels="app.kubernetes.io/component=cainjector")
_INJECTOR_PODS = WatchTarget(api_version="v1", kind="Pod", labels="app.kubernetes.io/component=cainjector")


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The webhook configuration of the gate."""
    if gate.object is None:
        return None
    objects = (*gate_parts.gate_objects(gate, task, ground), *gate_parts.task_objects(task))
    part = of(gate.object, ground.declared(gate.object, task), objects)
    hint = f"See: kubectl describe {gate.object.kind.lower()} {gate.object.name}"
    return gate_parts.make_question(gate, f"webhook {gate.object.name}", part, hint=hint)


def of(identity: ObjectId, declared: Mapping[str, Any], objects: Sequence[Object] = ()) -> GatePart:
    """The question about one configuration; objects are searched for its Services, to tell whose pods are not ready."""
    own = gate_parts.look_at(identity, declared)
    services = {each: gates_services.endpoint_slices(*each) for each in dict.fromkeys(_services(declared))}
    pods = {each: look for each in services if (look := _pods(each, objects)) is not None}
    is_injected = any(text(declared, "metadata", "annotations", each) for each in _INJECTED)
    injector = (_INJECTOR, _INJECTOR_PODS) if is_injected else ()
    around = (gate_parts.NODES,) if pods or injector else ()

    def judge(view: GateView) -> Verdict:
        found = view.one(own)
        if found is None:
            return conditions.absent(identity, is_served=True)
        if without := _without_bundle(found):
            return _no_bundle(without, view, is_injected=is_injected)
        for service, look in services.items():
            if not gates_services.count_ready(view, look):
                return _silent(service, view, pods.get(service))
        return Passed(f"webhook {identity.name} answers")

    return GatePart((own, *services.values(), *pods.values(), *injector, *around), judge)


def _services(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for hook in sequence(value, "webhooks"):
        service = mapping(hook, "clientConfig", "service")
        if text(service, "namespace") and text(service, "name"):
            yield text(service, "namespace"), text(service, "name")


def _pods(service: tuple[str, str], objects: Sequence[Object]) -> WatchTarget | None:
    for each in objects:
        if (each.id.kind, each.id.namespace, each.id.name) == ("Service", *service):
            labels = label_selector.written({"matchLabels": mapping(each.value, "spec", "selector")})
            return WatchTarget(api_version="v1", kind="Pod", namespace=service[0], labels=labels) if labels else None
    return None


def _without_bundle(found: Mapping[str, Any]) -> list[str]:
    """The webhooks that nobody could verify; one with a URL may have a certificate that everybody trusts."""
    return [
        text(hook, "name")
        for hook in sequence(found, "webhooks")
        if mapping(hook, "clientConfig", "service") and not at(hook, "clientConfig", "caBundle")
    ]


def _no_bundle(names: list[str], view: GateView, *, is_injected: bool) -> Waiting:
    noun = f"webhook {names[0]} has" if len(names) == 1 else f"{len(names)} webhooks ({names[0]} …) have"
    if not is_injected:
        usually = "a Job or the webhook's own pod makes it, and has not run"
        return Waiting(f"{noun} no CA bundle; usually {usually}")
    for injector in view.all(_INJECTOR):
        verdict = replicas.deployment(injector, view.all(gate_parts.NODES))
        if isinstance(verdict, Waiting):
            cause = _cause(view, _INJECTOR_PODS)
            why = f", {cause.what}" if cause else ""
            return Waiting(f"{noun} no CA bundle: cainjector {verdict.reason}{why}" + _usually(cause))
        return Waiting(f"{noun} no CA bundle; usually cainjector still writes it, or its Certificate is not ready")
    return Waiting(f"{noun} no CA bundle: cainjector, which writes it, is not there")


def _silent(service: tuple[str, str], view: GateView, pods: WatchTarget | None) -> Waiting:
    name = "/".join(service)
    cause = _cause(view, pods) if pods else None
    if cause:
        return Waiting(f"Service {name} has no ready endpoint: {cause.what}" + _usually(cause))
    usually = "its pods are not ready, or its selector matches none"
    return Waiting(f"Service {name} has no ready endpoint; usually {usually}")


def _cause(view: GateView, pods: WatchTarget) -> WaitCause | None:
    found = [
        cause
        for pod in view.all(pods)
        if (cause := scheduling.placing_cause(pod, view.all(gate_parts.NODES)) or causes_pods.pod_cause(pod, ()))
        is not None
    ]
    return min(found, key=lambda each: each.rank, default=None)


def _usually(cause: WaitCause | None) -> str:
    return f"; usually {cause.usually}" if cause and cause.usually else ""


def of_objects(objects: Sequence[Object]) -> list[GatePart]:
    """The webhook configurations among objects."""
    kinds = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    return [of(each.id, each.value, objects) for each in objects if each.id.kind in kinds]


# cert-manager's own, before cainjector came to it; afterwards clientConfig has a caBundle:
#
# apiVersion: admissionregistration.k8s.io/v1
# kind: ValidatingWebhookConfiguration
# metadata:
#   name: cert-manager-webhook
#   annotations: {cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca}
# webhooks:
# - name: webhook.cert-manager.io
#   admissionReviewVersions: [v1]
#   clientConfig:
#     service: {name: cert-manager-webhook, namespace: cert-manager, path: /validate, port: 443}
#   failurePolicy: Fail
#   timeoutSeconds: 30
