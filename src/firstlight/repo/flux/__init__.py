"""Flux's objects in a repo, followed as Flux would follow them."""

from firstlight.repo.flux.flux_bootstrap import FluxRoot
from firstlight.repo.flux.flux_reader import read

__all__ = ["FluxRoot", "read"]
