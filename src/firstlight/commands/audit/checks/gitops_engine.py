"""The GitOps engine: that bootstrap installs it, once, and points it at the repo, once."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.commands.audit import stated_edits
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import text
from firstlight.model import argocd_names, flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Component, Origin, Side, SourceForm
from firstlight.model.diagnostic import Evidence
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, Unresolved
from firstlight.plan import cluster_facts
from firstlight.repo import chart_values
from firstlight.repo.platform_view import PlatformView

_OPERATOR = {flux_names.FLUX_OPERATOR, flux_names.INSTANCE_CHART}
_POINTS = re.compile(r"\bflux bootstrap\b|\bflux create (?:ks|kustomization)\b|\bargocd app create\b")
_ROOTS = {flux_names.KUSTOMIZATION, argocd_names.APPLICATION, argocd_names.APPLICATION_SET}
_SCRIPTED = {
    SourceForm.KUBECTL_COMMAND,
    SourceForm.KUSTOMIZE_COMMAND,
    SourceForm.HELM_COMMAND,
    SourceForm.HOOK,
    SourceForm.FLUX_COMMAND,
    SourceForm.TOFU,
}
_HEADS = "refs/heads/"
_DEEPEST = 8
_TITLES = {"flux": "Flux", "argocd": "Argo CD"}
_CHARTS = {"flux": {"flux2", *_OPERATOR}, "argocd": {"argo-cd"}}


def not_installed(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A cluster that is bootstrapped from here, and nothing installs its engine."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        problem = next(
            (each for each in scene.plans[cluster.name].problems if each.code == "bootstrap-without-engine"), None
        )
        if problem is None or not known.bootstrap:
            continue
        title = _TITLES.get(cluster.engine or "", "the GitOps engine")
        first = known.bootstrap[0]
        count = len(known.gitops)
        waiting = "1 component waits" if count == 1 else f"{count} components wait"
        begins = Evidence(f"bootstrap begins with {first.name}", cluster_facts.place(first, Side.BOOTSTRAP))
        yield rule.finding(
            f"nothing in bootstrap installs {title}, and {waiting} for it",
            at=cluster.place,
            clusters=(cluster.name,),
            evidence=(begins, *_by_another(scene, cluster)),
            key=f"nothing in bootstrap installs {title}",
        )


def _by_another(scene: PlatformView, cluster: Cluster) -> Iterator[Evidence]:
    """The engine of a cluster as something that another engine of the repo brings, which has to be there first."""
    for component in scene.with_role("engine"):
        other = scene.platform.cluster(component.cluster)
        if other is None or other.engine not in _TITLES or other.engine == cluster.engine:
            continue
        for origin in cluster_facts.origins(component, Side.GITOPS):
            if chart_values.chart_names(origin) & _CHARTS.get(cluster.engine or "", set()):
                yield Evidence(f"{component.name} is brought by {_TITLES[other.engine]}", origin.place)


def not_hooked(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An engine that bootstrap installs, and that nothing points at the repo."""
    # With a firstlight.yaml the root object is firstlight's to make.
    for cluster in scene.clusters if scene.platform.declared is None else ():
        known = scene.facts[cluster.name]
        engines = known.with_role("engine")
        roots = any(each.code == "root-early" for each in scene.plans[cluster.name].problems)
        # Values that are not known may hold the sync.
        roots |= any(_sync(scene, each) or not chart_values.are_values_known(each, Side.BOOTSTRAP) for each in engines)
        if not engines or roots or _may_be_hooked(scene, known.bootstrap) or not known.gitops:
            continue
        last = engines[-1]
        if any(each.certainty is Certainty.GUESSED for each in cluster_facts.origins(last, Side.BOOTSTRAP)):
            continue  # who installs it is not known, so neither is what else they apply
        yield rule.finding(
            f"{last.name} is installed, and nothing in bootstrap points it at the repo",
            at=cluster_facts.place(last, Side.BOOTSTRAP),
            clusters=(cluster.name,),
            subject=last.name,
        )


def _may_be_hooked(scene: PlatformView, components: tuple[Component, ...]) -> bool:
    """Whether a command or a chart points the engine at a repo, or applies something that is not known here."""
    for component in components:
        if chart_values.has_chart(component, chart_values.ARGOCD_APPS_CHART) or any(
            _has_root(each.value) for each in scene.values(component)
        ):
            return True
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            if _POINTS.search(origin.command) or any(each.kind in _ROOTS for each in origin.objects):
                return True
            if origin.form in _SCRIPTED and isinstance(origin.source, Unresolved) and "install" not in origin.command:
                return True
    return False


def _has_root(value: Any, deep: int = 0) -> bool:
    """Whether values hold a root object, as ``extraObjects`` of Argo CD's chart may."""
    if deep > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        return value.get("kind") in _ROOTS or any(_has_root(each, deep + 1) for each in value.values())
    return isinstance(value, list) and any(_has_root(each, deep + 1) for each in value)


