"""Reads OpenTofu and Terraform: machines of the Talos provider, and what is deployed. Nothing is executed."""

from firstlight.repo.tofu.tofu_components import read as components
from firstlight.repo.tofu.tofu_reader import read

__all__ = ["components", "read"]
