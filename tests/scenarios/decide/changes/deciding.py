"""The repos of these scenarios, read once, and what is decided of an edited state of one."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path

from firstlight.model.decision import Decision, Risk
from firstlight.model.platform import Platform
from firstlight.operate.deciding import same_structure, team_rules
from firstlight.operate.deciding.taken_in import taken_in
from firstlight.policy.deciding import judging
from firstlight.policy.deciding.book import Book
from firstlight.repo import platform
from firstlight.repo.changing import reading
from firstlight.repo.overlaid import OverlaidTree
from firstlight.repo.work_tree import WorkTree

REPOS = Path(__file__).parent / "repos"
Files = Mapping[str, bytes | None]
"""Contents by path; None for what is gone."""


@dataclasses.dataclass(frozen=True)
class Base:
    """A repo before a change."""

    tree: WorkTree
    platform: Platform
    book: Book

    def decided(self, files: Files) -> Decision:
        """The decision, made as ``firstlight decide`` makes it of two states, without a rendition."""
        after = OverlaidTree(self.tree, files)
        then = self.platform if same_structure.is_same(self.tree, after, files) else platform.read_tree(after)
        changes = reading.changes(self.tree, after, files, platforms=(self.platform, then))
        if not changes:
            return Decision(side=None, risk=Risk.LOW, items=())
        return judging.decide(
            changes,
            platform=then,
            before=self.platform,
            book=self.book,
            taken=taken_in(after, self.tree, files),
        )


@functools.cache
def base(root: Path) -> Base:
    """A repo, read once."""
    tree = WorkTree(root)
    return Base(tree, platform.read_tree(tree), team_rules.book(tree))
