"""Whether an edit does what it is for and nothing else in any cluster: the repo rendered with it, and compared."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight.document import within
from firstlight.model.component import Component, ObjectId, Origin, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource
from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.plan import cluster_facts
from firstlight.render import private_directory
from firstlight.render.helm_template import ChartRelease
from firstlight.render.rendered_diff import Name, Opener
from firstlight.repo import platform_reader
from firstlight.repo.field_edits import field_steps
from firstlight.repo.field_edits.edit_candidates import WantedField
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

_ADDED = (("metadata", "labels"), ("metadata", "annotations"))
"""What kustomizations put on all of their objects, a new one too."""


@dataclasses.dataclass(frozen=True)
class EditVerdict:
    """What came of an edit."""

    is_fulfilled: bool
    strays: tuple[str, ...] = ()
    """What else would be another: ``Deployment shop/web of apps``."""
    unknown: tuple[str, ...] = ()
    """What cannot be rendered, so that nothing is known of it."""

    @property
    def says(self) -> str:
        """Why an edit is not taken; empty if nothing speaks against it."""
        if self.strays:
            return f"would also change {_some(self.strays)}"
        return f"cannot be proven, since of {_some(self.unknown)} nothing is known" if self.unknown else ""


_TOLD = 3


def _some(names: Sequence[str]) -> str:
    more = len(names) - _TOLD
    return ", ".join(names[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def judge(
    before: RenderedRepo, after: RenderedRepo, wish: WantedField, *, wishes: Sequence[WantedField], cluster: str,
    names: Collection[Name] | None,
) -> EditVerdict:  # fmt: skip
    """Hold two states against each other.

    Args:
        before: The repo as it was.
        after: As it would be.
        wish: What the edit is for.
        wishes: All that the cluster has and Git has not: an edit may bring about several.
        cluster: Where they are wished for.
        names: The components that were rendered; all if it is not given.
    """
    allowed = _Allowed(before.platform, after.platform, wishes, cluster)
    strays: dict[str, None] = {}
    for key in dict.fromkeys((*before.objects, *after.objects)):
        component = after.components.get(key) or before.components[key]
        if names is not None and (key[0], component) not in names:
            continue
        old, new = before.objects.get(key, ABSENT), after.objects.get(key, ABSENT)
        if is_same(old, new):
            continue
        if key[0] != cluster or not (_is_wished(key[2], old, new, wishes) or allowed.has(key[2], component)):
            strays[f"{key[2]} of {key[0]}"] = None
    unknown = [
        f"{name[1]} of {name[0]}{why}"
        for name, why in _unknown(before, after, names)
        if name[0] != cluster or not allowed.follows(name[1])
    ]
    mine = [new for key, new in after.objects.items() if key[0] == cluster and key[2] == wish.object]
    return EditVerdict(_is_fulfilled(wish, mine), tuple(strays), tuple(unknown))


def _is_fulfilled(wish: WantedField, found: Sequence[Mapping[str, Any]]) -> bool:
    if wish.is_gone:
        return not found
    if wish.is_new:
        return bool(found) and all(_is_new(wish.after, each) for each in found)
    return bool(found) and all(is_same(field_steps.value_at(each, wish.steps), wish.after) for each in found)


def _is_new(wanted: Any, made: Any) -> bool:
    return all(steps[:2] in _ADDED and old is ABSENT for steps, old, _ in field_steps.differing(wanted, made))


def _is_wished(id: ObjectId, old: Any, new: Any, wishes: Sequence[WantedField]) -> bool:
    """Whether all that differs in an object is what the cluster has."""
    mine = [each for each in wishes if each.object == id]
    whole = next((each for each in mine if not each.steps), None)
    if whole is not None:
        return new is ABSENT if whole.is_gone else _is_new(whole.after, new)
    if not mine or old is ABSENT or new is ABSENT:
        return False
    target = old
    for each in mine:
        target = field_steps.with_value(target, each.steps, each.after)
    return all(
        is_same(field_steps.value_at(target, steps), value) for steps, _, value in field_steps.differing(old, new)
    )


def _unknown(before: RenderedRepo, after: RenderedRepo, names: Collection[Name] | None) -> Iterator[tuple[Name, str]]:
    """Components of which it cannot be told what an edit does, with why if that is new."""
    for name, why in after.broken.items():
        if names is not None and name not in names:
            continue
        if name not in before.broken:
            yield name, f" ({why[:160]})"
        elif _is_touched(name, before.platform, after.platform, after.files):
            yield name, ""


def _is_touched(name: Name, before: Platform, after: Platform, files: Files) -> bool:
    first, then = (_component(each, name) for each in (before, after))
    if first is None or then is None:
        return first is not then
    old, new = ([one.definition for one in each.origins] for each in (first, then))
    named = {
        value.file
        for one in then.origins
        for each in cluster_facts.sources(one)
        if isinstance(each, ChartSource)
        for value in each.values
    }
    return not is_same(old, new) or bool(named & set(files))


def _component(platform: Platform, name: Name) -> Component | None:
    return next((each for each in platform.components if (each.cluster, each.name) == name), None)


class _Allowed:
    """What may differ since it carries the edit, or follows from an object that was changed itself."""

    def __init__(self, before: Platform, after: Platform, wishes: Sequence[WantedField], cluster: str) -> None:
        changed = {each.object for each in wishes}
        self._carriers: set[ObjectId] = set()
        self._following: set[str] = set()
        for platform in (before, after):
            components = {each.name: each for each in platform.components_of(cluster)}
            for each in components.values():
                if changed & {ObjectId.of(one.definition) for one in each.origins}:
                    self._following.add(each.name)
                for one in each.origins:
                    if one.form in (SourceForm.HELM_RELEASE, SourceForm.KUSTOMIZATION, SourceForm.APPLICATION):
                        self._carriers |= {ObjectId.of(one.definition), ObjectId.of(one.maker)}
                        self._carriers |= {*_referred(one.definition, one.namespace)}

    def follows(self, component: str) -> bool:
        """Whether a component is what a changed object declares: what becomes of it is live already."""
        return component in self._following

    def has(self, id: ObjectId, component: str) -> bool:
        """Whether an object may differ."""
        return id in self._carriers or component in self._following


def _referred(definition: Mapping[str, Any], namespace: str) -> Iterator[ObjectId]:
    """The ConfigMaps that values and variables come from."""
    lists = (("spec", "valuesFrom"), ("spec", "postBuild", "substituteFrom"))
    for each in (one for steps in lists for one in within.sequence(definition, *steps)):
        if within.text(each, "kind") == "ConfigMap":
            yield ObjectId("", "ConfigMap", namespace, within.text(each, "name"))


Files = Mapping[str, bytes | None]
"""Contents by path; None for a file that goes."""
Key = tuple[str, Side, ObjectId]
"""A cluster, a side, and an object."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RenderedRepo:
    """A repo, and what it renders to."""

    tree: WorkTree
    platform: Platform
    objects: Mapping[Key, Mapping[str, Any]] = dataclasses.field(repr=False)
    components: Mapping[Key, str]
    broken: Mapping[Name, str]
    """What could not be rendered, and why."""
    files: Files = dataclasses.field(default_factory=dict, repr=False)
    """What is other than in the work tree."""


