"""Kustomizations that were only put together differently: what is built of them is the same, before and after."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from firstlight.model.change import Change, Matter
from firstlight.model.component import Side
from firstlight.model.platform import Platform
from firstlight.model.remark import Grade
from firstlight.model.rendition import Object, Rendition
from firstlight.operate.deciding.renditions import Name, Rendered
from firstlight.policy.deciding.belonging import Belonging, belonging
from firstlight.repo.kustomize import kustomization


def differing(
    changes: list[Change], rendered: Rendered, platforms: Sequence[Platform], *, taken: Mapping[str, Sequence[str]]
) -> list[Change]:
    """Changes without those of kustomizations whose components are built to the same as before.

    Args:
        changes: What differs in files.
        rendered: What was built of the components that they belong to.
        platforms: What was there, and what is.
        taken: Which files and directories each directory's kustomization takes in.
    """
    if not any(map(_is_meant, changes)) or not rendered.before:
        return changes
    before, after = _built(rendered.before), _built(rendered.after)
    same = {name for name, objects in before.items() if objects is not None and after.get(name) == objects}
    belongings = [belonging(each, taken=taken) for each in platforms]
    return [each for each in changes if not _is_meant(each) or not _is_same(each, same, belongings)]


def _is_meant(change: Change) -> bool:
    """Whether it is a kustomization itself; what anybody can read in it is there, whatever is built of it."""
    is_own = change.matter is Matter.KUSTOMIZE and posixpath.basename(change.place.path) in kustomization.NAMES
    return is_own and not change.doubt and not any(each.is_clear for each in change.fields)


def _is_same(change: Change, same: set[Name], belongings: Sequence[Belonging]) -> bool:
    paths = {change.place.path, change.old_path} - {""}
    names = {(each.cluster, each.name) for known in belongings for path in paths for each in known.of(path)}
    return bool(names) and names <= same


def _built(renditions: Iterable[Rendition]) -> Mapping[Name, dict[Side, list[Object]] | None]:
    """All objects of each component by its sides, in one order; None where they are not all of them."""
    found: dict[Name, dict[Side, list[Object]] | None] = {}
    for each in renditions:
        name = (each.cluster, each.component)
        known = found.setdefault(name, {})
        if known is None or any(remark.grade is Grade.ERROR for remark in each.remarks):
            found[name] = None
        else:
            known[each.side] = sorted(each.objects, key=lambda one: str(one.id))
    return found
