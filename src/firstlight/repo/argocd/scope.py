"""What all parts of the reader share while they read one tree."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.repo import kustomize
from firstlight.repo.argocd.budget import Budget
from firstlight.repo.argocd.registered import Registered
from firstlight.repo.argocd.settings import Settings
from firstlight.repo.argocd.urls import Own
from firstlight.repo.work_tree import WorkTree

MAX_APPLICATIONS = 10_000
"""Applications of one repo with those that ApplicationSets make; the largest installations have some thousands."""
MAX_DEPTH = 20
"""Applications that bring Applications that bring Applications; people have two or three levels."""


@dataclasses.dataclass(frozen=True)
class Scope:
    """The tree, and what is known before its Applications are followed."""

    tree: WorkTree
    own: Own = dataclasses.field(default_factory=lambda: Own(frozenset()))
    registered: Registered = dataclasses.field(default_factory=Registered)
    settings: Settings = dataclasses.field(default_factory=Settings)
    templates: frozenset[str] = frozenset()
    """Directories with the templates of charts."""
    users: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict, repr=False)
    """Which kustomizations name a file or directory."""
    budget: Budget = dataclasses.field(default_factory=Budget, repr=False)
    rendered: set[str] = dataclasses.field(default_factory=set, repr=False)
    """Charts of the tree that were rendered so far."""
    kept: dict[object, Any] = dataclasses.field(default_factory=dict, repr=False)
    """What was found in directories so far, since many Applications may read the same one."""
    _builds: dict[str, kustomize.Build] = dataclasses.field(default_factory=dict, repr=False)

    def build(self, path: str, over: kustomize.Overlay | None = None) -> kustomize.Build:
        """What kustomize makes of a directory; asked once, but for what an Application adds to it."""
        if over is not None:
            return kustomize.build(self.tree, path, over=over)
        if path not in self._builds:
            self._builds[path] = kustomize.build(self.tree, path)
        return self._builds[path]
