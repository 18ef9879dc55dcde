"""Whether somebody puts back what was changed by hand."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import stated_edits, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import conditions
from firstlight.document.within import at, mapping, text
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Component, ObjectId, Origin, Owner, SourceForm
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.repo.platform_view import LiveObjects, PlatformView


def helm_releases_without_drift_detection(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """HelmReleases without drift detection where most of the cluster's have it; one finding a cluster."""
    for cluster in scene.clusters:
        found = list(_origins(scene, cluster.name, SourceForm.HELM_RELEASE))
        wanted = [each for _, each in found if _mode(each) in ("enabled", "warn")]
        if len(wanted) * 2 < len(found) or not wanted:
            continue
        lacking = sorted((each for _, each in found if not _mode(each)), key=lambda each: each.place)
        if not lacking:
            continue
        stated = stated_edits.declaring_object(scene, lacking[0])
        shown = Evidence(f"{wanted[0].name} has driftDetection.mode: {_mode(wanted[0])}", wanted[0].place)
        yield rule.finding(
            f"{wording.listed_names(each.name for each in lacking)} "
            f"{'has' if len(lacking) == 1 else 'have'} no "
            "driftDetection, as most here have: what is changed by hand stays changed",
            at=stated.at("spec", "driftDetection") if stated else lacking[0].place,
            clusters=(cluster.name,),
            evidence=(
                shown,
                *(Evidence(f"HelmRelease {each.namespace}/{each.name}", each.place) for each in lacking),
            ),
            key="HelmReleases without driftDetection",
        )


def _mode(origin: Origin) -> str:
    return text(origin.definition, "spec", "driftDetection", "mode")


def applications_without_self_heal(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Applications that do not put back what was changed by hand; once for those of one ApplicationSet."""
    told: set[tuple[str, str]] = set()
    # What is written in a file of its own comes before what was copied into a machine config.
    found = sorted(_origins(scene, "", SourceForm.APPLICATION), key=lambda each: _is_copied(scene, each[1]))
    for component, origin in found:
        automated = at(origin.definition, "spec", "syncPolicy", "automated")
        is_healed = automated is not None and at(automated, "selfHeal") is True
        if origin.suspended or is_healed or (component.cluster, origin.id) in told:
            continue
        told.add((component.cluster, origin.id))
        yield _unhealed(rule, scene, component, origin, is_manual=automated is None)


def _is_copied(scene: PlatformView, origin: Origin) -> bool:
    return any(each.path == origin.place.path for cluster in scene.clusters for each in cluster.files)


def _unhealed(
    rule: AuditRule, scene: PlatformView, component: Component, origin: Origin, *, is_manual: bool
) -> Finding:
    name = text(origin.maker, "metadata", "name")
    who = f"the Applications of ApplicationSet {name}" if name else f"Application {origin.name}"
    verb = "have" if name else "has"
    stated = stated_edits.declaring_object(scene, origin)
    steps = (*(("spec", "template") if name else ()), "spec", "syncPolicy", *(() if is_manual else ("automated",)))
    # Somebody who writes false has thought of it.
    is_meant = at(origin.definition, "spec", "syncPolicy", "automated", "selfHeal") is False
    said = (
        "no syncPolicy.automated: only a person syncs"
        if is_manual
        else "selfHeal: false"
        if is_meant
        else "no selfHeal"
    )
    return rule.finding(
        f"{who} {verb} {said}",
        at=stated.at(*steps) if stated else origin.place,
        clusters=(component.cluster,),
        subject="" if name else component.name,
        severity=Severity.NOTE if is_manual or is_meant else None,
    )


def _origins(scene: PlatformView, cluster: str, form: SourceForm) -> Iterator[tuple[Component, Origin]]:
    for component in scene.platform.components:
        if not cluster or component.cluster == cluster:
            yield from ((component, each) for each in component.origins if each.form is form)


# What Git itself has put to rest or overridden, and for how long.


UNTIL, REASON = "firstlight.dev/suspended-until", "firstlight.dev/reason"
_OVERRIDE = "firstlight.dev/override-until"
"""How long an override is to stand; what has it is suspended on purpose."""
_RESTING = (
    flux_names.KUSTOMIZATION_GROUP_KIND, flux_names.HELM_RELEASE_GROUP_KIND, argocd_names.APPLICATION_GROUP_KIND,
)  # fmt: skip
"""What an override lets rest, in the cluster and not in Git."""


def overridden(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Overrides that stand longer than they were meant to."""
    for item in scene.items:
        end = wording.parse_day(mapping(item.value, "metadata", "annotations").get(_OVERRIDE))
        if end is not None and end < scene.today:
            yield rule.finding(
                f"the override of {item.object.id} was to end on {end}",
                at=item.object.at("metadata", "annotations", _OVERRIDE),
                clusters=(item.cluster,),
                subject=item.component.name,
            )
    for cluster in scene.platform.clusters:
        live = scene.live.get(cluster.name, LiveObjects(objects={}))
        for value in (each for kind in _RESTING for each in live.of(kind)):
            written = text(value, "metadata", "annotations", _OVERRIDE)
            if _is_over(written, live, scene):
                yield rule.finding(
                    f"{ObjectId.of(value)} rests for an override that was to end on {written}",
                    at=cluster.place,
                    clusters=(cluster.name,),
                    fix="firstlight override status tells which; anybody may end or abort it.",
                )


def _is_over(written: str, live: LiveObjects, scene: PlatformView) -> bool:
    """Whether a moment has passed: an override stands for hours, and by its day alone it would be red too late."""
    moment, last = conditions.moment(written), wording.parse_day(written)
    if moment is not None and live.at is not None:
        return moment < live.at
    return last is not None and last < scene.today


def suspended(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Objects of the engine that are suspended in Git without an end, or beyond it."""
    kept = _kept(scene)
    for item in scene.items:
        id = item.object.id
        steps = _way(item.value, id.group, id.kind)
        if steps is None or (item.cluster, id.kind, id.name) in kept:
            continue
        annotations = mapping(item.value, "metadata", "annotations")
        until, reason = str(annotations.get(UNTIL) or ""), str(annotations.get(REASON) or "")
        end = wording.parse_day(until)
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
        yield rule.finding(
            said,
            at=item.object.at(*steps) if not until else item.object.at("metadata", "annotations", UNTIL),
            clusters=(item.cluster,),
            subject=item.component.name,
            evidence=evidence,
            severity=None if end is not None else Severity.WARNING,
        )


def _kept(scene: PlatformView) -> frozenset[tuple[str, str, str]]:
    """What declares components that bootstrap keeps: it rests as long as that is so, as firstlight.yaml says."""
    return frozenset(
        (component.cluster, origin.form.value, origin.name)
        for component in scene.platform.components
        if component.owner == Owner.BOOTSTRAP
        for origin in component.halves[1]
    )


def _way(value: Mapping[str, Any], group: str, kind: str) -> tuple[str, ...] | None:
    """The way to what suspends an object; None where nothing does."""
    if group.endswith(flux_names.TOOLKIT_DOMAIN) and at(value, "spec", "suspend") is True:
        return ("spec", "suspend")
    if group == argocd_names.GROUP and kind == SourceForm.APPLICATION:
        if str(at(value, "metadata", "annotations", argocd_names.SKIP_RECONCILE_ANNOTATION)) == "true":
            return ("metadata", "annotations", argocd_names.SKIP_RECONCILE_ANNOTATION)
        if at(value, "spec", "syncPolicy", "automated", "enabled") is False:
            return ("spec", "syncPolicy", "automated", "enabled")
    return None
