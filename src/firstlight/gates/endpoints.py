"""Whether somebody answers for a Service."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, sequence
from firstlight.gates.parts import Part
from firstlight.model.observation import Look, View
from firstlight.model.verdict import Passed, Verdict, Waiting

_OF_SERVICE = "kubernetes.io/service-name"


def of(namespace: str, name: str) -> Part:
    """The question whether a Service has a ready endpoint."""
    look = slices(namespace, name)

    def judge(view: View) -> Verdict:
        if count(view, look):
            return Passed(f"Service {namespace}/{name} answers")
        usually = "its pods are not ready, or its selector matches none"
        return Waiting(f"Service {namespace}/{name} has no ready endpoint; usually {usually}")

    return Part((look,), judge)


def slices(namespace: str, name: str) -> Look:
    """The look at the endpoints of a Service."""
    labels = f"{_OF_SERVICE}={name}"
    return Look(api_version="discovery.k8s.io/v1", kind="EndpointSlice", namespace=namespace, labels=labels)


def count(view: View, look: Look) -> int:
    """How many endpoints are ready."""
    return sum(_is_ready(each) for found in view.all(look) for each in sequence(found, "endpoints"))


def _is_ready(endpoint: Mapping[str, Any]) -> bool:
    # "unknown" is to be taken for ready, the API says; it is left out for Services that have no pods of their own.
    ready = at(endpoint, "conditions", "ready")
    return bool(sequence(endpoint, "addresses")) and (ready is True or ready is None)
