"""Whether everything that changed can be read: YAML, firstlight.yaml, machine configs, and objects by their schema."""

from collections.abc import Iterable, Iterator

from firstlight.document import reading
from firstlight.document.reading import Dialect
from firstlight.model.change import Matter
from firstlight.model.decision import Decision
from firstlight.model.remark import Grade, Remark
from firstlight.operate.deciding.checks import machine_configs, objects
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note
from firstlight.repo.declaration import form
from firstlight.repo.work_tree import YAML

_TEMPLATED = (Matter.CHART, Matter.MACHINE, Matter.RELEASE)
"""Files that may be templates: what is in braces is no YAML, and need not be."""
_NEEDS = "which nothing deploys"
"""What a remark says of a need; that is for another check."""


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """What is wrong, in the order in which it would be noticed."""
    paths = [each for each in scene.paths if each.endswith(YAML) and scene.after.tree.is_file(each)]
    matters = {item.change.place.path: item.change.matter for item in decision.items}
    broken = [found for path in paths for found in _yaml(path, matters.get(path), scene)]
    notes = [*broken, *_declaration(scene), *_remarks(scene)]
    notes += await machine_configs.look(decision, scene)
    notes += await objects.look(decision, scene)
    if paths and not any(each.place and each.place.path in paths for each in broken):
        notes.insert(0, note.passed(f"{len(paths)} changed YAML file{'' if len(paths) == 1 else 's'} can be read"))
    return notes


def _yaml(path: str, matter: Matter | None, scene: Scene) -> Iterator[Note]:
    """A file as its reader sees it: Talos has other rules than Kubernetes."""
    data = scene.after.tree.bytes(path)
    if data is None:
        return
    if matter in _TEMPLATED and (b"{{" in data or b"{%" in data):
        yield note.skipped(f"{path} is a template")
        return
    dialect = Dialect.TALOS if matter == Matter.MACHINE else Dialect.KUBERNETES
    for remark in reading.read(data, path, dialect=dialect).remarks:
        if remark.grade == Grade.ERROR:
            yield _failed(remark)
        elif remark.grade == Grade.WARNING:
            yield note.person(remark.message, todo=remark.hint, place=remark.place)


def _declaration(scene: Scene) -> Iterator[Note]:
    """firstlight.yaml, if there is one; what is wrong with it has remarks."""
    platform = scene.after.platform
    if platform.declared is not None and form.FILE in scene.paths:
        yield note.passed(f"{form.FILE} is valid")
    elif platform.is_misdeclared:
        wrong = [each for each in platform.remarks if each.place.path == form.FILE and each.grade == Grade.ERROR]
        yield from (_failed(each) for each in wrong)
        if not wrong:
            yield note.failed(f"{form.FILE} is wrong", todo="see: firstlight inventory")


def _remarks(scene: Scene) -> Iterator[Note]:
    """What the repo's reader did not find wrong before, and does now."""
    before = {(each.place.path, each.message) for each in scene.before.platform.remarks} if scene.before else set()
    read = {path for path in scene.paths if path.endswith(YAML)}
    for each in _wrong(scene.after.platform.remarks):
        is_said = each.place.path == form.FILE and scene.after.platform.is_misdeclared
        if (each.place.path, each.message) not in before and not is_said and not _is_of_file(each, scene, read):
            yield _failed(each)


def _wrong(remarks: Iterable[Remark]) -> Iterator[Remark]:
    return (each for each in remarks if each.grade == Grade.ERROR and _NEEDS not in each.message)


def _is_of_file(remark: Remark, scene: Scene, read: set[str]) -> bool:
    """Whether reading the file alone has said it already."""
    if remark.place.path not in read:
        return False
    data = scene.after.tree.bytes(remark.place.path)
    return data is not None and any(
        each.message == remark.message
        for dialect in Dialect
        for each in reading.read(data, remark.place.path, dialect=dialect).remarks
    )


def _failed(remark: Remark) -> Note:
    return note.failed(remark.message, todo=remark.hint, place=remark.place)
