"""Whether clusters run versions that go together."""

import re
from collections.abc import Iterator

from firstlight.model.finding import Evidence, Severity
from firstlight.model.place import Place
from firstlight.policy.auditing import meshes
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_VERSION = re.compile(r"^v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?$")
Told = tuple[tuple[int, int], str, str, Place, str]
"""The minor version, as it is written, its cluster, its place and its component."""


def mesh_apart(scene: Scene) -> Iterator[Hit]:
    """Cilium of one mesh in versions that were never tried together."""
    told: list[Told] = []
    for member in meshes.members(scene):
        version = next((each.version for each in reversed(member.component.origins) if _minor(each.version)), "")
        minor = _minor(version)
        if minor:
            place = next(each.place for each in member.component.origins if each.version == version)
            told.append((minor, version, member.cluster, place, member.agents.name))
    if not told:
        return
    low, high = min(told), max(told)
    if high[0][0] == low[0][0] and high[0][1] - low[0][1] > 1:
        yield Hit(
            message=f"Cilium {low[1]} in {low[2]} and {high[1]} in {high[2]} are one mesh",
            place=low[3],
            clusters=(low[2], high[2]),
            component=low[4],
            evidence=_shown("Cilium", told),
            fix=f"Bring {low[2]} to 1.{high[0][1] - 1} at least, one minor version at a time.",
        )


def machines_apart(scene: Scene) -> Iterator[Hit]:
    """Talos or Kubernetes in several minor versions; each cluster is well by itself."""
    for what in ("talos", "kubernetes"):
        told: list[Told] = [
            (minor, getattr(each, what), each.name, each.said.get(what, each.place), "")
            for each in scene.clusters
            if (minor := _minor(getattr(each, what)))
        ]
        if told and len({each[0] for each in told}) > 1:
            low, high = min(told), max(told)
            named = "Talos" if what == "talos" else "Kubernetes"
            yield Hit(
                message=f"{named} is {low[1]} in {low[2]} and {high[1]} in {high[2]}",
                place=low[3],
                clusters=tuple(each[2] for each in told),
                evidence=_shown(named, told),
                severity=Severity.NOTE,
            )


def _minor(version: str) -> tuple[int, int] | None:
    """What is no version by itself, such as a range, is not compared."""
    match = _VERSION.match(version)
    return (int(match[1]), int(match[2])) if match else None


def _shown(what: str, told: list[Told]) -> tuple[Evidence, ...]:
    return tuple(Evidence(f"{cluster}: {what} {version}", place) for _, version, cluster, place, _ in told)
