"""What declares an owner to its engine (a Kustomization, HelmRelease or Application), as a file of the repo has it."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, text
from firstlight.model.component import Form, Origin, Stated
from firstlight.model.platform import Platform
from firstlight.ownership import resting
from firstlight.repo.work_tree import WorkTree


def stated(platform: Platform, cluster: str, origin: Origin) -> Stated | None:
    """The object that an origin is, with the way to its lines; None if no file says it as it is."""
    rest = resting.RESTS.get(origin.form)
    wanted = (rest.group if rest else "", origin.form.value, origin.namespace, origin.name)
    for component in platform.components_of(cluster):
        for one in component.origins:
            for each in one.stated:
                id, space = each.id, each.id.namespace or _home(one)
                if (id.group, id.kind, space, id.name) == wanted and each.way is not None:
                    return each
    return None


def _home(origin: Origin) -> str:
    """Where an Application puts what names no namespace."""
    return text(origin.definition, "spec", "destination", "namespace") if origin.form == Form.APPLICATION else ""


def written(tree: WorkTree, found: Stated | None) -> Mapping[str, Any] | None:
    """The object as its file has it."""
    if found is None or found.way is None:
        return None
    number, way = found.way
    document = next((each for each in tree.documents(found.place.path) if each.index == number), None)
    value = at(document.value, *way) if document is not None else None
    return value if isinstance(value, Mapping) else None
