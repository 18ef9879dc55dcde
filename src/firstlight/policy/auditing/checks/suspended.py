"""What Git itself has put to rest or overridden, and for how long."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, text
from firstlight.gates import status
from firstlight.model.component import Form, ObjectId, Owner
from firstlight.model.finding import Evidence, Severity
from firstlight.policy.auditing import days
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Live, Scene

UNTIL, REASON = "firstlight.dev/suspended-until", "firstlight.dev/reason"
_OVERRIDE = "firstlight.dev/override-until"
"""How long an override is to stand; what has it is suspended on purpose."""
_RESTING = (
    "kustomize.toolkit.fluxcd.io/Kustomization", "helm.toolkit.fluxcd.io/HelmRelease", "argoproj.io/Application",
)  # fmt: skip
"""What an override lets rest, in the cluster and not in Git."""
_PAUSED = "argocd.argoproj.io/skip-reconcile"
_FLUX = "toolkit.fluxcd.io"


def overridden(scene: Scene) -> Iterator[Hit]:
    """Overrides that stand longer than they were meant to."""
    for item in scene.items:
        end = days.day(mapping(item.value, "metadata", "annotations").get(_OVERRIDE))
        if end is not None and end < scene.today:
            yield Hit(
                message=f"the override of {item.object.id} was to end on {end}",
                place=item.object.at("metadata", "annotations", _OVERRIDE),
                clusters=(item.cluster,),
                component=item.component.name,
            )
    for cluster in scene.platform.clusters:
        live = scene.live.get(cluster.name, Live(objects={}))
        for value in (each for kind in _RESTING for each in live.of(kind)):
            written = text(value, "metadata", "annotations", _OVERRIDE)
            if _is_over(written, live, scene):
                yield Hit(
                    message=f"{ObjectId.of(value)} rests for an override that was to end on {written}",
                    place=cluster.place,
                    clusters=(cluster.name,),
                    fix="firstlight override status tells which; anybody may end or abort it.",
                )


def _is_over(written: str, live: Live, scene: Scene) -> bool:
    """Whether a moment has passed: an override stands for hours, and by its day alone it would be red too late."""
    moment, last = status.moment(written), days.day(written)
    if moment is not None and live.at is not None:
        return moment < live.at
    return last is not None and last < scene.today


def suspended(scene: Scene) -> Iterator[Hit]:
    """Objects of the engine that are suspended in Git without an end, or beyond it."""
    kept = _kept(scene)
    for item in scene.items:
        id = item.object.id
        steps = _way(item.value, id.group, id.kind)
        if steps is None or (item.cluster, id.kind, id.name) in kept:
            continue
        annotations = mapping(item.value, "metadata", "annotations")
        until, reason = str(annotations.get(UNTIL) or ""), str(annotations.get(REASON) or "")
        end = days.day(until)
        what = f"{item.object.id.kind} {item.object.id.name}"
        if annotations.get(_OVERRIDE) or (end is not None and end >= scene.today):
            continue
        if until and end is None:
            said = f"{what} is suspended until {until}, which is no day such as 2026-11-01"
        elif end is not None:
            said = f"{what} is suspended in Git, which was to end on {end}"
        else:
            said = f"{what} is suspended in Git, and nothing says until when"
        evidence = (Evidence(f"reason: {reason}", item.object.at("metadata", "annotations", REASON)),) if reason else ()
        yield Hit(
            message=said,
            place=item.object.at(*steps) if not until else item.object.at("metadata", "annotations", UNTIL),
            clusters=(item.cluster,),
            component=item.component.name,
            evidence=evidence,
            severity=None if end is not None else Severity.WARNING,
        )


def _kept(scene: Scene) -> frozenset[tuple[str, str, str]]:
    """What declares components that bootstrap keeps: it rests as long as that is so, as firstlight.yaml says."""
    return frozenset(
        (component.cluster, origin.form.value, origin.name)
        for component in scene.platform.components
        if component.owner == Owner.BOOTSTRAP
        for origin in component.halves[1]
    )


def _way(value: Mapping[str, Any], group: str, kind: str) -> tuple[str, ...] | None:
    """The way to what suspends an object; None where nothing does."""
    if group.endswith(_FLUX) and at(value, "spec", "suspend") is True:
        return ("spec", "suspend")
    if group == "argoproj.io" and kind == Form.APPLICATION:
        if str(at(value, "metadata", "annotations", _PAUSED)) == "true":
            return ("metadata", "annotations", _PAUSED)
        if at(value, "spec", "syncPolicy", "automated", "enabled") is False:
            return ("spec", "syncPolicy", "automated", "enabled")
    return None
