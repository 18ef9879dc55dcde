"""Keys of a cluster that only this work tree has: whoever cleans it has lost the cluster."""

from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.clients.git.repository import locate
from firstlight.model import reference as references
from firstlight.model.cluster import Cluster
from firstlight.operate import talos_secrets


async def note(cluster: Cluster, root: Path, *, git: Path | None) -> str:
    """What to do about keys that Git does not have; empty where it has them, or there are none, or nobody can tell.

    Args:
        cluster: Whose keys.
        root: The repo.
        git: The program; without it nobody can tell.
    """
    if git is None or not talos_secrets.has_own(cluster):
        return ""
    try:
        parsed = references.parse(talos_secrets.reference_of(cluster, root))
        if not isinstance(parsed, references.Sops) or not (root / parsed.path).is_file():
            return ""
        locate(root)
        if await Git(git).knows(root, parsed.path):
            return ""
    except errors.FirstlightError:  # no work tree of Git, or one that cannot be read
        return ""
    return (
        f"commit {parsed.path}: the keys of {cluster.name}, encrypted. Git does not have the file, and who loses it "
        f"has lost the cluster: git add {parsed.path} && git commit"
    )
