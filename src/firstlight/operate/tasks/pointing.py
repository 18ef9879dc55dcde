"""The engine pointed at the repo: the source first, and the roots only when the baseline is saved."""

from collections.abc import Iterator

from firstlight.model import work as works
from firstlight.model.component import Component, ObjectId
from firstlight.model.rendition import Object
from firstlight.model.work import Installation, Task
from firstlight.operate.tasks import installing
from firstlight.operate.tasks.preparing import Ready
from firstlight.plan import owning, roots

_HINT = "Write gitops.url, and clusters, NAME, path in firstlight.yaml."


def source(ready: Ready) -> Task:
    """What the engine fetches from; nothing of it makes the engine apply anything."""
    found = ready.roots
    if found.unclear and not found.roots:
        return works.Refuse(why=found.unclear, hint=_HINT)
    mine = tuple(each for each in found.sources if each.id not in ready.inline)
    if not mine:
        return works.Watch(revision=ready.revision, objects=found.sources)
    managers = {each.id: _manager(each.id, ready) for each in mine}
    return works.Apply(objects=mine, manager=owning.FIRSTLIGHT, managers=_besides(managers))


def root(ready: Ready) -> Task:
    """What makes the engine follow the repo; watched alone where Talos applies it with the engine."""
    found = ready.roots
    if found.unclear:
        return works.Refuse(why=found.unclear, hint=_HINT)
    # Sources of other repositories tell nothing of this one's commit, so that they come with what reads them.
    held = [each for each in _held_back(ready) if each.id not in found.made]
    held.sort(key=lambda each: not roots.is_source(each.id))
    known = {each.id for each in found.sources}
    objects = [each for each in _once([*found.roots, *held]) if each.id not in ready.inline and each.id not in known]
    if not objects:
        return works.Watch(revision=ready.revision, objects=found.roots)
    releases = tuple(each for each, _ in _releases(ready))
    installed = {identity for _, ids in _releases(ready) for identity in ids}
    beside = tuple(each for each in objects if each.id not in installed)
    managers = {each.id: _manager(each.id, ready) for each in beside}
    if releases:
        return works.Install(
            releases=releases, objects=tuple(objects), beside=beside, manager=owning.FIRSTLIGHT,
            managers=_besides(managers),
        )  # fmt: skip
    return works.Apply(objects=beside, manager=owning.FIRSTLIGHT, managers=_besides(managers))


def _releases(ready: Ready) -> Iterator[tuple[Installation, tuple[ObjectId, ...]]]:
    """The releases that are roots, with what they bring: of ``flux-instance``, or of nothing but Applications."""
    for component in ready.facts.bootstrap:
        objects = ready.objects(component)
        starting = tuple(each.id for each in objects if roots.is_starting(each.id) or roots.syncs(each))
        releases, _ = ready.charts.get(component.name, ((), ()))
        for each in releases:
            if installing.syncs(each) or (starting and len(starting) == len(objects)):
                yield each, starting


def _held_back(ready: Ready) -> Iterator[Object]:
    """What components would have started too early, and nothing in Git brings."""
    for component in ready.facts.bootstrap:
        for each in ready.objects(component):
            is_engine = roots.is_starting(each.id) or roots.is_source(each.id)
            if is_engine and not ready.owners.is_in_git(each.id) and not _is_chart(component, ready):
                yield each


def _is_chart(component: Component, ready: Ready) -> bool:
    """Whether Helm brings it: then its release is a root, or brings it with everything else."""
    return bool(ready.charts.get(component.name, ((), ()))[0])


def _manager(identity: ObjectId, ready: Ready) -> str:
    if identity in ready.roots.by_operator:
        return owning.OPERATOR
    if identity.kind == "Secret":
        return owning.REPOSITORY
    return ready.owners.of(identity)


def _besides(managers: dict[ObjectId, str]) -> dict[ObjectId, str]:
    return {each: owner for each, owner in managers.items() if owner != owning.FIRSTLIGHT}


def _once(objects: list[Object]) -> list[Object]:
    return list({each.id: each for each in reversed(objects)}.values())[::-1]
