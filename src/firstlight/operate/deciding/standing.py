"""How a change stands in Git and in the repo, so that procedures name only what is still to be done."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from firstlight.clients.git import Git
from firstlight.clients.git import errors as git_errors
from firstlight.model.change import Change
from firstlight.operate.deciding import mentions
from firstlight.operate.deciding.asked import Asked, Staged, options
from firstlight.operate.deciding.states import States
from firstlight.policy.deciding.facts import Facts


async def known(
    facts: Facts, asked: Asked, found: States, *, changes: Sequence[Change], git: Path | None, rules: Sequence[Path]
) -> Facts:
    """The facts with all that Git and the repo tell.

    Args:
        facts: What is known of the cluster.
        asked: What was asked about.
        found: Both states.
        changes: What differs.
        git: The program.
        rules: Files with rules that were named.
    """
    is_staged = found.title == Staged().title
    named = branches = holding = gone = frozenset[str]()
    if git is not None and found.base:
        try:
            branches = frozenset(await Git(git).branches(found.root))
            holding = frozenset(await Git(git).branches(found.root, holding=found.head)) if found.head else named
            gone = await _unaddable(found, Git(git)) if not found.head and not is_staged else named
        except git_errors.GitError:
            pass  # the steps are then those of somebody who starts from nothing
    return dataclasses.replace(
        facts,
        asked=options(asked),
        rules=tuple(word for each in rules for word in ("--rules", str(each))),
        is_committed=found.is_committed,
        topic=found.topic,
        revert=found.revert,
        since=found.since,
        is_staged=is_staged,
        unaddable=gone,
        branches=branches,
        holding=holding,
        mentions=mentions.of_ranges(changes, found.after),
    )


async def _unaddable(found: States, git: Git) -> frozenset[str]:
    """Files of the change that are neither on the disk nor in the index, and that ``git add`` fails for."""
    gone = [each for each in found.paths if not found.after.is_file(each)]
    if not gone:
        return frozenset()
    head = await git.head(found.root)
    top = head.work_tree.resolve() if head.work_tree is not None else found.root
    prefix = found.root.relative_to(top).as_posix() if found.root.is_relative_to(top) else "."
    whole = {each: each if prefix == "." else f"{prefix}/{each}" for each in gone}
    in_index = await git.staged_contents(found.root, whole.values())
    return frozenset(each for each, path in whole.items() if path not in in_index)
