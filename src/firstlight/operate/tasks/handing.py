"""The passing of what bootstrap brings: whose it becomes, what Talos releases, and what the certificate covers."""

from firstlight.model import work as works
from firstlight.model.component import Component, ObjectId, Owner, Side
from firstlight.model.plan import Action
from firstlight.model.work import Task
from firstlight.operate.tasks import installing
from firstlight.operate.tasks.preparing import Ready

_NOTHING = "Git has nothing of what bootstrap brings"


def owners(ready: Ready) -> Task:
    """Everything that passes."""
    return works.MigrateOwners(passing=ready.passing) if ready.passing else works.Leave(why=_NOTHING)


def release(ready: Ready) -> Task:
    """The manifests all of whose objects pass: what Git does not have would be nobody's without Talos."""
    if not ready.control_planes:
        return works.Leave(why="the repo has no machines of this cluster: release it from Talos where they are")
    if ready.cluster.omni_template:
        return works.Leave(why="Omni has the configs of the machines: take the manifests out of its template")
    components = _released(ready)
    kept = {each.name: _left(each, ready) for each in _inline(ready) if each not in components}
    if not components:
        why = "; ".join(f"{name} brings {_first(left, ready)}" for name, left in kept.items())
        return works.Leave(why=f"Talos keeps everything: {why}")
    stays = {one.id for each in _inline(ready) if each not in components for one in ready.objects(each)}
    # What a manifest that Talos keeps brings as well, such as a Namespace, stays with it.
    mine = {each.id for component in components for each in ready.objects(component)} - stays
    return works.Release(
        manifests=_manifests(components),
        passing=tuple(each for each in ready.passing if each.id in mine),
        control_planes=ready.control_planes,
        kept={name: f"it brings {_first(left, ready)}" for name, left in kept.items()},
    )


def released(ready: Ready) -> tuple[str, ...]:
    """What Talos releases: names of inline manifests, and URLs of others."""
    return _manifests(_released(ready))


def certify(ready: Ready) -> Task:
    """Everything that passes; Talos must not have any more of what it releases, and what it keeps is said."""
    if not ready.passing:
        return works.Leave(why=_NOTHING)
    components = _released(ready)
    stays = {one.id for each in _inline(ready) if each not in components for one in ready.objects(each)}
    return works.Certify(
        passing=ready.passing, released=_manifests(components), control_planes=ready.control_planes,
        staying=tuple(each.id for each in ready.passing if each.id in stays),
        kept=tuple(each.name for each in ready.facts.bootstrap if each.owner == Owner.BOOTSTRAP),
        revision=ready.revision,
    )  # fmt: skip


def _inline(ready: Ready) -> list[Component]:
    """The components of the plan's release: Talos applies them, and the engine takes them over."""
    names = [name for step in ready.plan.steps if step.action == Action.RELEASE for name in step.targets]
    return [ready.facts.by_name[each] for each in names]


def _released(ready: Ready) -> list[Component]:
    if ready.cluster.omni_template or not ready.control_planes:
        return []  # somebody else has the configs
    return [each for each in _inline(ready) if not _left(each, ready) and ready.objects(each)]


def _left(component: Component, ready: Ready) -> list[ObjectId]:
    passing = {each.id for each in ready.passing}
    return [each.id for each in ready.objects(component) if each.id.name and each.id not in passing]


def _manifests(components: list[Component]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in components for name in installing.manifests(each)))


def _first(left: list[ObjectId], ready: Ready) -> str:
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
