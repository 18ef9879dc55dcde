"""Bootstrap's half of what Git owns, held against Git's: whether the next bootstrap begins with the same.

What bootstrap renders from the files of Git always does. A manifest in a machine config of the repo has to be
rendered anew, or a cluster that is rebuilt begins with the old images, and ``talosctl upgrade-k8s`` goes back to them.
"""

from collections.abc import Sequence

from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.up.up import PreparedRun
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import World
from firstlight.model.boundary import Boundary, BoundaryStanding
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase, Side
from firstlight.model.source import Embedded
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.plan import boundary

_FEW = 3


def stage(cluster: Cluster, names: Sequence[str], preparing: PreparedBootstrap) -> WalkStage:
    """A stage that writes nothing, and fails where the repo's machine config has other images than Git.

    Args:
        cluster: The cluster.
        names: Components that bootstrap began with and Git owns.
        preparing: Renders them.
    """

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        prepared = await preparing.get(world)
        components = [each for each in prepared.platform.components_of(cluster.name) if each.name in names]
        found = [one for each in components if (one := of(prepared, each)) is not None]
        stale = [each for each in found if is_stale(each) and _is_embedded(components, each.component)]
        verdict: Verdict = Passed("; ".join(map(told, found)) or "bootstrap begins with Git's own files")
        hint = ""
        if stale:
            verdict = Failed("; ".join(map(told, stale)))
            hint = f"{_again(stale, cluster)}; commit that file with the change, and start again"
        on_verdict(verdict)
        return verdict, hint

    return WalkStage(
        id=f"{cluster.name}:boundary", name="both halves say the same", what=", ".join(names), phase=Phase.INLINE,
        wait=wait,
    )  # fmt: skip


def of(prepared: PreparedRun, component: Component) -> Boundary | None:
    """Both renditions of a component, compared; None where it has one only."""
    sides = {each.side: each for each in prepared.renditions if each.component == component.name}
    if Side.BOOTSTRAP not in sides or Side.GITOPS not in sides:
        return None
    return boundary.of(prepared.cluster, component, sides[Side.BOOTSTRAP], sides[Side.GITOPS])


def is_stale(found: Boundary) -> bool:
    """Whether bootstrap's half has other images."""
    return bool(_images(found))


def told(found: Boundary) -> str:
    """What differs, in a line."""
    if found.diagnostics:
        return f"{found.component} was not compared: {found.diagnostics[0].message}"
    if images := _images(found):
        return f"bootstrap's half of {found.component} has other images: {', '.join(images[:_FEW])}"
    different = sum(each.standing != BoundaryStanding.EQUAL for each in found.objects)
    count = "1 object differs" if different == 1 else f"{different} objects differ"
    return f"{found.component}: {f'{count}, not in its images' if different else 'equal'}"


def _images(found: Boundary) -> list[str]:
    differences = [one for each in found.objects for one in each.differences if one.path[-1:] == ("image",)]
    return list(dict.fromkeys(each.words for each in differences))


def _is_embedded(components: Sequence[Component], name: str) -> bool:
    return any(
        isinstance(origin.source, Embedded) for each in components if each.name == name for origin in each.origins
    )


def _again(stale: Sequence[Boundary], cluster: Cluster) -> str:
    return " && ".join(f"firstlight render {each.component} --cluster {cluster.name} --inline" for each in stale)
