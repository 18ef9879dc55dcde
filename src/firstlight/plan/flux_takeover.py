"""What would go wrong when HelmReleases take over a release or objects that are there: found in the repo alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, number, text
from firstlight.engines.flux import features
from firstlight.model import flux_names
from firstlight.model.boundary import BoundaryStanding
from firstlight.model.component import Component, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.rendition import Object
from firstlight.model.source import ChartSource
from firstlight.plan import boundary, cluster_facts, final_owners, pod_needs
from firstlight.plan.cluster_facts import ClusterFacts

CNI = "cni"
_RETRY = "RetryOnFailure"
_UNINSTALL = "uninstall"


def flux_problems(known: ClusterFacts) -> Iterator[Diagnostic]:
    """What stands in the way of every HelmRelease that takes over what bootstrap installs."""
    for component in known.bootstrap:
        origin = final_owners.passing_owner(component)
        if origin is not None and origin.form == SourceForm.HELM_RELEASE:
            yield from _digest(component, origin, known)
            yield from _uninstalls(component, origin)


def differing(known: ClusterFacts) -> Iterator[Diagnostic]:
    """Components that bootstrap and Git render differently: the first reconcile changes them."""
    for component in known.bootstrap:
        ours = known.rendition(component, Side.BOOTSTRAP)
        theirs = known.rendition(component, Side.GITOPS)
        if final_owners.passing_owner(component) is None or ours is None or theirs is None:
            continue
        found = boundary.of(known.cluster, component, ours, theirs).objects
        changed = [each for each in found if each.standing == BoundaryStanding.DIFFERENT]
        if not changed:
            continue
        rolling = [each.id.name for each in changed if any(one.rolls for one in each.differences)]
        fixed = [each.id.name for each in changed if any(one.is_fixed for one in each.differences)]
        count = "1 object" if len(changed) == 1 else f"{len(changed)} objects"
        message = f"bootstrap and Git have {count} of {component.name} in different ways"
        if fixed:
            message += f"; of {', '.join(fixed)} something differs that Kubernetes does not change"
        if rolling:
            message += f"; the handover replaces the pods of {', '.join(rolling)}"
        yield Diagnostic.warning(
            "handover-differs", message, subject=component.name,
            evidence=(
                Evidence("has it one way", cluster_facts.place(component, Side.BOOTSTRAP), where="bootstrap"),
                Evidence("has it another way", cluster_facts.place(component, Side.GITOPS), where="GitOps"),
            ),
            fix=f"firstlight boundary {known.cluster.name} --component {component.name} shows every difference; "
            "make both say the same.",
        )  # fmt: skip


def second_releases(known: ClusterFacts) -> Iterator[Diagnostic]:
    """HelmReleases that are meant to take over a release that bootstrap installs, and would not find it.

    What has another name or namespace is read as another component: so these are found among all that Git brings.
    """
    ours = [
        (each, chart)
        for each in known.bootstrap
        if not cluster_facts.is_inline(each) and each.phase != Phase.CRDS
        for chart in cluster_facts.charts(each, Side.BOOTSTRAP)
        if chart.release and chart.namespace
    ]
    for component in known.components:
        for origin in cluster_facts.origins(component, Side.GITOPS):
            if origin.form == SourceForm.HELM_RELEASE and isinstance(origin.source, ChartSource):
                for other, chart in ours:
                    if _is_meant(chart, origin, origin.source) and (wrong := _wrong(chart, origin.source)):
                        yield _second(other, chart, component, origin, wrong)


def _is_meant(ours: ChartSource, origin: Origin, theirs: ChartSource) -> bool:
    is_same_chart = ours.name.rpartition("/")[2] == theirs.name.rpartition("/")[2]
    return is_same_chart and ours.release in (theirs.release, origin.name)


def _second(
    ours: Component, chart: ChartSource, theirs: Component, origin: Origin, wrong: dict[str, str]
) -> Diagnostic:
    assert isinstance(origin.source, ChartSource)
    found = origin.source
    # Only another name or namespace makes a second set of objects; where Helm keeps it is a second history alone.
    is_double = bool(wrong.keys() - {"storageNamespace"})
    finds = f"{found.storage_namespace or found.namespace}/{found.release}"
    lines = ", ".join(f"{name}: {value}" for name, value in wrong.items())
    return Diagnostic(
        code="handover-second-release",
        severity=Severity.ERROR if is_double else Severity.WARNING,
        subject=theirs.name,
        message=f"bootstrap installs the release {chart.namespace}/{chart.release}, and HelmRelease "
        f"{origin.namespace}/{origin.name} looks for {finds}: helm-controller would install "
        + (f"a second one, into {found.namespace}" if is_double else "it once more over what is there"),
        evidence=(
            Evidence(
                f"installs {chart.release} into {chart.namespace}",
                cluster_facts.place(ours, Side.BOOTSTRAP),
                where="bootstrap",
            ),
            Evidence("is of another release", origin.place, where=flux_names.HELM_RELEASE),
        ),
        fix=f"Write in its spec: {lines}. Where it runs already, that makes helm-controller uninstall and install "
        "anew: there, give bootstrap's release the name and namespace that the HelmRelease has.",
    )


def _wrong(ours: ChartSource, theirs: ChartSource) -> dict[str, str]:
    """The pins of a HelmRelease that lead elsewhere, with what they must be."""
    pins = {
        "releaseName": (theirs.release, ours.release),
        "targetNamespace": (theirs.namespace, ours.namespace),
        "storageNamespace": (theirs.storage_namespace or theirs.namespace, ours.namespace),
    }
    return {name: must for name, (says, must) in pins.items() if says != must}


def _digest(component: Component, origin: Origin, known: ClusterFacts) -> Iterator[Diagnostic]:
    """Helm-controller adds the digest to the version of a chart of an OCIRepository; some charts label pods with it.

    What bootstrap installs from the HelmRelease itself has the digest already, and no pod is replaced. Where a helmfile
    or a script installs the plain version, the labels of Git's side are longer.
    """
    reference = mapping(origin.definition, "spec", "chartRef")
    if (
        not reference
        or text(reference, "kind") not in ("", flux_names.OCI_REPOSITORY)
        or not isinstance(origin.source, ChartSource)
    ):
        return
    everything = (each for one in (*known.bootstrap, *known.gitops) for each in one.origins)
    if features.gate(features.texts(everything), features.CHART_DIGEST):
        return
    ours = {each.id: _pod_labels(each) for each in known.objects(component, Side.BOOTSTRAP)}
    labelled = [
        each.id
        for each in known.objects(component, Side.GITOPS)
        if pod_needs.makes_pods(each) and _gets_digest(ours.get(each.id, {}), _pod_labels(each))
    ]
    if labelled:
        names = ", ".join(f"{each.kind} {each.name}" for each in labelled)
        yield Diagnostic.warning(
            "handover-chart-digest",
            "helm-controller installs a chart of an OCIRepository as version+digest, and bootstrap as plain version; "
            f"the handover replaces the pods whose labels have it, those of {names}",
            subject=component.name,
            evidence=(
                Evidence(
                    f"takes its chart from OCIRepository {text(reference, 'name')}",
                    origin.place,
                    where=flux_names.HELM_RELEASE,
                ),
            ),
            fix="Run helm-controller with --feature-gates=DisableChartDigestTracking=true, or take the chart from "
            "a HelmRepository.",
        )


def _pod_labels(workload: Object) -> Mapping[str, Any]:
    return mapping(pod_needs.template(workload), "metadata", "labels")


def _gets_digest(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether a label is the other side's with metadata behind its version, as SemVer or as a label writes it."""
    return any(str(theirs.get(name, "")).startswith((f"{value}+", f"{value}_")) for name, value in ours.items())


