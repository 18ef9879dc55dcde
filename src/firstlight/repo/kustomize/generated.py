"""The kustomization that Flux makes up for a directory without one."""

import posixpath

from firstlight.repo.kustomize import kustomization
from firstlight.repo.kustomize.kustomization import Kustomization
from firstlight.repo.work_tree import YAML, WorkTree

_NOT_FETCHED = {
    ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml", "cloudbuild.yaml", "codeship-services.yml",
    "codeship-steps.yml", ".goreleaser.yml", ".sops.yaml", ".flux.yaml",
}  # fmt: skip
_NOT_ENTERED = {".github", ".circleci"}
"""Names that Flux leaves out of what it fetches."""


def generate(tree: WorkTree, directory: str) -> Kustomization:
    """All YAML files below a directory; one that has a kustomization of its own is taken as a whole."""
    resources: list[str] = []
    waiting = [""]
    while waiting:
        base = waiting.pop()
        inner = []
        for name in tree.listing(posixpath.normpath(posixpath.join(directory, base))):
            path = f"{base}{name}"
            if name.endswith("/"):
                if name[:-1] in _NOT_ENTERED or tree.real(f"{directory}/{path}"[:-1]) != f"{directory}/{path}"[:-1]:
                    continue  # Flux does not fetch links
                if kustomization.file_of(tree, posixpath.normpath(posixpath.join(directory, path))):
                    resources.append(path[:-1])
                else:
                    inner.append(path)
            elif name.endswith(YAML) and name not in _NOT_FETCHED:
                resources.append(path)
        waiting += reversed(inner)
    return Kustomization(directory, {"resources": resources})
