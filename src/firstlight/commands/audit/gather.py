"""A work tree in, what audit rules see out: the platform, the files, and what Git knows of them."""

import dataclasses
import datetime
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git, NotARepository
from firstlight.model.component import Side
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts
from firstlight.render import component_renderer
from firstlight.render.component_renderer import Progress, Renderer
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.secrecy import clear_secrets, secret_search
from firstlight.repo.work_tree import WorkTree

PATIENCE = 20.0
"""Seconds for Git's look at the past; a long one is left out."""
_MANY = 2_000
"""Files whose past is asked for; a command line has an end."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GitFacts:
    """What Git knows of the files."""

    tracked: frozenset[str] | None = None
    """None where there is no Git."""
    ignored: tuple[str, ...] = ()
    committed: Mapping[str, datetime.date] = dataclasses.field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    """What could not be asked, and why."""


async def gather(
    tree: WorkTree, *, git: Path | None, today: datetime.date, known: GitFacts | None = None
) -> tuple[PlatformView, tuple[str, ...]]:
    """What rules see of a work tree alone, and what could not be looked at.

    Args:
        tree: The repo.
        git: The program.
        today: The day that dates are held against.
        known: What Git knows, where it was asked before.
    """
    platform = platform_reader.read_tree(tree)
    known = known or await git_facts(tree, platform, git=git)
    scene = PlatformView(
        platform=platform,
        files=tree,
        today=today,
        clear_secrets=secret_search.clear_secrets_of(tree),
        tracked=known.tracked,
        untracked=tuple(each for each in tree.files if known.tracked is not None and each not in known.tracked),
        ignored=known.ignored,
        modes=clear_secrets.modes(tree, known.ignored, tracked=known.tracked),
        committed=known.committed,
    )
    return scene, known.skipped


def facts_of(scene: PlatformView) -> GitFacts:
    """What Git was asked for a scene."""
    return GitFacts(tracked=scene.tracked, ignored=scene.ignored, committed=scene.committed)


async def git_facts(tree: WorkTree, platform: Platform, *, git: Path | None) -> GitFacts:
    """What Git knows of the files of a platform; where it cannot be asked, nothing."""
    if git is None:
        return GitFacts(skipped=("what Git tracks: git is not installed",))
    program = Git(git)
    try:
        tracked = await program.tracked(tree.root)
        if not tracked and tree.files:
            # A new repository, or a directory that the one around it ignores: then nothing is known.
            return GitFacts()
        named = clear_secrets.named(tree, await clear_secrets.ignored_files(tree.root, git=git))
    except NotARepository:
        return GitFacts()
    except errors.FirstlightError as error:
        return GitFacts(skipped=(f"what Git tracks: {error}",))
    try:
        paths = [each for each in bootstrap_files(platform) if each in tracked][:_MANY]
        committed = await program.last_commits(tree.root, paths, timeout=PATIENCE)
    except errors.FirstlightError as error:
        return GitFacts(tracked=tracked, ignored=named, skipped=(f"when files were committed last: {error}",))
    days = {path: when.date() for path, when in committed.items()}
    return GitFacts(tracked=tracked, ignored=named, committed=days)


def bootstrap_files(platform: Platform) -> list[str]:
    """The files that declare what bootstrap brings, and the values that it gives."""
    found: dict[str, None] = {}
    for component in platform.components:
        for origin in component.origins:
            if origin.side is not Side.BOOTSTRAP:
                continue
            found[origin.place.path] = None
            for source in cluster_facts.sources(origin):
                values = source.values if isinstance(source, ChartSource) else ()
                found.update(dict.fromkeys(each.file for each in values if each.file))
            found.update(dict.fromkeys(origin.values_files))
    return list(found)


# What components really deploy, for rules that look at that; what could not be rendered is said, not raised.


RendererOpener = Callable[[Platform, Progress], Awaitable[Renderer]]


async def rendered(
    platform: Platform,
    *,
    clusters: Sequence[str] = (),
    open_renderer: RendererOpener,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[tuple[Rendition, ...], tuple[str, ...]]:
    """The renditions of all components, and which of them are not whole.

    Args:
        platform: What is rendered.
        clusters: Only these; all by default.
        open_renderer: How components are rendered.
        say: Told how far it is.

    Raises:
        errors.ToolError: A program is missing.
    """
    wanted = [each for each in platform.components if not clusters or each.cluster in clusters]
    total = sum(len(component_renderer.sides(each)) for each in wanted)
    done = 0

    def progress(component: object, side: object, outcome: object) -> None:
        nonlocal done
        if outcome is not None:
            done += 1
            say(f"rendering, {done} of {total}")

    say(f"rendering, 0 of {total}")
    async with await open_renderer(platform, progress) as renderer:
        outcomes = await renderer.render_all(wanted)
    found = tuple(each.rendition for each in outcomes)
    broken = [each for each in found if any(diagnostic.severity is Severity.ERROR for diagnostic in each.diagnostics)]
    return found, tuple(_said(each) for each in broken)


def _said(rendition: Rendition) -> str:
    why = next(each for each in rendition.diagnostics if each.severity is Severity.ERROR)
    return f"{rendition.component} in {rendition.cluster} is not rendered whole: {why.message} ({why.place})"
