"""Who needs whom in bootstrap, and who has objects of whose kinds."""

from collections.abc import Collection, Iterator

from firstlight.model.component import Component, Phase, Side
from firstlight.model.place import Place
from firstlight.model.source import Chart
from firstlight.plan import facts
from firstlight.plan.facts import Facts
from firstlight.policy.auditing import chart_crds
from firstlight.policy.auditing.scene import Scene

Use = tuple[str, Place]
"""What is made, in words, and where that is said."""


def reaches(known: Facts, name: str, wanted: str) -> bool:
    """Whether a component needs another, directly or through others."""
    waiting, seen = [name], set[str]()
    while waiting:
        each = waiting.pop()
        if each == wanted:
            return True
        if each in seen:
            continue
        seen.add(each)
        component = known.by_name.get(each)
        waiting += [*component.needs, *_parents(known, component)] if component else []
    return False


def comes_after(known: Facts, user: Component, maker: Component) -> bool:
    """Whether one is installed after another: it needs it, or stands in another file, which helmfile takes in turn."""
    paths = [{each.place.path for each in facts.origins(one, Side.BOOTSTRAP)} for one in (user, maker)]
    return reaches(known, user.name, maker.name) or not paths[0] & paths[1]


def _parents(known: Facts, component: Component) -> Iterator[str]:
    """A hook comes with its release, and after what that needs."""
    for origin in component.origins:
        if origin.parent and (parent := known.by_origin.get(origin.parent)):
            yield parent


def users(scene: Scene, cluster: str, groups: Collection[str], *, but: str) -> list[tuple[Component, Use]]:
    """Components of bootstrap that have objects of API groups, once each, without those that bring the kinds."""
    found: list[tuple[Component, Use]] = []
    for component in scene.facts[cluster].bootstrap:
        if component.name == but or component.phase is Phase.CRDS:
            continue
        use = next(_uses(scene, component, groups), None)
        if use is not None:
            found.append((component, use))
    return found


def _uses(scene: Scene, component: Component, groups: Collection[str]) -> Iterator[Use]:
    for origin in facts.origins(component, Side.BOOTSTRAP):
        for made in origin.objects:
            if made.group in groups:
                yield str(made), origin.place
        for source in facts.sources(origin):
            known = chart_crds.of(source.name) if isinstance(source, Chart) else None
            for group in known.uses if known else ():
                if group in groups:
                    yield f"objects of {group}", origin.place
    for item in scene.facts[component.cluster].objects(component, Side.BOOTSTRAP):
        if item.id.group in groups:
            yield str(item.id), facts.place(component, Side.BOOTSTRAP)
