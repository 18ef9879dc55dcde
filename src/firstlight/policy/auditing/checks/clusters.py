"""Whether clusters can be told apart."""

from collections.abc import Iterator

from firstlight.model.finding import Evidence
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene


def shared_ids(scene: Scene) -> Iterator[Hit]:
    """Two clusters whose Cilium has one name or one id."""
    for field in ("name", "id"):
        first: dict[str, tuple[str, Evidence]] = {}
        for component in scene.with_role("cni"):
            given = scene.value(component, "cluster", field)
            # 0 is Cilium's default: a cluster that is in no mesh.
            if given is None or str(given.value) in ("", "0"):
                continue
            here = Evidence(f"{component.cluster}: cluster.{field} {given.value}", given.place)
            other, there = first.setdefault(str(given.value), (component.cluster, here))
            if other != component.cluster and there.place != given.place:
                yield Hit(
                    message=f"cluster.{field} {given.value} of {component.cluster} is that of {other}, too",
                    place=given.place,
                    clusters=(component.cluster, other),
                    component=component.name,
                    evidence=(there, here),
                )