def root_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """The path of a FluxInstance's sync that a Kustomization of bootstrap applies as well."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        syncs = [found for each in known.bootstrap if (found := _sync(scene, each)) is not None]
        applied = dict(_applied(known.bootstrap)) if syncs else {}
        origins = [each for component in known.components for each in cluster_facts.origins(component, Side.GITOPS)]
        for origin in origins:
            by = applied.get((origin.namespace, origin.name))
            if (
                by is None
                or origin.form is not SourceForm.KUSTOMIZATION
                or not isinstance(origin.source, DirectorySource)
            ):
                continue
            for path, place, instance in syncs:
                if _plain(origin.source.path) == _plain(path):
                    name = f"{origin.namespace}/{origin.name}"
                    yield rule.finding(
                        f"the sync of {instance} and Kustomization {name} apply one and the same path",
                        at=place,
                        clusters=(cluster.name,),
                        subject=instance,
                        evidence=(
                            Evidence(f"bootstrap applies Kustomization {name} as well", by.place),
                            Evidence(f"{name} has the path {path}", origin.place),
                        ),
                        fix=f"Keep the sync. Write spec.deletionPolicy: Orphan into Kustomization {name}, and one "
                        "commit later take it out of Git and out of what bootstrap applies: nothing is deleted then.",
                    )


def _applied(components: Iterable[Component]) -> Iterator[tuple[tuple[str, str], Origin]]:
    """The Kustomizations that bootstrap applies itself, by namespace and name."""
    for component in components:
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            for made in origin.objects:
                if made.kind == flux_names.KUSTOMIZATION:
                    yield (made.namespace, made.name), origin


def _sync(scene: PlatformView, component: Component) -> tuple[str, Place, str] | None:
    """The path that a FluxInstance syncs, and where that is said."""
    given = scene.value(component, "instance", "sync", "path", side=Side.BOOTSTRAP)
    if given is not None and isinstance(given.value, str):
        return given.value, given.place, component.name
    for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
        if origin.form is SourceForm.FLUX_INSTANCE and (path := text(origin.definition, "spec", "sync", "path")):
            return path, origin.place, component.name
    return None


def _plain(path: str) -> str:
    return posixpath.normpath(path).strip("/")


def twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Flux from its operator and from its command line in one cluster."""
    for cluster in scene.clusters:
        origins = [
            (component, origin)
            for component in scene.facts[cluster.name].with_role("engine")
            for origin in cluster_facts.origins(component, Side.BOOTSTRAP)
        ]
        operated = next((each for each in origins if _is_operated(each[1])), None)
        commanded = next((each for each in origins if each[1].form is SourceForm.FLUX_COMMAND), None)
        if operated is not None and commanded is not None:
            component, origin = commanded
            yield rule.finding(
                "Flux is installed by a flux command here, and by its operator as well",
                at=origin.place,
                clusters=(cluster.name,),
                subject=component.name,
                evidence=(Evidence(f"{operated[0].name} installs it by the operator", operated[1].place),),
            )


def _is_operated(origin: Origin) -> bool:
    return origin.form is SourceForm.FLUX_INSTANCE or bool(chart_values.chart_names(origin) & _OPERATOR)


def short_ref(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A sync whose ref is the short name of a branch or tag."""
    for component in scene.platform.components:
        for side in (Side.BOOTSTRAP, Side.GITOPS):
            given = scene.value(component, "instance", "sync", "ref", side=side)
            kind = scene.value(component, "instance", "sync", "kind", side=side)
            if given is None or (kind is not None and kind.value != flux_names.GIT_REPOSITORY):
                continue
            layer = given.layer
            way = (*layer.prefix, "instance", "sync", "ref")
            whole = f"{_HEADS}{given.value}"
            edit = FileEdit(path=layer.file, verb=EditVerb.SET, steps=way, value=whole, document=layer.document)
            yield from _short(rule, scene, component, given.value, given.place, (edit,) if layer.file else ())
    for item in scene.of_kind(flux_names.FLUX_INSTANCE_GROUP_KIND):
        sync = ("spec", "sync")
        if text(item.value, *sync, "kind") == flux_names.GIT_REPOSITORY:
            value, place = text(item.value, *sync, "ref"), item.object.at(*sync, "ref")
            yield from _short(
                rule,
                scene,
                item.component,
                value,
                place,
                stated_edits.set_edit(item.object, *sync, "ref", value=f"{_HEADS}{value}"),
            )


def _short(
    rule: AuditRule, scene: PlatformView, component: Component, value: Any, place: Place, edits: tuple[FileEdit, ...]
) -> Iterator[Finding]:
    """A ref without its beginning; the edits write that of a branch, and count where the repo says that it is one."""
    if not isinstance(value, str) or not value or value.startswith("refs/") or "$" in value or "{{" in value:
        return
    cluster = scene.platform.cluster(component.cluster)
    is_branch = cluster is not None and cluster.branch == value
    yield rule.finding(
        f"the sync of {component.name} has the ref {value}, and Flux finds whole names only",
        at=place,
        clusters=(component.cluster,),
        subject=component.name,
        fix=f"Write {_HEADS}{value} for a branch, refs/tags/{value} for a tag.",
        edits=edits if is_branch else (),
    )
