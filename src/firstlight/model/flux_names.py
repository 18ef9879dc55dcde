"""Names of Flux and its operator: API groups, kinds, labels, annotations, controllers. Each is written only here."""

from typing import Final

# API groups.
TOOLKIT_DOMAIN: Final = "toolkit.fluxcd.io"
"""The ending of the groups of Flux's own controllers."""
KUSTOMIZE_GROUP: Final = "kustomize.toolkit.fluxcd.io"
HELM_GROUP: Final = "helm.toolkit.fluxcd.io"
SOURCE_GROUP: Final = "source.toolkit.fluxcd.io"
NOTIFICATION_GROUP: Final = "notification.toolkit.fluxcd.io"
OPERATOR_GROUP: Final = "fluxcd.controlplane.io"
SOURCE_EXTENSIONS_GROUP: Final = "source.extensions.fluxcd.io"
"""Of source-watcher."""

# API versions, as manifests have them.
KUSTOMIZE_API: Final = f"{KUSTOMIZE_GROUP}/v1"
HELM_API: Final = f"{HELM_GROUP}/v2"
SOURCE_API: Final = f"{SOURCE_GROUP}/v1"

# Kinds.
KUSTOMIZATION: Final = "Kustomization"
HELM_RELEASE: Final = "HelmRelease"
GIT_REPOSITORY: Final = "GitRepository"
OCI_REPOSITORY: Final = "OCIRepository"
HELM_REPOSITORY: Final = "HelmRepository"
HELM_CHART: Final = "HelmChart"
BUCKET: Final = "Bucket"
EXTERNAL_ARTIFACT: Final = "ExternalArtifact"
ARTIFACT_GENERATOR: Final = "ArtifactGenerator"
ALERT: Final = "Alert"
RECEIVER: Final = "Receiver"
FLUX_INSTANCE: Final = "FluxInstance"
RESOURCE_SET: Final = "ResourceSet"
INPUT_PROVIDER: Final = "ResourceSetInputProvider"

# Group and kind in one.
KUSTOMIZATION_GROUP_KIND: Final = f"{KUSTOMIZE_GROUP}/{KUSTOMIZATION}"
HELM_RELEASE_GROUP_KIND: Final = f"{HELM_GROUP}/{HELM_RELEASE}"
GIT_REPOSITORY_GROUP_KIND: Final = f"{SOURCE_GROUP}/{GIT_REPOSITORY}"
OCI_REPOSITORY_GROUP_KIND: Final = f"{SOURCE_GROUP}/{OCI_REPOSITORY}"
HELM_REPOSITORY_GROUP_KIND: Final = f"{SOURCE_GROUP}/{HELM_REPOSITORY}"
HELM_CHART_GROUP_KIND: Final = f"{SOURCE_GROUP}/{HELM_CHART}"
BUCKET_GROUP_KIND: Final = f"{SOURCE_GROUP}/{BUCKET}"
FLUX_INSTANCE_GROUP_KIND: Final = f"{OPERATOR_GROUP}/{FLUX_INSTANCE}"

# Labels that controllers put on everything that they apply.
KUSTOMIZATION_NAME_LABEL: Final = f"{KUSTOMIZE_GROUP}/name"
HELM_RELEASE_NAME_LABEL: Final = f"{HELM_GROUP}/name"
HELM_RELEASE_NAMESPACE_LABEL: Final = f"{HELM_GROUP}/namespace"
RESOURCE_SET_LABEL_PREFIX: Final = f"resourceset.{OPERATOR_GROUP}"

# Annotations by which people and Git tell controllers what to do with an object.
PRUNE_ANNOTATION: Final = f"{KUSTOMIZE_GROUP}/prune"
RECONCILE_ANNOTATION: Final = f"{KUSTOMIZE_GROUP}/reconcile"
"""With ``disabled`` kustomize-controller leaves an object alone, in Git and in the cluster."""
SSA_ANNOTATION: Final = f"{KUSTOMIZE_GROUP}/ssa"
"""Merge, IfNotPresent or Ignore: whoever writes it knows that others write the object, too."""
SUBSTITUTE_ANNOTATION: Final = f"{KUSTOMIZE_GROUP}/substitute"
DRIFT_DETECTION_ANNOTATION: Final = f"{HELM_GROUP}/driftDetection"
OPERATOR_RECONCILE_ANNOTATION: Final = f"{OPERATOR_GROUP}/reconcile"
"""With ``disabled`` the operator lets a FluxInstance or ResourceSet rest."""

# Annotations that ask for a reconciliation, named as in Flux's ``apis/meta``.
RECONCILE_REQUEST_ANNOTATION: Final = "reconcile.fluxcd.io/requestedAt"
FORCE_REQUEST_ANNOTATION: Final = "reconcile.fluxcd.io/forceAt"
RESET_REQUEST_ANNOTATION: Final = "reconcile.fluxcd.io/resetAt"

FINALIZER: Final = "finalizers.fluxcd.io"

# Controllers. A Deployment is called so, and what it applies has the same field manager.
SOURCE_CONTROLLER: Final = "source-controller"
KUSTOMIZE_CONTROLLER: Final = "kustomize-controller"
HELM_CONTROLLER: Final = "helm-controller"
NOTIFICATION_CONTROLLER: Final = "notification-controller"
SOURCE_WATCHER: Final = "source-watcher"
FLUX_OPERATOR: Final = "flux-operator"
"""Its chart, too."""

# Field managers that are not controllers.
CLI_MANAGER: Final = "flux"
"""The command, which installs Flux."""
CLIENT_SIDE_MANAGER: Final = "flux-client-side-apply"
"""The manager of the command's patches (``flux reconcile``), which Flux leaves alone on its own objects."""

# What an installation is called.
FLUX_SYSTEM: Final = "flux-system"
"""The namespace of Flux, and the name of its root Kustomization and source."""
INSTANCE_CHART: Final = "flux-instance"
PART_OF: Final = "flux"
"""The value of ``app.kubernetes.io/part-of`` on what belongs to Flux."""
