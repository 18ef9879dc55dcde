"""Reads OpenTofu and Terraform: machines and machine configs of the Talos provider. Nothing is executed."""

from firstlight.repo.tofu.tofu_reader import read

__all__ = ["read"]
