"""Whether somebody puts back what was changed by hand."""

from collections.abc import Iterator

from firstlight.document.within import at, text
from firstlight.model.component import Component, Form, Origin
from firstlight.model.finding import Evidence, Severity
from firstlight.policy.auditing import declared, listing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene


def helm_releases(scene: Scene) -> Iterator[Hit]:
    """HelmReleases without drift detection where most of the cluster's have it; one finding a cluster."""
    for cluster in scene.clusters:
        found = list(_origins(scene, cluster.name, Form.HELM_RELEASE))
        wanted = [each for _, each in found if _mode(each) in ("enabled", "warn")]
        if len(wanted) * 2 < len(found) or not wanted:
            continue
        lacking = sorted((each for _, each in found if not _mode(each)), key=lambda each: each.place)
        if not lacking:
            continue
        stated = declared.of(scene, lacking[0])
        shown = Evidence(f"{wanted[0].name} has driftDetection.mode: {_mode(wanted[0])}", wanted[0].place)
        yield Hit(
            message=f"{listing.listed(each.name for each in lacking)} {'has' if len(lacking) == 1 else 'have'} no "
            "driftDetection, as most here have: what is changed by hand stays changed",
            place=stated.at("spec", "driftDetection") if stated else lacking[0].place,
            clusters=(cluster.name,),
            evidence=(shown, *(Evidence(f"HelmRelease {each.namespace}/{each.name}", each.place) for each in lacking)),
            key="HelmReleases without driftDetection",
        )


def _mode(origin: Origin) -> str:
    return text(origin.definition, "spec", "driftDetection", "mode")


def applications(scene: Scene) -> Iterator[Hit]:
    """Applications that do not put back what was changed by hand; once for those of one ApplicationSet."""
    told: set[tuple[str, str]] = set()
    # What is written in a file of its own comes before what was copied into a machine config.
    found = sorted(_origins(scene, "", Form.APPLICATION), key=lambda each: _is_copied(scene, each[1]))
    for component, origin in found:
        automated = at(origin.definition, "spec", "syncPolicy", "automated")
        is_healed = automated is not None and at(automated, "selfHeal") is True
        if origin.suspended or is_healed or (component.cluster, origin.id) in told:
            continue
        told.add((component.cluster, origin.id))
        yield _unhealed(scene, component, origin, is_manual=automated is None)


def _is_copied(scene: Scene, origin: Origin) -> bool:
    return any(each.path == origin.place.path for cluster in scene.clusters for each in cluster.files)


def _unhealed(scene: Scene, component: Component, origin: Origin, *, is_manual: bool) -> Hit:
    name = text(origin.maker, "metadata", "name")
    who = f"the Applications of ApplicationSet {name}" if name else f"Application {origin.name}"
    verb = "have" if name else "has"
    stated = declared.of(scene, origin)
    steps = (*(("spec", "template") if name else ()), "spec", "syncPolicy", *(() if is_manual else ("automated",)))
    said = "no syncPolicy.automated: only a person syncs" if is_manual else "no selfHeal"
    return Hit(
        message=f"{who} {verb} {said}",
        place=stated.at(*steps) if stated else origin.place,
        clusters=(component.cluster,),
        component="" if name else component.name,
        severity=Severity.NOTE if is_manual else None,
    )


def _origins(scene: Scene, cluster: str, form: Form) -> Iterator[tuple[Component, Origin]]:
    for component in scene.platform.components:
        if not cluster or component.cluster == cluster:
            yield from ((component, each) for each in component.origins if each.form is form)
