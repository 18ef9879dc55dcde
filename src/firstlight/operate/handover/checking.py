"""What would go wrong in a handover, found in the repo before anything is written."""

from collections.abc import Iterable, Sequence

from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.handover import Passing
from firstlight.model.plan import Problem
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.model.work import MigrateOwners, Work
from firstlight.operate.handover import argocd_checks, flux_checks, offering
from firstlight.plan import facts


def problems(
    platform: Platform,
    cluster: Cluster,
    work: Work,
    *,
    renditions: Iterable[Rendition],
    is_strict: bool = False,
) -> list[Problem]:
    """Everything that the repo alone tells; nothing where nothing is handed over.

    Args:
        platform: The repo.
        cluster: Which cluster.
        work: What a run of it is to do.
        renditions: What its components deploy.
        is_strict: Whether only the handover is asked for, so that what is dangerous in it stops it.
    """
    if not any(each.phase == Phase.HANDOVER for each in work.plan.steps):
        return []
    passing = passing_of(work)
    known = facts.of(platform, cluster, renditions)
    meant = {each.component for each in passing}
    found = [
        *flux_checks.problems(known),
        *flux_checks.differing(known),
        *argocd_checks.problems(known, passing, is_strict=is_strict),
        *offering.problems(known, passing),
    ]
    return [*flux_checks.second_releases(known), *(each for each in found if each.component in meant)]


def passing_of(work: Work) -> Sequence[Passing]:
    """What passes in a run."""
    return [one for each in work.tasks.values() if isinstance(each, MigrateOwners) for one in each.passing]
