"""Kustomizations, followed without running kustomize."""

from firstlight.repo.kustomize.accumulate import Elsewhere
from firstlight.repo.kustomize.kustomization_file import Overlay, file_of
from firstlight.repo.kustomize.kustomize_build import KustomizeBuild, build
from firstlight.repo.kustomize.object_loader import DIALECT, objects_of

__all__ = ["DIALECT", "Elsewhere", "KustomizeBuild", "Overlay", "build", "file_of", "objects_of"]
