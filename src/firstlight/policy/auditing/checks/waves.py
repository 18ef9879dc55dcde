"""Sync waves of Argo CD that do nothing, or put something before what it needs."""

from collections.abc import Iterator

from firstlight.document.within import sequence, text
from firstlight.model.component import Component, Form, ObjectId, Origin
from firstlight.model.finding import Evidence, Severity
from firstlight.model.remark import Remark
from firstlight.model.source import Chart
from firstlight.plan import facts
from firstlight.policy.auditing import suppliers
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene

_WAVE = "argocd.argoproj.io/sync-wave"
_HEALTH = "a sync wave of Applications does not wait"
_ROOTLESS = "sync waves order nothing here"
_IDLE = (
    _ROOTLESS,
    "a sync wave on the Applications of an ApplicationSet orders nothing",
    "a kustomization replaces this sync wave",
)
"""What the reader of Argo CD says of waves."""

Waved = tuple[Component, Origin, int]


def unhealthy(scene: Scene) -> Iterator[Hit]:
    """Waves of Applications that do not wait until those before are healthy."""
    yield from _said(scene, (_HEALTH,))


def idle(scene: Scene) -> Iterator[Hit]:
    """Waves that order nothing."""
    yield from _said(scene, _IDLE)


def _said(scene: Scene, starts: tuple[str, ...]) -> Iterator[Hit]:
    found: dict[str, list[Remark]] = {}
    for remark in scene.platform.remarks:
        if remark.message.startswith(starts):
            found.setdefault(remark.message, []).append(remark)
    for message, (first, *more) in found.items():
        evidence = tuple(Evidence("and here", each.place) for each in more)
        # The Application that brings them may be made elsewhere: by hand, by Terraform, by a chart.
        severity = Severity.NOTE if message.startswith(_ROOTLESS) else None
        yield Hit(message=message, place=first.place, fix=first.hint, evidence=evidence, severity=severity)


def early(scene: Scene) -> Iterator[Hit]:
    """What comes in an earlier wave than what it needs: Applications of one parent, and objects of one Application."""
    for cluster in scene.clusters:
        waved: dict[str, list[Waved]] = {}
        for component in scene.platform.components_of(cluster.name):
            for origin in component.origins:
                if origin.form is Form.APPLICATION:
                    waved.setdefault(origin.parent, []).append((component, origin, origin.wave or 0))
        for parent, group in waved.items():
            if parent:
                yield from _applications(scene, group)
    yield from _objects(scene)


def _applications(scene: Scene, group: list[Waved]) -> Iterator[Hit]:
    waits = not any(each.message.startswith(_HEALTH) for each in scene.platform.remarks)
    for component, origin, wave in group:
        # A thing that comes with another one in an earlier wave is there in time.
        for what, shown, who in _needs(scene, component, origin, group):
            if not who or min(each[2] for each in who) <= wave:
                continue
            other, there, later = min(who, key=lambda each: each[2])
            stated = scene.declaring(origin)
            steps = ("metadata", "annotations", _WAVE)
            yield Hit(
                message=f"{origin.name} is in wave {wave}, and needs {what} of {there.name}, which is in wave {later}"
                + (f": {origin.name} is never healthy, and the wave never ends" if waits else ""),
                place=stated.at(*steps) if stated else origin.place,
                clusters=(component.cluster,),
                component=component.name,
                evidence=(shown, Evidence(f"{other.name} is in wave {later}", there.place)),
                # Without a health check of Applications the next wave comes in any case.
                severity=None if waits else Severity.WARNING,
            )
            break


def _needs(
    scene: Scene, component: Component, origin: Origin, group: list[Waved]
) -> Iterator[tuple[str, Evidence, list[Waved]]]:
    """What an Application needs: volumes, and kinds of its objects."""
    classes = [each for each in group if each[0].role == "storage" and each[1].id != origin.id]
    storage = _claims(scene, component, origin)
    if storage is not None and component.role != "storage":
        yield "the volumes", storage, classes
    brought = suppliers.of_kinds(scene, component.cluster)
    for each in origin.stated:
        who = {id(other) for _, other in brought.get(each.id.group, ())}
        mine = [other for other in group if id(other[1]) in who]
        # Argo CD's own kinds are there before it reads anything.
        if who and len(mine) == len(who) and each.id.group != "argoproj.io":
            yield f"the kind {each.id.kind}", Evidence(f"{origin.name} has {each.id}", each.place), mine


def _claims(scene: Scene, component: Component, origin: Origin) -> Evidence | None:
    """What shows that it does not start without volumes."""
    for each in origin.stated:
        if each.id.kind == "PersistentVolumeClaim" or sequence(each.value, "spec", "volumeClaimTemplates"):
            return Evidence(f"{each.id} claims volumes", each.place)
    if not any(isinstance(each, Chart) for each in facts.sources(origin)):
        return None
    for path in (("server", "dataStorage", "enabled"), ("persistence", "enabled"), ("dataStorage", "enabled")):
        given = scene.value(component, *path)
        if given is not None and given.value is True:
            return Evidence(f"{'.'.join(path)} claims volumes", given.place)
    return None


def _objects(scene: Scene) -> Iterator[Hit]:
    """Objects in an earlier wave than their namespace or their kind, in one Application."""
    for component in scene.platform.components:
        for origin in component.origins:
            if origin.form is Form.APPLICATION and any(_wave_of(each.value) for each in origin.stated):
                yield from _in_one(component, origin)


def _in_one(component: Component, origin: Origin) -> Iterator[Hit]:
    items = [Item(cluster=component.cluster, component=component, origin=origin, object=each) for each in origin.stated]
    namespaces = {each.object.id.name: each for each in items if each.object.id.kind == "Namespace"}
    kinds = {_defined(each): each for each in items if each.object.id.kind == "CustomResourceDefinition"}
    told: set[ObjectId] = set()
    for item in items:
        found = item.object.id
        for base in (namespaces.get(found.namespace), kinds.get((found.group, found.kind))):
            if base is None or base is item or base.object.id in told or _wave(base) <= _wave(item):
                continue
            told.add(base.object.id)
            yield Hit(
                message=f"{found} is in wave {_wave(item)}, before {base.object.id} in wave {_wave(base)}",
                place=item.object.at("metadata", "annotations", _WAVE),
                clusters=(component.cluster,),
                component=component.name,
                evidence=(Evidence(str(base.object.id), base.object.at("metadata", "annotations", _WAVE)),),
            )


def _defined(item: Item) -> tuple[str, str]:
    return text(item.value, "spec", "group"), text(item.value, "spec", "names", "kind")


def _wave(item: Item) -> int:
    return _wave_of(item.value)


def _wave_of(value: object) -> int:
    written = text(value, "metadata", "annotations", _WAVE).strip()
    return int(written) if written.lstrip("-").isdecimal() and len(written) < 12 else 0
