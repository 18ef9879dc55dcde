"""Cilium, by way of its own program: ``await Cilium(path).connectivity_test(namespace="probe")``."""

from firstlight.clients.cilium.cilium import Cilium, Connectivity

__all__ = ["Cilium", "Connectivity"]
