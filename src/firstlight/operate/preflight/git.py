"""Whether the engine will find in Git what bootstrap renders here."""

from firstlight.model.cluster import Cluster
from firstlight.model.plan import Problem
from firstlight.model.platform import Platform
from firstlight.operate import git_state
from firstlight.operate.means import Means


async def git(platform: Platform, cluster: Cluster, means: Means) -> tuple[str, list[Problem]]:
    """The commit that is rendered, and what is wrong with it; a rehearsal has its own."""
    if means.revision or means.git is None:
        return means.revision, []
    found = await git_state.check(platform.root, cluster, means.git)
    return found.commit, [*found.problems]
