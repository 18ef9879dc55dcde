"""What a change really does in clusters: the components that it touches, rendered before and after."""

import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.model.change import Change
from firstlight.model.component import ObjectId, Side
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.render import private_directory
from firstlight.render.component_renderer import Renderer
from firstlight.repo import platform_reader
from firstlight.repo.changes import compared_pieces
from firstlight.repo.work_tree import WorkTree

MOST = 60
"""Components that are rendered; a change of more is judged by its files alone for the rest."""

_FEW, _SAID = 3, 200
"""Components that are told one by one, and characters of what is said of each."""

Name = tuple[str, str]
"""A cluster and a component of it."""
Opener = Callable[[Platform, str], Awaitable[Renderer]]
"""Makes a renderer for a platform; the word is what its renderings are known by."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RenderedDiff:
    """What differs once it is rendered."""

    changes: tuple[Change, ...] = ()
    doubts: tuple[str, ...] = ()
    before: tuple[Rendition, ...] = ()
    after: tuple[Rendition, ...] = ()
    """All that was rendered."""
    problem: str = ""
    """Why nothing was rendered; empty where it was, or where there was nothing to render."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlatformRevision:
    """A platform with the files that it is read from, once somebody asks for it."""

    tree: WorkTree
    is_checked_out: bool
    """Whether the files on the disk are these."""
    known: Platform | None = None
    """The platform, where it need not be read."""
    outline: Platform | None = None
    """One that has the same components, though perhaps with other versions and values."""

    @functools.cached_property
    def platform(self) -> Platform:
        """All that the files describe."""
        return self.known or platform_reader.read_tree(self.tree)

    @property
    def shape(self) -> Platform:
        """What is there, and who needs whom: cheaper, and enough to tell what belongs to whom."""
        return self.outline or self.platform


async def rendered(
    before: PlatformRevision, after: PlatformRevision, touched: Iterable[Name], *, open_renderer: Opener
) -> RenderedDiff:
    """Render what is touched, as it was and as it will be, and compare; what fails is a doubt and no error.

    Args:
        before: What was.
        after: What will be.
        touched: The components that the change belongs to.
        open_renderer: How a platform is rendered.
    """
    names = sorted(set(touched))
    if not names:
        return RenderedDiff()
    wanted = names[:MOST]
    doubts = [f"{len(names) - MOST} of {len(names)} components were not rendered"] if len(names) > MOST else []
    try:
        first = await renditions_of(before, wanted, "before", open_renderer)
        then = await renditions_of(after, wanted, "after", open_renderer)
    except errors.FirstlightError as error:
        problem = f"{error.message}; {error.hint}" if error.hint else error.message
        return RenderedDiff(doubts=(f"nothing was rendered: {problem}",), problem=problem)
    wrong = {**_wrong(first), **_wrong(then)}
    doubts += _told(wrong)
    places = {**_places(before.platform), **_places(after.platform)}
    found = [
        change
        for cluster in sorted({each[0] for each in wanted})
        for side in (Side.BOOTSTRAP, Side.GITOPS)
        for change in _compared(cluster, [_of(each, cluster, side, wrong) for each in (first, then)], places)
    ]
    # Of a hybrid both sides are rendered, mostly to the same.
    kept = tuple({_key(each): each for each in reversed(found)}.values())[::-1]
    return RenderedDiff(changes=kept, doubts=tuple(doubts), before=first, after=then)


async def renditions_of(
    half: PlatformRevision, names: Sequence[Name], word: str, open_renderer: Opener
) -> tuple[Rendition, ...]:
    """What some components of a state of the repo deploy, rendered from the disk or from a copy that is gone then."""
    mine = [each for each in half.platform.components if (each.cluster, each.name) in set(names)]
    if not mine:
        return ()
    async with opened(half, word, open_renderer) as renderer:
        return tuple(each.rendition for each in await renderer.render_all(mine))


@contextlib.asynccontextmanager
async def opened(half: PlatformRevision, word: str, open_renderer: Opener) -> AsyncIterator[Renderer]:
    """A renderer for a state of the repo, of what is on the disk or of a copy that is gone then."""
    if half.is_checked_out:
        async with await open_renderer(half.platform, "") as renderer:
            yield renderer
        return

    files = {path: content for path in half.tree.files if (content := half.tree.bytes(path)) is not None}
    # A name that this computer cannot have is left out: whoever needs it says so.
    with private_directory.create_with_files(files, links=half.tree.links, purpose="decide", is_lenient=True) as root:
        platform = dataclasses.replace(half.platform, root=root)
        async with await open_renderer(platform, f"{half.platform.root} {word}") as renderer:
            yield renderer


def _told(wrong: Mapping[Name, str]) -> list[str]:
    """What could not be rendered; many are mostly so for one reason, such as a server that does not answer."""
    found = [(f"{name} of {cluster}", _short(said)) for (cluster, name), said in sorted(wrong.items())]
    if len(found) <= _FEW:
        return [f"{name} was not rendered: {said}" for name, said in found]
    names = ", ".join(name for name, _ in found)
    return [f"{len(found)} components were not rendered: {names}; the first of them: {found[0][1]}"]


def _short(text: str) -> str:
    return text if len(text) <= _SAID else f"{text[: _SAID - 1]}…"


def _wrong(renditions: Iterable[Rendition]) -> dict[Name, str]:
    """Components that are not whole: to compare half of one would tell of objects that go."""
    return {
        (each.cluster, each.component): diagnostic.message
        for each in renditions
        for diagnostic in each.diagnostics
        if diagnostic.severity == Severity.ERROR
    }


Objects = dict[ObjectId, tuple[Mapping[str, Any], str]]
"""Objects, each with its component."""


def _of(renditions: Iterable[Rendition], cluster: str, side: Side, wrong: Mapping[Name, str]) -> Objects:
    found: Objects = {}
    for each in renditions:
        if (each.cluster, each.side) == (cluster, side) and (cluster, each.component) not in wrong:
            for one in each.objects:
                found.setdefault(one.id, (one.value, each.component))
    return found


def _compared(cluster: str, states: Sequence[Objects], places: Mapping[Name, Place]) -> list[Change]:
    first, then = states
    made = []
    for each in compared_pieces.compare_objects(
        [value for value, _ in first.values()], [value for value, _ in then.values()]
    ):
        owner = (then.get(each.object) or first.get(each.object)) if each.object is not None else None
        component = owner[1] if owner is not None else ""
        place = places.get((cluster, component), each.place)
        made.append(dataclasses.replace(each, cluster=cluster, component=component, place=place))
    return made


def _key(change: Change) -> tuple[object, ...]:
    fields = tuple((each.steps, each.verb, repr(each.before), repr(each.after)) for each in change.fields)
    return change.cluster, change.component, change.object, change.title, change.verb, fields


def _places(platform: Platform) -> dict[Name, Place]:
    return {(each.cluster, each.name): each.origins[0].place for each in platform.components if each.origins}