def _without_nulls(value: Any) -> Any:
    """A value as the server sees it: a null is nothing there, and kustomize leaves it out where Helm writes it."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


class Renderings:
    """Renders a repo with other files, as often as it takes."""

    def __init__(self, tree: WorkTree, root: Path, open_renderer: Opener) -> None:
        """Prepare; ``opened`` is the way to it.

        Args:
            tree: The repo.
            root: A copy of it, which is changed for each rendering.
            open_renderer: How it is rendered.
        """
        self.tree = tree
        self._root = root
        self._open = open_renderer
        self._there: dict[str, bytes | None] = {}

    async def state(self, files: Files, names: Collection[Name] | None = None) -> RenderedRepo:
        """The repo with some files, rendered.

        Args:
            files: Those that are others than in the work tree.
            names: The components that are rendered; all if it is not given.

        Raises:
            errors.FirstlightError: Nothing can be rendered at all.
        """
        tree = OverlaidTree(self.tree, dict(files)) if files else self.tree
        with platform_reader.rare_garbage_collection():
            platform = platform_reader.read_tree(tree)
        self._put(files)
        mine = [each for each in platform.components if names is None or (each.cluster, each.name) in names]
        # Known by the user's own directory: what was rendered before need not be again.
        async with await self._open(dataclasses.replace(platform, root=self._root), str(self.tree.root)) as renderer:
            done = [each.rendition for each in await renderer.render_all(mine)]
        objects: dict[Key, Mapping[str, Any]] = {}
        components: dict[Key, str] = {}
        broken: dict[Name, str] = {}
        for each in done:
            wrong = [diagnostic.message for diagnostic in each.diagnostics if diagnostic.severity == Severity.ERROR]
            if wrong:
                broken[each.cluster, each.component] = wrong[0]
            for one in each.objects:
                key = (each.cluster, each.side, one.id)
                objects.setdefault(key, _without_nulls(one.value))
                components.setdefault(key, each.component)
        return RenderedRepo(
            tree=tree, platform=platform, objects=objects, components=components, broken=broken, files=dict(files)
        )  # fmt: skip

    async def release(self, state: RenderedRepo, origin: Origin, chart: ChartSource) -> ChartRelease:
        """What Helm is given for a chart.

        Raises:
            errors.FirstlightError: The chart cannot be had.
        """
        self._put(state.files)
        platform = dataclasses.replace(state.platform, root=self._root)
        async with await self._open(platform, str(self.tree.root)) as renderer:
            release, _ = await renderer.release(origin, chart)
        return release

    def _put(self, files: Files) -> None:
        """Make the copy as it is to be: what was other before is the repo's again."""
        for path in {*self._there, *files}:
            wanted = files[path] if path in files else self.tree.bytes(path) if self.tree.is_file(path) else None
            place = self._root / path
            if wanted is None:
                place.unlink(missing_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(wanted)
        self._there = dict(files)


@contextlib.asynccontextmanager
async def opened(tree: WorkTree, open_renderer: Opener) -> AsyncIterator[Renderings]:
    """Renderings of a repo, in a copy that is gone afterwards."""
    files = {path: content for path in tree.files if (content := tree.bytes(path)) is not None}
    with private_directory.create_with_files(files, links=tree.links, purpose="align", is_lenient=True) as root:
        yield Renderings(tree, root, open_renderer)
