"""Flux's objects in a repo, followed as Flux would follow them."""

from firstlight.repo.flux.reading import read
from firstlight.repo.flux.start import Root

__all__ = ["Root", "read"]
