"""What would go wrong when the engine takes over: told before the first write, when it is cheap to change."""

from collections.abc import Iterable

from firstlight.model.cluster import Cluster
from firstlight.model.plan import Problem
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.model.work import Work
from firstlight.operate.handover import checking


def handover(
    platform: Platform, cluster: Cluster, work: Work, renditions: Iterable[Rendition], *, is_strict: bool = False
) -> list[Problem]:
    """What the repo alone tells of the handover."""
    return checking.problems(platform, cluster, work, renditions=renditions, is_strict=is_strict)
