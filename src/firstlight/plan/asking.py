"""Which gates a component's step has: what must be asked of the world before anything else may build on it."""

from collections.abc import Iterator

from firstlight.model.component import Component, Form, ObjectId, Origin, Phase, Side
from firstlight.model.plan import Gate, Subject
from firstlight.plan import facts, pods
from firstlight.plan.ground import Ground

_WEBHOOKS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}
_STORES = {"SecretStore", "ClusterSecretStore"}
_ROLES = {"cni": (Subject.CNI, Subject.NODES), "dns": (Subject.DNS,), "certificates": (Subject.CERTIFICATES,)}
_GROUPS = {
    Form.KUSTOMIZATION: ("kustomize.toolkit.fluxcd.io", "Kustomization"),
    Form.HELM_RELEASE: ("helm.toolkit.fluxcd.io", "HelmRelease"),
    Form.FLUX_INSTANCE: ("fluxcd.controlplane.io", "FluxInstance"),
    Form.APPLICATION: ("argoproj.io", "Application"),
}


def of_bootstrap(known: Ground, component: Component) -> tuple[Gate, ...]:
    """The gates of what bootstrap installs: those of its role, those of its objects, then its own."""
    return (*dict.fromkeys(_of_bootstrap(known, component)), *_own(component))


def _of_bootstrap(known: Ground, component: Component) -> Iterator[Gate]:
    if component.phase == Phase.CRDS:
        yield Gate(Subject.CRDS, component.name)
        return
    if component in known.engines:
        yield Gate(Subject.ENGINE, component.name)
    for subject in _ROLES.get(component.role, ()):
        yield Gate(subject, component.name)
    rendition = known.facts.rendition(component, Side.BOOTSTRAP)
    if rendition is None:
        if component.role != "cni" and known.facts.runs_pods(component) is not False:
            yield Gate(Subject.WORKLOAD, component.name)
        return
    for item in rendition.objects:
        if pods.runs_at_start(item):
            yield Gate(Subject.WORKLOAD, component.name, item.id)
        elif item.id.kind in _WEBHOOKS:
            yield Gate(Subject.WEBHOOK, component.name, item.id)
        elif item.id.kind in _STORES:
            yield Gate(Subject.STORE, component.name, item.id)
        elif item.is_crd and not known.crds_of(component):
            yield Gate(Subject.CRDS, component.name)


def of_gitops(component: Component) -> tuple[Gate, ...]:
    """The gates of what the engine brings: its own word for each object that declares the component.

    What bootstrap installs has been asked its own gates then.
    """
    reconciled = [
        Gate(Subject.RECONCILED, component.name, declaring)
        for origin in facts.origins(component, Side.GITOPS)
        if (declaring := declared_by(origin))
    ]
    return (*reconciled, *(() if facts.in_bootstrap(component) else _own(component)))


def _own(component: Component) -> Iterator[Gate]:
    for number in range(len(component.gates)):
        yield Gate(Subject.OWN, component.name, number=number)


def declared_by(origin: Origin) -> ObjectId | None:
    """The object that declares an origin to the engine."""
    if (found := _GROUPS.get(origin.form)) is None:
        return None
    group, kind = found
    return ObjectId(group, kind, origin.namespace, origin.name)
