"""The one cause that explains most of why a workload waits."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.gates.causes import of_placing, of_pods, of_refusals
from firstlight.gates.causes.cause import Cause


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What stands around a workload."""

    pods: Sequence[Mapping[str, Any]] = ()
    events: Sequence[Mapping[str, Any]] = ()
    nodes: Sequence[Mapping[str, Any]] = ()
    claims: Sequence[Mapping[str, Any]] = ()


def of(workload: Mapping[str, Any], scene: Scene) -> Cause | None:
    """Why a workload waits; None where nothing tells."""
    if refused := of_refusals.of(workload, scene.events, pods=len(scene.pods)):
        return refused
    found: list[Cause] = []
    for pod in scene.pods:
        cause = of_placing.of(pod, scene.nodes, scene.claims, events=scene.events) or of_pods.of(pod, scene.events)
        if cause:
            found.append(cause)
    # The oldest of the most telling: what came later may follow from it.
    return min(found, key=lambda each: (each.rank, each.since or 0.0), default=None)
