"""How a change stands in Git: on a branch of its own, and with nothing beside it."""

from firstlight.model.decision import Decision
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note

_FOLLOWED = "main"
"""What engines follow where the repo does not say."""
_MOST = 5


async def own_branch(decision: Decision, scene: Scene) -> list[Note]:
    """Whether it is on a branch that no engine follows."""
    if scene.history is None:
        return [note.skipped("the repo has no history")]
    names = {each.cluster for each in scenes.touched(decision)}
    clusters = [each for each in scene.after.platform.clusters if each.name in names]
    followed = {each.branch or _FOLLOWED for each in clusters} or {_FOLLOWED}
    head = await scene.history.git.head(scene.history.path)
    if not head.branch:
        return [note.skipped("no branch is checked out")]
    if head.branch in followed:
        says = f"the work tree is on {head.branch}, which the engine follows"
        return [note.person(says, todo="git switch -c NAME, and reach it by a merge")]
    return [note.passed(f"it is on {head.branch}; the engine follows {', '.join(sorted(followed))}")]


async def committed(decision: Decision, scene: Scene) -> list[Note]:
    """Whether the work tree has anything besides the change that a hasty commit would sweep in."""
    if scene.history is None:
        return [note.skipped("the repo has no history")]
    status = await scene.history.git.status(scene.history.path)
    others = sorted({each.path for each in status} - {*scene.paths})
    if others:
        names = ", ".join(others[:_MOST]) + (f" and {len(others) - _MOST} more" if len(others) > _MOST else "")
        says = f"the work tree has more than this change: {names}"
        return [note.failed(says, todo="commit or stash it by name, and never git add -A")]
    return [note.passed("the work tree has nothing besides this change")]
