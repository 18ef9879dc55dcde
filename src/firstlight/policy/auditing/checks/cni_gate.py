"""Whether bootstrap waits for the network before it goes on to the engine."""

import re
from collections.abc import Iterator
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.finding import Evidence
from firstlight.plan import facts
from firstlight.plan.facts import Facts
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.reach import reaches
from firstlight.policy.auditing.scene import Scene

_WAITS = re.compile(r"\brollout status\b|\bwait\b|\bcilium status\b|--wait\b|--atomic\b")
_ASKED = re.compile(r"^[^#]*(?:rollout status|\bwait\b|cilium status|get (?:pods?|nodes?|ds|daemonset)).*")


def missing(scene: Scene) -> Iterator[Hit]:
    """A CNI in bootstrap that nothing waits for, with the engine after it."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        engines = known.with_role("engine")
        for component in known.with_role("cni") if engines else ():
            for origin in facts.origins(component, Side.BOOTSTRAP):
                if not _is_awaited(scene, known, component, origin):
                    engine = engines[-1]
                    after = Evidence(f"{engine.name} is installed after it", facts.place(engine, Side.BOOTSTRAP))
                    yield Hit(
                        message=f"nothing waits until {component.name} is up before {engine.name} is installed",
                        place=origin.place,
                        clusters=(cluster.name,),
                        component=component.name,
                        evidence=(after,),
                        fix=_fix(origin),
                    )


def _is_awaited(scene: Scene, known: Facts, component: Component, origin: Origin) -> bool:
    match origin.form:
        case Form.HELMFILE:
            return _waits(origin) or any(_waits(each) for each in _between(known, component))
        case Form.HELM_COMMAND:
            return bool(_WAITS.search(origin.command)) or _script_waits(scene, known)
    # Talos applies inline manifests all at once and tries again; of other forms too little is known.
    return True


def _waits(origin: Origin) -> bool:
    given = origin.definition
    hooks: list[Any] = [each for each in sequence(given, "hooks") if "postsync" in sequence(each, "events")]
    asked = any(_WAITS.search(text(each, "command")) or ".sh" in text(each, "command") for each in hooks)
    return asked or any(given.get(key) is True for key in ("wait", "waitForJobs", "atomic"))


def _between(known: Facts, cni: Component) -> Iterator[Origin]:
    """Releases that the engine needs, and that need the network themselves: whoever waits for one waits for it."""
    for engine in known.with_role("engine"):
        for component in known.bootstrap:
            is_between = reaches(known, engine.name, component.name) and reaches(known, component.name, cni.name)
            if component.name not in (cni.name, engine.name) and is_between:
                yield from (each for each in component.origins if each.form is Form.HELMFILE)


def _script_waits(scene: Scene, known: Facts) -> bool:
    """Whether any script of bootstrap asks for nodes or pods to be ready."""
    paths = {origin.place.path for component in known.bootstrap for origin in facts.origins(component, Side.BOOTSTRAP)}
    return any(next(scene.lines(path, _ASKED.pattern), None) is not None for path in sorted(paths))


def _fix(origin: Origin) -> str:
    if origin.form is Form.HELMFILE:
        return "Write wait: true there, or a postsync hook with kubectl rollout status daemonset/…"
    return "Add --wait, or kubectl rollout status daemonset/… after it."
