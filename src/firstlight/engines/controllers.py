"""The controllers without which an engine does nothing."""

from firstlight.model import argocd_names, flux_names
from firstlight.model.cluster import Engine

NEEDED_CONTROLLERS = {
    Engine.FLUX: (flux_names.SOURCE_CONTROLLER, flux_names.KUSTOMIZE_CONTROLLER),
    Engine.ARGOCD: (argocd_names.APPLICATION_CONTROLLER, argocd_names.REPO_SERVER),
}
"""Without these an engine brings nothing of Git into the cluster."""
