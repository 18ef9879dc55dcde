"""The reader of Argo CD's Applications, ApplicationSets and AppProjects."""

from firstlight.repo.argocd.argocd_reader import of_manifests, read

__all__ = ["of_manifests", "read"]
