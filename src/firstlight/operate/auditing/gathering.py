"""A work tree in, what audit rules see out: the platform, the files, and what Git knows of them."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git, NotARepository
from firstlight.model.component import Side
from firstlight.model.platform import Platform
from firstlight.model.source import Chart
from firstlight.operate.auditing import ignored_files, key_files
from firstlight.plan import facts
from firstlight.policy.auditing.scene import Scene
from firstlight.repo import clear_secrets
from firstlight.repo import platform as platforms
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
) -> tuple[Scene, tuple[str, ...]]:
    """What rules see of a work tree alone, and what could not be looked at.

    Args:
        tree: The repo.
        git: The program.
        today: The day that dates are held against.
        known: What Git knows, where it was asked before.
    """
    platform = platforms.read_tree(tree)
    known = known or await asked(tree, platform, git=git)
    scene = Scene(
        platform=platform,
        files=tree,
        today=today,
        clear_secrets=clear_secrets.found(tree),
        tracked=known.tracked,
        untracked=tuple(each for each in tree.files if known.tracked is not None and each not in known.tracked),
        ignored=known.ignored,
        modes=key_files.modes(tree, known.ignored, tracked=known.tracked),
        committed=known.committed,
    )
    return scene, known.skipped


def facts_of(scene: Scene) -> GitFacts:
    """What Git was asked for a scene."""
    return GitFacts(tracked=scene.tracked, ignored=scene.ignored, committed=scene.committed)


async def asked(tree: WorkTree, platform: Platform, *, git: Path | None) -> GitFacts:
    """What Git knows of the files of a platform; where it cannot be asked, nothing."""
    if git is None:
        return GitFacts(skipped=("what Git tracks: git is not installed",))
    program = Git(git)
    try:
        tracked = await program.tracked(tree.root)
        if not tracked and tree.files:
            # A new repository, or a directory that the one around it ignores: then nothing is known.
            return GitFacts()
        named = key_files.named(tree, await ignored_files.listed(tree.root, git=git))
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
            for source in facts.sources(origin):
                values = source.values if isinstance(source, Chart) else ()
                found.update(dict.fromkeys(each.file for each in values if each.file))
            found.update(dict.fromkeys(origin.values_files))
    return list(found)
