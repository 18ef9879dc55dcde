"""How Flux differs from other engines."""

from firstlight.engines.adapter import EngineAdapter, EngineKind, Guard, Rest
from firstlight.model import flux_names
from firstlight.model.cluster import Engine

FLUX = EngineAdapter(
    engine=Engine.FLUX,
    title="Flux",
    kinds=(
        EngineKind(
            kind=flux_names.KUSTOMIZATION,
            group=flux_names.KUSTOMIZE_GROUP,
            version="v1",
            manager=flux_names.KUSTOMIZE_CONTROLLER,
            request_annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
            rest=Rest(group=flux_names.KUSTOMIZE_GROUP, steps=("spec", "suspend"), value=True, words="suspend: true"),
        ),
        EngineKind(
            kind=flux_names.HELM_RELEASE,
            group=flux_names.HELM_GROUP,
            version="v2",
            manager=flux_names.HELM_CONTROLLER,
            request_annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
            rest=Rest(group=flux_names.HELM_GROUP, steps=("spec", "suspend"), value=True, words="suspend: true"),
        ),
        EngineKind(
            kind=flux_names.FLUX_INSTANCE,
            group=flux_names.OPERATOR_GROUP,
            version="v1",
            manager=flux_names.FLUX_OPERATOR,
            request_annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
            is_starting=False,
        ),
        EngineKind(
            kind=flux_names.RESOURCE_SET,
            group=flux_names.OPERATOR_GROUP,
            version="v1",
            manager=flux_names.FLUX_OPERATOR,
            request_annotation=flux_names.RECONCILE_REQUEST_ANNOTATION,
        ),
    ),
    needed_controllers=(flux_names.SOURCE_CONTROLLER, flux_names.KUSTOMIZE_CONTROLLER),
    part_of=flux_names.PART_OF,
    workload_kinds=("Deployment",),
    prune_guard=Guard(flux_names.PRUNE_ANNOTATION, "disabled"),
)
