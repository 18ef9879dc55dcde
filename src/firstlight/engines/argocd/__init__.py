"""Argo CD: what firstlight must know of it besides its names."""
