"""Helmfiles: releases with their charts, values, needs and hooks, for each environment. helmfile itself is not run."""

from firstlight.repo.helmfile.helmfile_reader import read

__all__ = ["read"]
