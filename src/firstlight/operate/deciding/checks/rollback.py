"""Whether the change can be taken back: what a revert does not bring back, and whether there is a revert."""

from firstlight.clients.git import errors as git_errors
from firstlight.model.decision import Decision
from firstlight.operate.deciding.checks import rendering
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import History, Scene
from firstlight.policy.checking import irreversible, note
from firstlight.policy.checking.note import Note

_MOST = 5


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """What cannot be taken back; the base rendered; a revert that applies."""
    notes = irreversible.of_pairs(scenes.pairs(decision, scene))
    if scene.before is None:
        todo = "say how it is taken back"
        return [*notes, note.person("there is nothing before it to go back to", todo=todo)]
    notes += irreversible.of_networks(scene.before.platform.clusters, scene.after.platform.clusters)
    notes += _base(decision, scene)
    if unseen := scenes.unseen(decision, scene):
        says = f"what else goes with {', '.join(unseen)} is not known, since it was not rendered before and after"
        notes.append(note.skipped(says))
    if scene.history is None:
        todo = "keep a copy of what was before"
        return [*notes, note.person("the repo has no history to go back in", todo=todo)]
    return [*notes, *await _revert(scene.history)]


def _base(decision: Decision, scene: Scene) -> list[Note]:
    """Whether what one would go back to can be rendered."""
    assert scene.before is not None
    broken = [
        f"{each.component} of {each.cluster}: {wrong}"
        for each in scenes.touched(decision)
        if (wrong := rendering.problem(scene.before, each, scene))
    ]
    if not broken:
        return []
    says = f"what one would go back to cannot be rendered: {'; '.join(broken[:_MOST])}"
    return [note.person(says, todo="see whether it worked, before it is needed")]


async def _revert(history: History) -> list[Note]:
    """Whether the commits could be reverted where the branch is now."""
    if not history.head:
        return [note.passed("it is not committed yet: once it is, git revert takes it back")]
    try:
        commits = await history.git.log(history.path, history.base, history.head)
        later = await history.git.changed_files(history.path, history.head, "HEAD", since_fork=False)
        mine = await history.git.changed_files(history.path, history.base, history.head)
        is_older = await history.git.is_ancestor(history.path, history.head, "HEAD")
    except git_errors.NotFound as error:
        return [note.person(f"the history does not tell whether it can be reverted: {error.detail}")]
    merges = [each.id[:7] for each in commits if len(each.parents) > 1]
    with_merges = f"; of the merge {', '.join(merges[:_MOST])} with -m 1" if merges else ""
    touched = {path for each in mine for path in (each.path, each.old_path) if path}
    again = sorted(touched & {path for each in later for path in (each.path, each.old_path)}) if is_older else []
    if again:
        names = ", ".join(again[:_MOST]) + (f" and {len(again) - _MOST} more" if len(again) > _MOST else "")
        says = f"{names} changed again since, so that a revert may not apply as it is"
        return [note.person(says, todo="try: git revert --no-commit, then git revert --abort")]
    return [note.passed(f"git revert takes back {_counted(len(commits))} cleanly{with_merges}")]


def _counted(count: int) -> str:
    return "the one commit" if count == 1 else f"the {count} commits"
