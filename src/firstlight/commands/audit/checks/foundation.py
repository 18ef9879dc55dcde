"""What a cluster stands on, by the roles of components."""

import posixpath
import re
from collections.abc import Iterator

from firstlight.commands.audit import stated_edits
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, text
from firstlight.model import flux_names, versions
from firstlight.model.component import Component, Origin, Side, SourceForm
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import FileEdit, Finding
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts
from firstlight.repo.platform_view import PlatformView

FOUNDATION_ROLES = ("cni", "dns", "storage", "secrets", "certificates", "engine")


# Charts of the foundation whose version is a range: whoever publishes decides when it is upgraded.


_VERSION = {
    SourceForm.HELM_RELEASE: ("spec", "chart", "spec", "version"),
    SourceForm.APPLICATION: ("spec", "source", "targetRevision"),
}
_KNOWN = re.compile(r"[<>=~^*xX|,.\s\dv-]+")


def chart_version_ranges(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """HelmReleases and Applications of the foundation that follow a range of versions."""
    for component in scene.platform.components:
        if component.role not in FOUNDATION_ROLES:
            continue
        for origin in cluster_facts.origins(component, Side.GITOPS):
            for chart in cluster_facts.sources(origin):
                if origin.form not in (SourceForm.HELM_RELEASE, SourceForm.APPLICATION) or not isinstance(
                    chart, ChartSource
                ):
                    continue
                version = chart.version.strip()
                if not chart.repository or chart.digest or versions.is_pinned(version) or "$" in version:
                    continue
                if version and not _KNOWN.fullmatch(version):
                    continue  # a branch, a tag: not a version of Helm's
                if _is_locked(scene, chart):
                    continue
                stated, said_there = stated_edits.declaring_object(scene, origin), _source(scene, component, chart)
                said = f"the range {version}" if version else "no version, so that it takes the newest"
                yield rule.finding(
                    f"the chart of {component.name} has {said}: it is upgraded when somebody publishes it",
                    at=said_there or (stated.at(*_VERSION[origin.form]) if stated else origin.place),
                    clusters=(component.cluster,),
                    subject=component.name,
                )


def _is_locked(scene: PlatformView, chart: ChartSource) -> bool:
    """Whether a chart around this one has a Chart.lock, which has one version of each."""
    directory, name = posixpath.split(chart.origin.path) if chart.origin else ("", "")
    return name == "Chart.yaml" and scene.files.is_file(posixpath.join(directory, "Chart.lock"))


def _source(scene: PlatformView, component: Component, chart: ChartSource) -> Place | None:
    """Where an OCIRepository, or a chart around this one, says the version; None where the chart's source does not."""
    if chart.origin is not None and posixpath.basename(chart.origin.path) == "Chart.yaml":
        return chart.origin
    for item in scene.of_cluster(component.cluster, flux_names.OCI_REPOSITORY_GROUP_KIND):
        if item.object.place == chart.origin:
            return item.object.at("spec", "ref", "semver")
    return None


# HelmReleases of the foundation that Flux would uninstall when something fails.


_WORST = ("cni", "storage", "engine")
_PLAIN = (SourceForm.KUBECTL_COMMAND, SourceForm.KUSTOMIZE_COMMAND)


def remediation_uninstalls(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Remediation that uninstalls what the cluster stands on."""
    for component in scene.platform.components:
        if component.role not in FOUNDATION_ROLES:
            continue
        for origin in cluster_facts.origins(component, Side.GITOPS):
            if origin.form is SourceForm.HELM_RELEASE:
                yield from _after_upgrade(rule, scene, component, origin)
                yield from _after_install(rule, scene, component, origin)


def _after_upgrade(rule: AuditRule, scene: PlatformView, component: Component, origin: Origin) -> Iterator[Finding]:
    upgrade = mapping(origin.definition, "spec", "upgrade")
    said = mapping(upgrade, "remediation")
    if text(said, "strategy") != "uninstall" or not _is_active(upgrade):
        return
    stated = stated_edits.declaring_object(scene, origin)
    steps = ("spec", "upgrade", "remediation", "strategy")
    edits: tuple[FileEdit, ...] = stated_edits.set_edit(stated, *steps, value="rollback")
    yield rule.finding(
        f"a failed upgrade of {component.name} uninstalls it, since upgrade.remediation.strategy is uninstall",
        at=stated.at(*steps) if stated else origin.place,
        clusters=(component.cluster,),
        subject=component.name,
        edits=edits,
        severity=None if component.role in _WORST else Severity.ERROR,
    )


def _after_install(rule: AuditRule, scene: PlatformView, component: Component, origin: Origin) -> Iterator[Finding]:
    """What bootstrap applied without Helm is installed once more, over what is there; a failure takes it away."""
    install = mapping(origin.definition, "spec", "install")
    first = cluster_facts.origins(component, Side.BOOTSTRAP)
    is_plain = cluster_facts.is_inline(component) or (bool(first) and all(each.form in _PLAIN for each in first))
    is_taken = cluster_facts.is_adopted(component) and at(install, "disableTakeOwnership") is not True
    if not is_plain or not is_taken or not _is_active(install):
        return
    stated = stated_edits.declaring_object(scene, origin)
    yield rule.finding(
        f"Flux installs {component.name} over what bootstrap applied, and install.remediation uninstalls it "
        "when that fails",
        at=stated.at("spec", "install", "remediation") if stated else origin.place,
        clusters=(component.cluster,),
        subject=component.name,
        evidence=(
            Evidence(
                f"bootstrap applies {component.name} without Helm", cluster_facts.place(component, Side.BOOTSTRAP)
            ),
        ),
        fix="Write install.strategy.name: RetryOnFailure instead of install.remediation.",
        severity=Severity.ERROR,
    )


def _is_active(action: object) -> bool:
    """Whether a failure is remediated: not by default, and not with RetryOnFailure."""
    retries = at(action, "remediation", "retries")
    is_on = (isinstance(retries, int) and retries != 0) or at(action, "remediation", "remediateLastFailure") is True
    return is_on and text(action, "strategy", "name") != "RetryOnFailure"
