"""Whether the touched components can be rendered, before and after."""

from firstlight.model.decision import Decision, Touched
from firstlight.model.remark import Grade, Remark
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene, Version
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """What of it cannot be rendered, and whether it could be before."""
    touched = scenes.touched(decision)
    if not touched:
        return [note.skipped("it belongs to no component that could be rendered")]
    if scene.unrendered:
        return [note.skipped(f"nothing was rendered: {scene.unrendered}")]
    notes = [found for each in touched for found in _of(each, scene)]
    fine = [each for each in touched if not _errors(scene.after, each)]
    if fine and not notes:
        names = ", ".join(dict.fromkeys(each.component for each in fine))
        notes.append(note.passed(f"rendered before and after: {names}" if scene.before else f"rendered: {names}"))
    return notes


def _of(touched: Touched, scene: Scene) -> list[Note]:
    name = f"{touched.component} of {touched.cluster}"
    if not scene.after.rendered(touched.cluster, touched.component):
        if scene.after.component(touched.cluster, touched.component) is None:
            return []  # it is removed
        return [note.skipped(f"{name} was not rendered")]
    after = _errors(scene.after, touched)
    before = _errors(scene.before, touched) if scene.before is not None else ()
    if not after:
        was = [note.passed(f"{name} is rendered now, and could not be before: {before[0].message}")] if before else []
        return was
    found = []
    for each in after:
        says = f"{name} cannot be rendered: {each.message}"
        if scene.is_offline and _is_elsewhere(each):
            found.append(note.skipped(says, todo=each.hint))
        elif before:
            # The change has not broken it, and what is wrong may be this computer's: a chart that it cannot fetch.
            found.append(note.person(f"{says}, and could not be before", todo=each.hint, place=each.place))
        else:
            todo = each.hint or f"see: firstlight render {touched.component}"
            found.append(note.failed(says, todo=todo, place=each.place))
    return found


def problem(version: Version, touched: Touched, scene: Scene) -> str:
    """Why a component could not be rendered; empty where it could, was not tried, or is only not here."""
    wrong = (each for each in _errors(version, touched) if not (scene.is_offline and _is_elsewhere(each)))
    return next((each.message for each in wrong), "")


def _is_elsewhere(remark: Remark) -> bool:
    """Whether it could be rendered if something were fetched, as the store of charts says."""
    return "offline" in remark.message


def _errors(version: Version | None, touched: Touched) -> tuple[Remark, ...]:
    if version is None:
        return ()
    return tuple(
        remark
        for each in version.rendered(touched.cluster, touched.component)
        for remark in each.remarks
        if remark.grade == Grade.ERROR
    )
