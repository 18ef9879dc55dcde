"""Whether Flux knows when something is ready, and when it tries again."""

import re
from collections.abc import Iterator

from firstlight.commands.audit import apply_order, stated_edits, wording
from firstlight.commands.audit.apply_order import KustomizationOrder, short_name
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import flux_names
from firstlight.model.component import ObjectId, Origin, SourceForm
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import FileEdit, Finding
from firstlight.model.place import Place
from firstlight.plan import pod_needs
from firstlight.repo.platform_view import PlatformView

_PASSIVE = {
    "ConfigMap", "Secret", "Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
    "PriorityClass", "StorageClass", "RuntimeClass", "IngressClass", "GatewayClass", "VolumeSnapshotClass",
    "NetworkPolicy", "LimitRange", "ResourceQuota", "PrometheusRule", "ServiceMonitor", "PodMonitor",
    "CustomResourceDefinition",
}  # fmt: skip
"""Kinds that are as ready as they get once they are applied; for CRDs Flux waits in any case."""
_RUNNING = (flux_names.KUSTOMIZATION, flux_names.HELM_RELEASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_LONGEST = 40
"""Characters of a duration that somebody means."""
_GATE = "DefaultToRetryOnFailure=true"
_LONG = 15 * 60
_VERY_LONG = 60 * 60
_RETRY = "2m"


def dependencies(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Kustomizations that others depend on, and that are ready as soon as they are applied."""
    for order in apply_order.order_of(scene):
        for name, dependents in sorted(order.dependents.items()):
            found = _unproven(order, name) if name in order.all else []
            if not found:
                continue
            component, origin = order.all[name]
            first = next((each for each in found if _runs(each)), found[0])
            stated = stated_edits.declaring_object(scene, origin)
            evidence = [Evidence(f"{short_name(each)} depends on it", _need(order, each, name)) for each in dependents]
            yield rule.finding(
                f"{origin.name} is ready as soon as it is applied, whether {_works(first)} or not, "
                "and others depend on it",
                at=stated.at("spec", "wait") if stated else origin.place,
                clusters=(order.cluster,),
                subject=component.name,
                evidence=tuple(evidence),
                key=f"{origin.id} is not waited for",
                # What is only configured, such as an issuer, others find in time or try again.
                severity=None if _runs(first) else Severity.NOTE,
            )


def idle_expressions(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Kustomizations with expressions for the health of objects that they do not wait for."""
    for component in scene.platform.components:
        for origin in component.origins:
            spec = mapping(origin.definition, "spec") if origin.form is SourceForm.KUSTOMIZATION else {}
            if not spec.get("healthCheckExprs") or spec.get("wait") or spec.get("healthChecks"):
                continue
            stated = stated_edits.declaring_object(scene, origin)
            yield rule.finding(
                f"{origin.name} has healthCheckExprs, and neither wait nor healthChecks",
                at=stated.at("spec", "healthCheckExprs") if stated else origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                key=f"{origin.id} evaluates nothing",
            )


def _runs(found: ObjectId) -> bool:
    """Whether an object brings pods, so that it takes its time to be ready."""
    return found.kind in _RUNNING or (found.group, found.kind) in pod_needs.TEMPLATES


def _works(found: ObjectId) -> str:
    return f"{found.kind} {found.name} {'is ready' if found.kind == flux_names.KUSTOMIZATION else 'works'}"


def _need(order: KustomizationOrder, name: str, other: str) -> Place | None:
    return next((need.place for need in order.all[name][1].needs if need.id == other), None)


def _unproven(order: KustomizationOrder, name: str) -> list[ObjectId]:
    """What nobody waits for; nothing where there is nothing to wait for, or somebody does."""
    _, origin = order.all[name]
    spec = at(origin.definition, "spec")
    if at(spec, "wait") is True or sequence(spec, "healthChecks"):
        return []
    if _is_expected(order, name) or _wait_alone(order, name):
        return []
    found = []
    above = [order.applied[each] for each in order.above(name)[1:]]
    for each in origin.stated:
        # What those above apply as well is theirs: that there are two owners is another matter.
        if each.id.kind in _PASSIVE or each.id.group == flux_names.SOURCE_GROUP or any(each.id in ids for ids in above):
            continue
        child = f"kustomization/{each.id.namespace}/{each.id.name}"
        # What brings it, and what itself waits for it, it cannot wait for.
        if each.id.kind == flux_names.KUSTOMIZATION and (child in order.above(name) or name in order.before(child)):
            continue
        if (each.id.group, each.id.kind) == ("", "Service"):
            continue
        found.append(each.id)
    return found


def _is_expected(order: KustomizationOrder, name: str) -> bool:
    """Whether all that depend on it say themselves what they expect of it."""
    said = [
        text(each, "readyExpr")
        for other in order.dependents[name]
        for each in sequence(order.all[other][1].definition, "spec", "dependsOn")
        if text(each, "name") == short_name(name)
    ]
    return bool(said) and all(said)


def _wait_alone(order: KustomizationOrder, name: str) -> bool:
    """Whether all that depend on it only bring HelmReleases that themselves wait for its HelmReleases."""
    releases = {each.id.name for each in order.all[name][1].stated if each.id.kind == flux_names.HELM_RELEASE}
    for other in order.dependents[name]:
        running = [each for each in order.all[other][1].stated if _runs(each.id)]
        for each in running:
            awaited = {text(one, "name") for one in sequence(each.value, "spec", "dependsOn")}
            if each.id.kind != flux_names.HELM_RELEASE or not releases & awaited:
                return False
        if not running:
            return False
    return bool(releases)


def retries(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Kustomizations that are tried again only after a long interval; one finding a cluster."""
    for order in apply_order.order_of(scene):
        found = [origin for _, origin in order.all.values() if _waits_long(origin)]
        if found:
            yield _again(rule, scene, order.cluster, sorted(found, key=lambda each: each.place))


def _again(rule: AuditRule, scene: PlatformView, cluster: str, origins: list[Origin]) -> Finding:
    edits: list[FileEdit] = []
    evidence = []
    for each in origins:
        stated = stated_edits.declaring_object(scene, each)
        said = f"{each.name}: interval {text(each.definition, 'spec', 'interval')}"
        evidence.append(Evidence(said, stated.at("spec", "interval") if stated else None))
        edits += stated_edits.set_edit(stated, "spec", "retryInterval", value=_RETRY)
    longest = max(_seconds(text(each.definition, "spec", "interval")) for each in origins)
    names, verb = wording.listed_names(each.name for each in origins), "is" if len(origins) == 1 else "are"
    return rule.finding(
        f"{names} {verb} tried again only after the whole interval when something fails",
        at=evidence[0].place or origins[0].place,
        clusters=(cluster,),
        evidence=tuple(evidence),
        edits=tuple(edits),
        key="Kustomizations without retryInterval",
        severity=None if longest >= _VERY_LONG else Severity.NOTE,
    )


def releases(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """HelmReleases that Flux gives up after the first failure; one finding a cluster."""
    for cluster in scene.clusters:
        if _retries_by_default(scene, cluster.name):
            continue
        found = [
            origin
            for component in scene.platform.components_of(cluster.name)
            for origin in component.origins
            if origin.form is SourceForm.HELM_RELEASE and _gives_up(origin)
        ]
        if not found:
            continue
        found.sort(key=lambda each: each.place)
        verb = "is" if len(found) == 1 else "are"
        stated = stated_edits.declaring_object(scene, found[0])
        yield rule.finding(
            f"{wording.listed_names(each.name for each in found)} {verb} given up after the first failed install",
            at=stated.at("spec", "install") if stated else found[0].place,
            clusters=(cluster.name,),
            evidence=tuple(Evidence(f"HelmRelease {each.namespace}/{each.name}", each.place) for each in found),
            key="HelmReleases without retries",
        )


def _gives_up(origin: Origin) -> bool:
    """Whether a failed install is never tried again: without retries it is not, whatever the interval is."""
    install = at(origin.definition, "spec", "install")
    return not at(install, "remediation", "retries") and text(install, "strategy", "name") != "RetryOnFailure"


def _retries_by_default(scene: PlatformView, cluster: str) -> bool:
    """Whether helm-controller is told to try again what says nothing else."""
    kinds = (flux_names.FLUX_INSTANCE_GROUP_KIND, "apps/Deployment", flux_names.HELM_RELEASE_GROUP_KIND)
    return any(
        _GATE in str(each.value)
        for each in scene.of_cluster(cluster, *kinds)
        if each.component.role == "engine"
        or each.object.id.name in (flux_names.HELM_CONTROLLER, flux_names.INSTANCE_CHART)
    )


def _waits_long(origin: Origin) -> bool:
    spec = at(origin.definition, "spec")
    return not at(spec, "retryInterval") and _seconds(text(spec, "interval")) >= _LONG


def _seconds(written: str) -> float:
    """A duration of Go in seconds; 0 where it is none."""
    if not written or len(written) > _LONGEST or _DURATION.sub("", written):
        return 0
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(written))
