"""What stops a generator or a template."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.repo import kustomize
from firstlight.repo.argocd.argocd_settings import ArgoCDSettings, Registered
from firstlight.repo.argocd.git_urls import OwnRepository
from firstlight.repo.work_tree import WorkTree


class GeneratorFailed(ValueError):
    """One that Argo CD would refuse; the message says why."""


class GeneratorNotKnown(GeneratorFailed):
    """One that may be right, and that only a run, or another repository, can tell."""


# How much work a repo may cost: hostile ones multiply patterns, templates and files with each other.


WORK = 20_000_000
"""Microseconds: a repo of five thousand files takes three seconds in all."""
LETTERS = 16_000_000
"""That templates may write in all; those of the largest repos seen write less than a million."""
COMPARISON = 20
"""What it costs to compare a path with a pattern."""


class ReadBudget:
    """Work that is left."""

    def __init__(self, work: int = WORK, *, letters: int = LETTERS) -> None:
        self._left = work
        self._letters = letters

    def spend(self, work: int) -> None:
        """Take from what is left.

        Raises:
            NotKnown: There is nothing left.
        """
        self._left -= work
        if self._left < 0:
            raise GeneratorNotKnown("reading the Applications of this repo takes too long, and was given up")

    def write(self, text: str) -> str:
        """A text that a template made, which is kept.

        Raises:
            NotKnown: There are too many of them.
        """
        self._letters -= len(text)
        if self._letters < 0:
            raise GeneratorNotKnown(
                f"the templates of this repo write more than {LETTERS // 1_000_000} million letters"
            )
        return text

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Take as much as what is done inside costs; refuse to begin where there is nothing left."""
        self.spend(0)
        begun = time.process_time()
        try:
            yield
        finally:
            self._left -= int((time.process_time() - begun) * 1_000_000)


# What all parts of the reader share while they read one tree.


MAX_APPLICATIONS = 10_000
"""Applications of one repo with those that ApplicationSets make; the largest installations have some thousands."""
MAX_DEPTH = 20
"""Applications that bring Applications that bring Applications; people have two or three levels."""


@dataclasses.dataclass(frozen=True)
class ReadScope:
    """The tree, and what is known before its Applications are followed."""

    tree: WorkTree
    own: OwnRepository = dataclasses.field(default_factory=lambda: OwnRepository(frozenset()))
    registered: Registered = dataclasses.field(default_factory=Registered)
    settings: ArgoCDSettings = dataclasses.field(default_factory=ArgoCDSettings)
    templates: frozenset[str] = frozenset()
    """Directories with the templates of charts."""
    plugins: frozenset[str] = frozenset()
    """Plugins that make what kustomize makes."""
    users: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict, repr=False)
    """Which kustomizations name a file or directory."""
    budget: ReadBudget = dataclasses.field(default_factory=ReadBudget, repr=False)
    rendered: set[str] = dataclasses.field(default_factory=set, repr=False)
    """Charts of the tree that were rendered so far."""
    kept: dict[object, Any] = dataclasses.field(default_factory=dict, repr=False)
    """What was found in directories so far, since many Applications may read the same one."""
    _builds: dict[str, kustomize.KustomizeBuild] = dataclasses.field(default_factory=dict, repr=False)

    def build(self, path: str, over: kustomize.Overlay | None = None) -> kustomize.KustomizeBuild:
        """What kustomize makes of a directory; asked once, but for what an Application adds to it."""
        if over is not None:
            return kustomize.build(self.tree, path, over=over)
        if path not in self._builds:
            self._builds[path] = kustomize.build(self.tree, path)
        return self._builds[path]
