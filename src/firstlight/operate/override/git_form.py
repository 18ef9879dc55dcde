"""What Git has for a cluster now, rendered here: what ``override end`` holds the changes against."""

from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform
from firstlight.operate import drift_scene
from firstlight.operate.means import Means
from firstlight.operate.override.agreeing import Git

_UNSEEN = frozenset(
    {"commit-unknown", "uncommitted", "commit-not-pushed", "branch-diverged", "branch-missing", "branch-behind"}
)
"""With these, what is rendered here is not what the engine will get."""


async def of(platform: Platform, cluster: Cluster, means: Means) -> Git:
    """Render everything, and tell whether the engine will get it.

    Raises:
        errors.FirstlightError: It cannot be rendered at all.
    """
    scene = await drift_scene.prepare(platform, cluster.name, means)
    return Git(
        wanted={each.id: each.object.value for each in scene.wanted if not each.doubt},
        revision=scene.revision,
        repository=cluster.url,
        unread=(*scene.unread, *(f"{each.id}: {each.doubt}" for each in scene.wanted if each.doubt)),
        problems=tuple(each.message for each in scene.problems if each.rule in _UNSEEN),
    )
