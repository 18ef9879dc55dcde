"""Kustomizations, followed without running kustomize."""

from firstlight.repo.kustomize.accumulate import Elsewhere
from firstlight.repo.kustomize.build import Build, build
from firstlight.repo.kustomize.kustomization import file_of
from firstlight.repo.kustomize.objects import DIALECT, objects_of
from firstlight.repo.kustomize.overlay import Overlay

__all__ = ["DIALECT", "Build", "Elsewhere", "Overlay", "build", "file_of", "objects_of"]
