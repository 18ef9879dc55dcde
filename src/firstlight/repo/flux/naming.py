"""What a cluster is called: by its directory, unless that could be anybody's."""

from collections.abc import Collection, Mapping

_GENERIC = {
    "cluster", "clusters", "flux", "kubernetes", "k8s", "kube", "flux-system", "main", "config", "gitops", "deploy",
    "deployment", "manifests", "fluxcd", "root", "base", "default", "k3s", "talos", "infrastructure", "bootstrap",
    "repo",
}  # fmt: skip
_WEAK = {"apps", "infra", "applications", "platform"}
"""Names of clusters below ``clusters/``, and of nearly everything elsewhere."""
_SETTINGS = ("CLUSTER_NAME", "CLUSTER", "cluster_name", "cluster")


def name(path: str, settings: Mapping[str, str], *, repo: str, taken: Collection[str]) -> str:
    """A name for a cluster.

    Args:
        path: The directory that its tree begins at.
        settings: Its variables.
        repo: What the repo's own directory is called.
        taken: Names of other clusters.
    """
    parts = [] if path == "." else path.split("/")
    candidates = [
        part
        for number, part in reversed([*enumerate(parts)])
        if part.lower() not in _GENERIC and (part not in _WEAK or (number and parts[number - 1].startswith("cluster")))
    ]
    said = [settings[each] for each in _SETTINGS if settings.get(each) and "$" not in settings[each]]
    first = candidates[:1] if parts and candidates and candidates[0] == parts[-1] else []
    for found in (*first, *said, *candidates, repo):
        if found not in taken:
            return found
    return "-".join([*parts, repo]) if "-".join([*parts, repo]) not in taken else f"{repo}-{len(taken) + 1}"
