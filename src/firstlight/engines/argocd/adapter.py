"""How Argo CD differs from other engines."""

from firstlight.engines.adapter import EngineAdapter, EngineKind, Guard, Rest
from firstlight.model import argocd_names
from firstlight.model.cluster import Engine

ARGOCD = EngineAdapter(
    engine=Engine.ARGOCD,
    title="Argo CD",
    kinds=(
        EngineKind(
            kind=argocd_names.APPLICATION,
            group=argocd_names.GROUP,
            version="v1alpha1",
            manager=argocd_names.FIELD_MANAGER,
            request_annotation=argocd_names.REFRESH_ANNOTATION,
            request_value="hard",
            rest=Rest(
                group=argocd_names.GROUP,
                steps=("metadata", "annotations", argocd_names.SKIP_RECONCILE_ANNOTATION),
                value="true",
                words=f'the annotation {argocd_names.SKIP_RECONCILE_ANNOTATION}: "true"',
            ),
        ),
        EngineKind(
            kind=argocd_names.APPLICATION_SET,
            group=argocd_names.GROUP,
            version="v1alpha1",
            manager="",
            request_annotation=argocd_names.APPLICATION_SET_REFRESH_ANNOTATION,
            request_value="true",
        ),
    ),
    needed_controllers=(argocd_names.APPLICATION_CONTROLLER, argocd_names.REPO_SERVER),
    part_of=argocd_names.PART_OF,
    workload_kinds=("Deployment", "StatefulSet"),
    prune_guard=Guard(argocd_names.SYNC_OPTIONS_ANNOTATION, "Prune=false"),
)
