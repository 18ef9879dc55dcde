"""What a rehearsed Argo CD would execute on this computer: nothing, unless the user has allowed it by content.

A cluster has a pod around such things; the lab has the user's own account. So what executes is asked for like a hook,
and the actors of the lab are confined unless all of it was allowed.
"""

from firstlight import errors
from firstlight.execute import command_digest
from firstlight.execute.allowed import Allowed
from firstlight.model import repo_command
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform
from firstlight.model.repo_command import RepoCommand
from firstlight.operate.rehearsal import mapping
from firstlight.repo.argocd import executing
from firstlight.repo.work_tree import WorkTree


def wanted(platform: Platform, cluster: Cluster) -> tuple[RepoCommand, ...]:
    """The settings of Argo CD that need the user's word; Flux executes nothing of a repo."""
    return executing.wanted(WorkTree(platform.root)) if "argocd" in mapping.actors(platform, cluster) else ()


def is_allowed(platform: Platform, cluster: Cluster, allowed: Allowed) -> bool:
    """Whether there is something to execute, and it may be executed.

    Raises:
        errors.Refused: There is, and it may not.
    """
    found = wanted(platform, cluster)
    for each in found:
        digest = command_digest.digest(each.words, platform.root)
        if not allowed.has(digest, platform.root):
            raise errors.Refused(
                f"{each.place}: {repo_command.shown(each.words[1:])} lets Argo CD execute programs on this computer, "
                f"and that was not allowed ({digest.value})",
                hint="Look at what the repo would execute, then allow it: --allow-commands. Or rehearse without it.",
            )
    return bool(found)
