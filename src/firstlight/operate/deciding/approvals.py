"""Whether a change has the approval that it needs: its commits, and who may approve as the base says."""

from firstlight.clients.git import errors as git_errors
from firstlight.model.decision import Approval, Approved, Decision
from firstlight.model.git import Commit
from firstlight.operate import team_links
from firstlight.operate.deciding.checks.scene import History, Scene, Version
from firstlight.policy.checking import approving, owners
from firstlight.policy.checking.owners import Owners


async def approved(decision: Decision, scene: Scene) -> Approved:
    """Who has approved, and whether that suffices.

    Args:
        decision: What was decided.
        scene: With the base, and the commits that are asked about.

    Raises:
        errors.ConfigError: The base's list of owners is wrong.
        git_errors.GitError: The commits cannot be read.
    """
    history = scene.history
    commits = await _commits(history) if history is not None and decision.approval != Approval.SELF else ()
    base = history.base[:12] if history is not None else ""
    return approving.judged(decision.approval, commits, owners_of(scene.before), base=base)


def owners_of(base: Version | None) -> Owners | None:
    """Who may approve, as the base has it: a change must not choose its own judges.

    Raises:
        errors.ConfigError: The file is wrong.
    """
    if base is None or not base.tree.is_file(owners.FILE):
        return None
    team_links.check(base.tree)
    data = base.tree.bytes(owners.FILE)
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
