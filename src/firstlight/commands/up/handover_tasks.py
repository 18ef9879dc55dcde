"""The passing of what bootstrap brings: whose it becomes, what Talos releases, and what the certificate covers."""

from collections.abc import Iterator

from firstlight.commands.up import install_tasks
from firstlight.commands.up.task_context import TaskContext
from firstlight.engines import engine_roots
from firstlight.model import flux_names, work
from firstlight.model.component import Component, ObjectId, Owner, Side
from firstlight.model.plan import Action
from firstlight.model.rendition import Object
from firstlight.model.work import Installation, Task
from firstlight.plan import final_owners

_NOTHING = "Git has nothing of what bootstrap brings"


def owners(ready: TaskContext) -> Task:
    """Everything that passes."""
    return work.MigrateOwners(passing=ready.passing) if ready.passing else work.Leave(why=_NOTHING)


def release(ready: TaskContext) -> Task:
    """The manifests all of whose objects pass: what Git does not have would be nobody's without Talos."""
    if not ready.control_planes:
        return work.Leave(why="the repo has no machines of this cluster: release it from Talos where they are")
    if ready.cluster.omni_template:
        return work.Leave(why="Omni has the configs of the machines: take the manifests out of its template")
    components = _released(ready)
    kept = {each.name: _left(each, ready) for each in _inline(ready) if each not in components}
    if not components:
        why = "; ".join(f"{name} brings {_first(left, ready)}" for name, left in kept.items())
        return work.Leave(why=f"Talos keeps everything: {why}")
    stays = {one.id for each in _inline(ready) if each not in components for one in ready.objects(each)}
    # What a manifest that Talos keeps brings as well, such as a Namespace, stays with it.
    mine = {each.id for component in components for each in ready.objects(component)} - stays
    return work.ReleaseFromTalos(
        manifests=_manifests(components),
        passing=tuple(each for each in ready.passing if each.id in mine),
        control_planes=ready.control_planes,
        kept={name: f"it brings {_first(left, ready)}" for name, left in kept.items()},
    )


def released(ready: TaskContext) -> tuple[str, ...]:
    """What Talos releases: names of inline manifests, and URLs of others."""
    return _manifests(_released(ready))


def certify(ready: TaskContext) -> Task:
    """Everything that passes; Talos must not have any more of what it releases, and what it keeps is said."""
    if not ready.passing:
        return work.Leave(why=_NOTHING)
    components = _released(ready)
    stays = {one.id for each in _inline(ready) if each not in components for one in ready.objects(each)}
    return work.Certify(
        passing=ready.passing, released=_manifests(components), control_planes=ready.control_planes,
        staying=tuple(each.id for each in ready.passing if each.id in stays),
        kept=tuple(each.name for each in ready.facts.bootstrap if each.owner == Owner.BOOTSTRAP),
        revision=ready.revision,
    )  # fmt: skip


def _inline(ready: TaskContext) -> list[Component]:
    """The components of the plan's release: Talos applies them, and the engine takes them over."""
    names = [name for step in ready.plan.steps if step.action == Action.RELEASE for name in step.targets]
    return [ready.facts.by_name[each] for each in names]


def _released(ready: TaskContext) -> list[Component]:
    if ready.cluster.omni_template or not ready.control_planes:
        return []  # somebody else has the configs
    return [each for each in _inline(ready) if not _left(each, ready) and ready.objects(each)]


def _left(component: Component, ready: TaskContext) -> list[ObjectId]:
    passing = {each.id for each in ready.passing}
    return [each.id for each in ready.objects(component) if each.id.name and each.id not in passing]


def _manifests(components: list[Component]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in components for name in install_tasks.manifests(each)))


def _first(left: list[ObjectId], ready: TaskContext) -> str:
    """What of a manifest does not pass, and why not."""
    if not left:
        return "nothing that was rendered"
    given = {
        each.id for (_, side), one in ready.facts.renditions.items() if side == Side.GITOPS for each in one.objects
    }
    # What nothing in Git keeps up to date says more than what the engine is told not to.
    first = min(left, key=lambda each: each in given)
    why = "which Git has and tells the engine to leave alone" if first in given else "which Git does not have"
    rest = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return f"{first.kind} {first.name}{rest}, {why}"


