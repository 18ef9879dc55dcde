"""Engine objects as rules see them: whether one fails by its own word, and what it rests on."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.observe.cluster.observation import ClusterObservation, kind_of, name_of
from firstlight.plan import well_known

SOURCES = tuple(
    f"{flux_names.SOURCE_GROUP}/{kind}"
    for kind in (
        flux_names.GIT_REPOSITORY,
        flux_names.OCI_REPOSITORY,
        flux_names.HELM_REPOSITORY,
        flux_names.BUCKET,
        flux_names.HELM_CHART,
    )
)
CONTROLLERS = {
    flux_names.KUSTOMIZATION_GROUP_KIND: flux_names.KUSTOMIZE_CONTROLLER,
    flux_names.HELM_RELEASE_GROUP_KIND: flux_names.HELM_CONTROLLER,
    argocd_names.APPLICATION_GROUP_KIND: argocd_names.APPLICATION_CONTROLLER,
    **dict.fromkeys(SOURCES, flux_names.SOURCE_CONTROLLER),
}


def is_resting(value: Mapping[str, Any]) -> bool:
    """Whether nobody reconciles it, since somebody wants it so."""
    skipped = text(value, "metadata", "annotations", argocd_names.SKIP_RECONCILE_ANNOTATION) == "true"
    return at(value, "spec", "suspend") is True or skipped


def failing(scene: ClusterObservation, *kinds: str) -> Iterator[tuple[Mapping[str, Any], str, str]]:
    """Objects of Flux that are not Ready by their own word, with its reason and message."""
    for value in scene.of(*kinds):
        ready = conditions.condition(value, "Ready")
        if is_resting(value) or conditions.is_going(value) or text(ready, "status") != "False":
            continue
        observed = number(ready, "observedGeneration") or number(value, "status", "observedGeneration")
        if observed and observed < number(value, "metadata", "generation"):
            continue  # it speaks of what was there before the last change
        yield value, text(ready, "reason"), text(ready, "message")


def silent(scene: ClusterObservation, *kinds: str) -> Iterator[Mapping[str, Any]]:
    """Objects that their controller has not come to for long."""
    for value in scene.of(*kinds):
        has_word = sequence(value, "status", "conditions") or text(value, "status", "sync", "status")
        is_alive = not is_resting(value) and not conditions.is_going(value)
        if is_alive and not has_word and scene.is_over(conditions.created(value), times=2):
            yield value


def reference(value: Mapping[str, Any], *path: str) -> str:
    """What a sourceRef or chartRef names."""
    ref = mapping(value, *path)
    if not text(ref, "name"):
        return ""
    space = text(ref, "namespace") or text(value, "metadata", "namespace")
    return f"{text(ref, 'kind')} {space}/{text(ref, 'name')}"


def sources(value: Mapping[str, Any]) -> frozenset[str]:
    """The sources that an object of Flux rests on."""
    space, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    chart = f"HelmChart {text(value, 'spec', 'chart', 'spec', 'sourceRef', 'namespace') or space}/{space}-{name}"
    return symptoms.names(
        reference(value, "spec", "sourceRef"),
        reference(value, "spec", "chartRef"),
        reference(value, "spec", "chart", "spec", "sourceRef"),
        chart if at(value, "spec", "chart") else "",
    )


def depends(value: Mapping[str, Any]) -> tuple[str, ...]:
    """What an object of Flux depends on, of its own kind."""
    space = text(value, "metadata", "namespace")
    return tuple(
        f"{text(value, 'kind')} {text(each, 'namespace') or space}/{text(each, 'name')}"
        for each in sequence(value, "spec", "dependsOn")
        if text(each, "name")
    )


def kinds_of(value: Mapping[str, Any]) -> frozenset[str]:
    """The groups of kinds that a HelmRelease brings, where its chart is well known."""
    chart = text(value, "spec", "chart", "spec", "chart") or text(value, "spec", "chartRef", "name")
    known = well_known.chart_crds_of(chart)
    return frozenset(f"kinds of {group}" for group in known.groups) if known else frozenset()


def rests_on(value: Mapping[str, Any]) -> frozenset[str]:
    """All that an object of an engine needs to go on."""
    name = CONTROLLERS.get(kind_of(value), "")
    return symptoms.names(
        sources(value),
        depends(value),
        symptoms.controller(name) if name else "",
        f"Namespace {text(value, 'metadata', 'namespace')}",
    )


def inventory(value: Mapping[str, Any]) -> Iterator[str]:
    """The objects that a Kustomization has applied, as symptoms name them."""
    for each in sequence(value, "status", "inventory", "entries"):
        parts = text(each, "id").split("_")
        if len(parts) == 4:
            space, name, _, kind = parts
            yield name_of({"kind": kind, "metadata": {"namespace": space, "name": name}})


def written(value: Mapping[str, Any], field: str) -> tuple[str, float | None]:
    """Who wrote a field of the spec, and when."""
    for each in sequence(value, "metadata", "managedFields"):
        if f"f:{field}" in mapping(each, "fieldsV1", "f:spec"):
            return text(each, "manager"), conditions.moment(text(each, "time"))
    return "", None
