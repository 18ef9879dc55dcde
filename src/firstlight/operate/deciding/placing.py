"""Where what is rendered stands: in the file that declares it, if that differs too."""

import dataclasses
from collections.abc import Iterable

from firstlight.model.change import Change
from firstlight.model.place import Place


def placed(rendered: Iterable[Change], changes: Iterable[Change]) -> tuple[Change, ...]:
    """What is rendered, each at the file in which it changes; else where the component is that brings it.

    A root brings what declares other components: without this, a new application would stand where the engine is.

    Args:
        rendered: What changes in the cluster.
        changes: What changes in files.
    """
    places: dict[tuple[str, str, str], dict[str, Place]] = {}
    for each in changes:
        if (found := each.object) is not None:
            places.setdefault((found.group, found.kind, found.name), {})[found.namespace] = each.place
    return tuple(_at(each, places) for each in rendered)


def _at(change: Change, places: dict[tuple[str, str, str], dict[str, Place]]) -> Change:
    found = change.object
    if found is None:
        return change
    known = places.get((found.group, found.kind, found.name), {})
    # A kustomization may give it its namespace.
    place = known.get(found.namespace) or known.get("")
    return dataclasses.replace(change, place=place) if place is not None else change