# The engine pointed at the repo: the source first, and the roots only when the baseline is saved.


_HINT = "Write gitops.url, and clusters, NAME, path in firstlight.yaml."


def source(ready: TaskContext) -> Task:
    """What the engine fetches from; nothing of it makes the engine apply anything."""
    found = ready.roots
    if found.unclear and not found.roots:
        return work.Refuse(why=found.unclear, hint=_HINT)
    mine = tuple(each for each in found.sources if each.id not in ready.inline)
    if not mine:
        return work.Watch(revision=ready.revision, objects=found.sources)
    managers = {each.id: _manager(each.id, ready) for each in mine}
    return work.Apply(objects=mine, manager=final_owners.FIRSTLIGHT, managers=_besides(managers))


def root(ready: TaskContext) -> Task:
    """What makes the engine follow the repo; watched alone where Talos applies it with the engine."""
    found = ready.roots
    if found.unclear:
        return work.Refuse(why=found.unclear, hint=_HINT)
    # Sources of other repositories tell nothing of this one's commit, so that they come with what reads them.
    held = [each for each in _held_back(ready) if each.id not in found.made]
    held.sort(key=lambda each: not engine_roots.is_source(each.id))
    known = {each.id for each in found.sources}
    objects = [each for each in _once([*found.roots, *held]) if each.id not in ready.inline and each.id not in known]
    if not objects:
        return work.Watch(revision=ready.revision, objects=found.roots)
    releases = tuple(each for each, _ in _releases(ready))
    installed = {identity for _, ids in _releases(ready) for identity in ids}
    beside = tuple(each for each in objects if each.id not in installed)
    managers = {each.id: _manager(each.id, ready) for each in beside}
    if releases:
        return work.Install(
            releases=releases, objects=tuple(objects), beside=beside, manager=final_owners.FIRSTLIGHT,
            managers=_besides(managers),
        )  # fmt: skip
    return work.Apply(objects=beside, manager=final_owners.FIRSTLIGHT, managers=_besides(managers))


def _releases(ready: TaskContext) -> Iterator[tuple[Installation, tuple[ObjectId, ...]]]:
    """The releases that are roots, with what they bring: of ``flux-instance``, or of nothing but Applications."""
    for component in ready.facts.bootstrap:
        objects = ready.objects(component)
        starting = tuple(each.id for each in objects if engine_roots.is_starting(each.id) or engine_roots.syncs(each))
        releases, _ = ready.charts.get(component.name, ((), ()))
        for each in releases:
            if install_tasks.syncs(each) or (starting and len(starting) == len(objects)):
                yield each, starting


def _held_back(ready: TaskContext) -> Iterator[Object]:
    """What components would have started too early, and nothing in Git brings."""
    for component in ready.facts.bootstrap:
        for each in ready.objects(component):
            is_engine = engine_roots.is_starting(each.id) or engine_roots.is_source(each.id)
            if is_engine and not ready.owners.is_in_git(each.id) and not _is_chart(component, ready):
                yield each


def _is_chart(component: Component, ready: TaskContext) -> bool:
    """Whether Helm brings it: then its release is a root, or brings it with everything else."""
    return bool(ready.charts.get(component.name, ((), ()))[0])


def _manager(identity: ObjectId, ready: TaskContext) -> str:
    if identity in ready.roots.by_operator:
        return flux_names.FLUX_OPERATOR
    if identity.kind == "Secret":
        return final_owners.REPOSITORY
    return ready.owners.of(identity)


def _besides(managers: dict[ObjectId, str]) -> dict[ObjectId, str]:
    return {each: owner for each, owner in managers.items() if owner != final_owners.FIRSTLIGHT}


def _once(objects: list[Object]) -> list[Object]:
    return list({each.id: each for each in reversed(objects)}.values())[::-1]
