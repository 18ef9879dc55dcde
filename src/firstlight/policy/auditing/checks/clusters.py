"""Whether clusters can be told apart."""

from collections.abc import Iterator

from firstlight.model.cluster import Cluster
from firstlight.model.finding import Evidence
from firstlight.model.place import Place
from firstlight.policy.auditing import cilium_settings, meshes
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_IDENTITY = (("cluster", "id"), ("cluster", "secret"), ("cluster", "token"), ("machine", "token"))
"""What Talos's machines know each other by."""


def shared_ids(scene: Scene) -> Iterator[Hit]:
    """Two clusters whose Cilium has one name or one id."""
    mesh = {each.agents.cluster for each in meshes.members(scene)}
    for field in ("name", "id"):
        first: dict[str, tuple[str, Evidence]] = {}
        for cluster, component, value, place in _said(scene, field):
            # Cilium's defaults: a cluster that is in no mesh.
            if value in ("", "0", "default"):
                continue
            here = Evidence(f"{cluster}: cluster.{field} {value}", place)
            other, there = first.setdefault(value, (cluster, here))
            # Copies of one cluster, such as for tests, share the very line, and harm nobody outside of a mesh.
            if other != cluster and (there.place != place or {other, cluster} <= mesh):
                yield Hit(
                    message=f"cluster.{field} {value} of {cluster} is that of {other}, too",
                    place=place,
                    clusters=(cluster, other),
                    component=component,
                    evidence=(there, here),
                )


def _said(scene: Scene, field: str) -> Iterator[tuple[str, str, str, Place]]:
    """What each cluster is called, by the repo, or by the cluster where only that knows."""
    told: set[str] = set()
    for agents in cilium_settings.all_agents(scene):
        found = cilium_settings.said(scene, agents, "cluster", field)
        if found is not None:
            told.add(agents.cluster)
            yield agents.cluster, agents.name, str(found.value), found.place
    for cluster in scene.clusters:
        live = cilium_settings.live(scene, cluster.name, "cluster", field)
        if live and cluster.name not in told:
            yield cluster.name, "", live, Place(cluster.name)


def shared_identity(scene: Scene) -> Iterator[Hit]:
    """Two clusters whose machines have one identity: Talos takes them for members of one cluster."""
    seen: dict[tuple[tuple[str, str], str], tuple[Cluster, Place]] = {}
    found: dict[tuple[str, str], list[tuple[str, Place, Place]]] = {}
    for cluster in scene.clusters:
        for part in cluster.parts:
            for steps in _IDENTITY:
                value = part.config.text(*steps)
                # What a run fills in may differ.
                if not value or any(mark in value for mark in ("${", "{{", "<")):
                    continue
                other, there = seen.setdefault((steps, value), (cluster, part.config.place(*steps)))
                if other.name != cluster.name:
                    shared = found.setdefault((other.name, cluster.name), [])
                    shared.append((".".join(steps), there, part.config.place(*steps)))
    for (one, two), shared in found.items():
        names = tuple(dict.fromkeys(name for name, _, _ in shared))
        yield Hit(
            message=f"{one} and {two} have one {', '.join(names)}",
            place=shared[0][2],
            clusters=(one, two),
            evidence=tuple(
                dict.fromkeys(Evidence(name, at) for name, first, second in shared for at in (first, second))
            ),
            key=f"identity {one} {two}",
        )
