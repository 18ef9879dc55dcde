"""Whether a change has the approval that it needs: its commits, and who may approve as the tip of the base says."""

import functools
from collections.abc import Sequence

from firstlight.clients.git import errors as git_errors
from firstlight.model.decision import Approval, Approved, Decision
from firstlight.model.git import Commit
from firstlight.operate import team_links
from firstlight.operate.deciding.authorities import Authority
from firstlight.operate.deciding.checks.scene import History, Scene
from firstlight.policy.checking import approving, owners
from firstlight.policy.checking.owners import Owners
from firstlight.repo.work_tree import WorkTree


async def approved(decision: Decision, scene: Scene) -> Approved:
    """Who has approved, and whether that suffices.

    Args:
        decision: What was decided.
        scene: With those whose owners count, and the commits that are asked about.

    Raises:
        errors.ConfigError: A list of owners is wrong.
        git_errors.GitError: The commits cannot be read.
    """
    history = scene.history
    commits = await _commits(history) if history is not None and decision.approval != Approval.SELF else ()
    base = history.base[:12] if history is not None else ""
    return approving.judged(decision.approval, commits, owners_of(scene.authorities), base=base)


def owners_of(authorities: Sequence[Authority]) -> Owners | None:
    """Who may approve, as all of those say whose word counts: a change must not choose its own judges.

    Raises:
        errors.ConfigError: The file is wrong.
    """
    found = [_owners(each.tree) for each in authorities]
    agreed = [each for each in found if each is not None]
    return functools.reduce(owners.both, agreed) if agreed and len(agreed) == len(found) else None


def _owners(tree: WorkTree) -> Owners | None:
    if not tree.is_file(owners.FILE):
        return None
    team_links.check(tree)
    data = tree.bytes(owners.FILE)
    return owners.load(data) if data is not None else None


async def _commits(history: History) -> tuple[Commit, ...]:
    if not history.head:
        return ()
    try:
        # All of them: who wrote any of it cannot approve it.
        return await history.git.log(history.path, history.base, history.head, limit=None)
    except git_errors.NotFound:
        if history.base:
            raise
        return ()
