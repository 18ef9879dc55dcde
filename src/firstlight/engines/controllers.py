"""The controllers without which an engine does nothing."""

from firstlight.model.cluster import Engine

NEEDED_CONTROLLERS = {
    Engine.FLUX: ("source-controller", "kustomize-controller"),
    Engine.ARGOCD: ("argocd-application-controller", "argocd-repo-server"),
}
"""Without these an engine brings nothing of Git into the cluster."""
