"""The repos of these scenarios, read once, and what is decided of an edited state of one."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path

from firstlight.commands.decide import equivalence, judgement, team_rules
from firstlight.commands.decide.file_components import taken_in
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.model.decision import Decision, Risk
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader
from firstlight.repo.changes import repo_changes
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

REPOS = Path(__file__).parent / "repos"
Files = Mapping[str, bytes | None]
"""Contents by path; None for what is gone."""


@dataclasses.dataclass(frozen=True)
class Base:
    """A repo before a change."""

    tree: WorkTree
    platform: Platform
    book: RuleBook

    def decided(self, files: Files) -> Decision:
        """The decision, made as ``firstlight decide`` makes it of two states, without a rendition."""
        after = OverlaidTree(self.tree, files)
        then = self.platform if equivalence.is_same(self.tree, after, files) else platform_reader.read_tree(after)
        changes = repo_changes.changes(self.tree, after, files, platforms=(self.platform, then))
        if not changes:
            return Decision(side=None, risk=Risk.LOW, items=())
        return judgement.decide(
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
    return Base(tree, platform_reader.read_tree(tree), team_rules.book(tree))