def _uninstalls(component: Component, origin: Origin) -> Iterator[Diagnostic]:
    """A network that is uninstalled because its upgrade failed does not come back: nothing reaches anything then."""
    if component.role != CNI:
        return
    spec = mapping(origin.definition, "spec")
    upgrade, install = mapping(spec, "upgrade"), mapping(spec, "install")
    if text(upgrade, "remediation", "strategy") == _UNINSTALL and text(upgrade, "strategy", "name") != _RETRY:
        yield _uninstalled(
            component, origin, Severity.ERROR, "spec.upgrade.remediation.strategy is uninstall",
            "Leave spec.upgrade.remediation.strategy out, or write rollback",
        )  # fmt: skip
    remediation = mapping(install, "remediation")
    tries = number(remediation, "retries") or remediation.get("remediateLastFailure") is True
    if tries and text(install, "strategy", "name") != _RETRY:
        # What Talos applied is no release yet, so that helm-controller begins with an install.
        severity = Severity.ERROR if cluster_facts.is_inline(component) else Severity.WARNING
        yield _uninstalled(
            component, origin, severity, "spec.install.remediation uninstalls between two tries of an install",
            "Write spec.install.strategy.name: RetryOnFailure instead of spec.install.remediation",
        )  # fmt: skip


def _uninstalled(component: Component, origin: Origin, severity: Severity, why: str, way_out: str) -> Diagnostic:
    return Diagnostic(
        code="handover-uninstalls-cni", severity=severity, subject=component.name,
        message=f"helm-controller would uninstall the network of the cluster when it fails: {why}",
        evidence=(Evidence(f"{origin.namespace}/{origin.name} says so", origin.place, where=flux_names.HELM_RELEASE),),
        fix=f"{way_out}: without a network helm-controller itself cannot bring it back.",
    )  # fmt: skip
