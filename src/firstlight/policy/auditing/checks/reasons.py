"""Why bootstrap has what it has, and whether anybody has looked at it lately."""

from collections.abc import Iterator

from firstlight.model.component import Component, Side
from firstlight.model.finding import Evidence
from firstlight.model.place import Place
from firstlight.plan import facts
from firstlight.policy.auditing import charts
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_ENGINES = ("toolkit.fluxcd.io", "argoproj.io")
_LONG = 365
"""Days after which bootstrap is worth a look: a year has three versions of Kubernetes."""


def missing(scene: Scene) -> Iterator[Hit]:
    """Components of bootstrap for which neither firstlight.yaml nor common knowledge has a reason."""
    for cluster in scene.clusters if scene.platform.declared is not None else ():
        known = scene.facts[cluster.name]
        for component in known.bootstrap:
            if not component.is_why_declared and not component.role and not _is_root(component):
                yield Hit(
                    message=f"{component.name} is in bootstrap, and nothing says why",
                    place=_declared(scene, component.name),
                    clusters=(cluster.name,),
                    component=component.name,
                    fix=f"Write components.{component.name}.why in firstlight.yaml, or leave it to GitOps.",
                )


def _is_root(component: Component) -> bool:
    """Whether it is what points the engine at the repo, which needs no reason."""
    if charts.has(component, charts.ROOTS):
        return True
    made = [each for origin in facts.origins(component, Side.BOOTSTRAP) for each in origin.objects]
    return bool(made) and all(each.group.endswith(_ENGINES) for each in made)


def _declared(scene: Scene, name: str) -> Place:
    """Where a component is declared in firstlight.yaml, or where it would be."""
    assert scene.platform.declared is not None
    path = scene.platform.declared.path
    documents = scene.files.documents(path)
    return documents[0].place("components", name) if documents else Place(path)


def not_reviewed(scene: Scene) -> Iterator[Hit]:
    """Files of bootstrap that nobody has changed for long."""
    for path, day in sorted(scene.committed.items()):
        if (scene.today - day).days > _LONG:
            yield Hit(message=f"{path} has not been changed since {day}", place=Place(path), key=f"{path} is old")


def without_need(scene: Scene) -> Iterator[Hit]:
    """What bootstrap has, and nothing uses before the engine is up: all of it in one finding."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        spare = [known.by_name[each] for each in scene.plans[cluster.name].smallest.spare]
        spare = [
            each
            for each in spare
            if facts.charts(each, Side.BOOTSTRAP) and not each.is_why_declared and not _is_root(each)
        ]
        if spare:
            places = [(each.name, facts.place(each, Side.BOOTSTRAP)) for each in spare]
            names = ", ".join(name for name, _ in places)
            yield Hit(
                message=f"nothing that the engine needs uses {names}: GitOps could bring "
                f"{'it' if len(spare) == 1 else 'them'}",
                place=places[0][1],
                clusters=(cluster.name,),
                evidence=tuple(Evidence(f"{name} is in bootstrap", place) for name, place in places),
            )
