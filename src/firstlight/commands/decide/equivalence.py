"""Kustomizations that were only put together differently: what is built of them is the same, before and after."""

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.commands.decide.file_components import Belonging, belonging
from firstlight.document.within import mapping
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import flux_names
from firstlight.model.change import Change, Matter
from firstlight.model.component import ObjectId, Side
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.render.rendered_diff import Name, RenderedDiff
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import YAML, WorkTree


def differing(
    changes: list[Change], rendered: RenderedDiff, platforms: Sequence[Platform], *, taken: Mapping[str, Sequence[str]]
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
    is_own = change.matter is Matter.KUSTOMIZE and posixpath.basename(change.place.path) in kustomization_file.NAMES
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
        if known is None or any(diagnostic.severity is Severity.ERROR for diagnostic in each.diagnostics):
            found[name] = None
        else:
            known[each.side] = sorted(each.objects, key=lambda one: str(one.id))
    return found


# Whether two states of a repo describe the same platform, told by the files that differ: then it is read once.


_GROUPS = {"apps", "batch", "autoscaling", "policy", "networking.k8s.io", "gateway.networking.k8s.io"}
"""Of objects that are deployed, and from whose fields nobody reads where else something is deployed."""
_CONTENT: dict[tuple[str, str], Sequence[tuple[str, ...]]] = {
    (flux_names.HELM_GROUP, flux_names.HELM_RELEASE): [("spec", "values"), ("spec", "chart", "spec", "version")],
    (flux_names.SOURCE_GROUP, flux_names.OCI_REPOSITORY): [("spec", "ref")],
    ("external-secrets.io", "ExternalSecret"): [("spec",)],
}
"""Of objects that others are made by: what says how those are, and neither what nor where nor by whom they are."""
_PROSE = (".md",)
_MOST = 500
"""Files that are looked at; with more the base is read anyway."""
_COPIED = (b"replacements", b"vars:")
"""Words of kustomizations by which a field of one object gets into any other."""


def is_same(before: WorkTree, after: WorkTree, paths: Iterable[str]) -> bool:
    """Whether nothing differs but fields of workloads and the like; if in doubt it is not so."""
    listed = list(paths)
    return len(listed) <= _MOST and all(_is_plain(before, after, each, {}) for each in listed)


def is_alike(before: WorkTree, after: WorkTree, paths: Iterable[str]) -> bool:
    """Whether what differs may change versions and values of components, and neither which there are nor their needs.

    That is enough to tell what belongs to whom, and not enough to render what was.
    """
    listed = list(paths)
    if len(listed) > _MOST or not all(_is_plain(before, after, each, _CONTENT) for each in listed):
        return False
    kustomizations = (each for each in after.files if posixpath.basename(each) in kustomization_file.NAMES)
    return not any(word in (after.bytes(each) or b"") for each in kustomizations for word in _COPIED)


_Content = Mapping[tuple[str, str], Sequence[tuple[str, ...]]]


def _is_plain(before: WorkTree, after: WorkTree, path: str, content: _Content) -> bool:
    if path.endswith(_PROSE):
        return True
    if not path.endswith(YAML) or posixpath.basename(path) in kustomization_file.NAMES:
        return False
    if not all(each.is_file(path) and path not in each.links for each in (before, after)):
        return False
    # A patch can take an object away by a field of its own.
    if any(b"$patch" in (each.bytes(path) or b"$patch") for each in (before, after)):
        return False
    both = before.contents(path), after.contents(path)
    if any(each.diagnostics or not each.documents for each in both):
        return False
    first, then = (each.documents for each in both)
    return len(first) == len(then) and all(_is_alike(*each, content) for each in zip(first, then, strict=True))


def _is_alike(one: YamlDocument, other: YamlDocument, content: _Content) -> bool:
    values: list[Any] = [one.value, other.value]
    if not all(isinstance(each, Mapping) for each in values):
        return False
    name, *others = (ObjectId.of(each) for each in values)
    # Annotations can leave an object out, or say when it comes.
    first, then = (mapping(each, "metadata") for each in values)
    if others != [name] or first != then:
        return False
    if name.group in _GROUPS:
        return True
    ways = content.get((name.group, name.kind), ())
    # The chart of a FluxInstance says by its values where Flux begins.
    if not ways or any("instance" in mapping(each, "spec", "values") for each in values):
        return False
    bare, left = (_without(each, ways) for each in values)
    return bool(bare == left)


def _without(value: Any, ways: Iterable[tuple[str, ...]]) -> Any:
    """A value without what lies at the end of some ways."""
    for first, *rest in ways:
        if isinstance(value, Mapping) and first in value:
            kept = {key: each for key, each in value.items() if key != first}
            # That there are any values, and whether they are a mapping, is still seen.
            value = {**kept, first: _without(value[first], [tuple(rest)]) if rest else type(value[first])}
    return value
