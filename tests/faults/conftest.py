"""The labs, for every test of this folder."""

from tests.labs import faulty, fresh_lab, kube, lab, namespace, programs

__all__ = ["faulty", "fresh_lab", "kube", "lab", "namespace", "programs"]
