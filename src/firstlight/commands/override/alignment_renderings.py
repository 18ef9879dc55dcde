"""The repo as it would be, rendered: what proves an edit, and what shows whom else it would change."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from firstlight.model.component import ObjectId, Origin, Side
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource
from firstlight.render import private_directory
from firstlight.render.helm_template import ChartRelease
from firstlight.render.rendered_diff import Name, Opener
from firstlight.repo import platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

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
