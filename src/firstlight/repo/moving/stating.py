"""What declares an owner to its engine (a Kustomization, HelmRelease or Application), as a file of the repo has it."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at
from firstlight.model.component import Form, Origin, Stated
from firstlight.model.platform import Platform
from firstlight.repo.work_tree import WorkTree

GROUPS = {
    Form.KUSTOMIZATION: "kustomize.toolkit.fluxcd.io",
    Form.HELM_RELEASE: "helm.toolkit.fluxcd.io",
    Form.APPLICATION: "argoproj.io",
}
"""The API groups of those that are objects."""


def stated(platform: Platform, cluster: str, origin: Origin) -> Stated | None:
    """The object that an origin is, with the way to its lines; None if no file says it as it is."""
    wanted = (GROUPS.get(origin.form), origin.form.value, origin.namespace, origin.name)
    for component in platform.components_of(cluster):
        for one in component.origins:
            for each in one.stated:
                if (each.id.group, each.id.kind, each.id.namespace, each.id.name) == wanted and each.way is not None:
                    return each
    return None


def written(tree: WorkTree, found: Stated | None) -> Mapping[str, Any] | None:
    """The object as its file has it."""
    if found is None or found.way is None:
        return None
    number, way = found.way
    document = next((each for each in tree.documents(found.place.path) if each.index == number), None)
    value = at(document.value, *way) if document is not None else None
    return value if isinstance(value, Mapping) else None
