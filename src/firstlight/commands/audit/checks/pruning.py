"""What disappears from a cluster with all that hangs on it when a file disappears from Git."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator

from firstlight.commands.audit import stated_edits, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines import adapters
from firstlight.engines.adapter import EngineAdapter
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import ObjectId, Origin, Side, SourceForm, Stated
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import FileEdit, Finding
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource
from firstlight.plan import cluster_facts
from firstlight.repo import chart_values, gitops_tree
from firstlight.repo.platform_view import AppliedObject, PlatformView

_KEPT = ("Prune=false", "Prune=confirm")
_CNI_WORKLOADS = ("apps/DaemonSet", flux_names.HELM_RELEASE_GROUP_KIND)
_PERMANENT = ("default", "kube-public", "kube-system")
_SHOWN = 8
_CRD_PATH = re.compile(
    r"/(?:[\w.-]*[-_.])?crds?(?:[-_.][\w.-]*)?/|/gateway-api/releases/download/[^/]+/[\w-]+-install\.yaml"
)
_GUARD = re.compile(r"prune: ?disabled|kustomize\.toolkit\.fluxcd\.io[/~1]+prune", re.IGNORECASE)
_COMPONENTS = "gotk-components.yaml"
"""The file into which the flux command writes Flux itself."""
_RESOURCE_POLICY = re.compile(r"helm\.sh/resource-policy: ?keep")
_ENGINE_KINDS = ("/Namespace", flux_names.FLUX_INSTANCE_GROUP_KIND, flux_names.HELM_RELEASE_GROUP_KIND)


def definitions(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """CRDs that are pruned, and with them all their objects; one finding for those of one Kustomization."""
    found: dict[tuple[str, str], list[AppliedObject]] = defaultdict(list)
    for item in scene.of_kind("apiextensions.k8s.io/CustomResourceDefinition"):
        # Argo CD marks no CRD as its own, and so never prunes one. Flux's own kinds stand like that in everybody's
        # repo, and go only with Flux itself.
        is_flux = item.origin.form is SourceForm.KUSTOMIZATION and not item.object.id.name.endswith(
            f".{flux_names.TOOLKIT_DOMAIN}"
        )
        if is_flux and _is_pruned(item.origin, item.object):
            found[item.cluster, item.origin.id].append(item)
    for (cluster, _), items in found.items():
        first, names = items[0], wording.first_name(each.object.id.name for each in items)
        yield rule.finding(
            f"{first.origin.name} prunes CustomResourceDefinition {names}: "
            "taken out of Git, all objects of these kinds go with it",
            at=first.object.place,
            clusters=(cluster,),
            subject=first.component.name,
            evidence=tuple(Evidence(each.object.id.name, each.object.place) for each in items[:_SHOWN]),
            edits=tuple(edit for each in items for edit in _keep(each)),
            key=f"{first.origin.id} prunes CRDs",
        )
    yield from _remote_definitions(rule, scene)


def _remote_definitions(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Yield Kustomizations that prune CRDs which are fetched from elsewhere, told by their paths."""
    for component in scene.platform.components:
        for origin in cluster_facts.origins(component, Side.GITOPS):
            prunes = at(origin.definition, "spec", "prune") is True
            if origin.form is not SourceForm.KUSTOMIZATION or not prunes or _mentions_guard(origin.definition):
                continue
            for what, place in _fetched_definitions(scene, origin):
                stated = stated_edits.declaring_object(scene, origin)
                yield rule.finding(
                    f"{origin.name} prunes the CRDs of {what}: "
                    "if they leave Git, all objects of these kinds are deleted",
                    at=stated.at("spec", "prune") if stated else origin.place,
                    clusters=(component.cluster,),
                    subject=component.name,
                    evidence=(Evidence(f"CRDs of {what}", place),),
                    fix=f"Write commonMetadata.annotations: {{{flux_names.PRUNE_ANNOTATION}: disabled}} in the "
                    "Kustomization if it has nothing but CRDs, or set prune: false.",
                    key=f"{origin.id} prunes fetched CRDs",
                )
                break


def _fetched_definitions(scene: PlatformView, origin: Origin) -> Iterator[tuple[str, Place]]:
    for source in cluster_facts.sources(origin):
        if isinstance(source, RemoteSource) and _CRD_PATH.search(f"/{source.path}/"):
            yield f"{source.url.partition('?')[0]}, {source.path}", origin.place
        if not isinstance(source, DirectorySource):
            continue
        for path in sorted(gitops_tree.reached_files(scene.files, [source.path])):
            if posixpath.basename(path) not in gitops_tree.KUSTOMIZATION_FILES:
                continue
            for document in scene.files.documents(path):
                if _mentions_guard(document.value):
                    return
                for number, entry in enumerate(sequence(document.value, "resources")):
                    if isinstance(entry, str) and "://" in entry and _CRD_PATH.search(f"{entry.partition('?')[0]}/"):
                        yield entry.partition("?")[0], document.place("resources", number)


def _mentions_guard(value: object) -> bool:
    """Whether an annotation, a patch or a common annotation speaks of pruning: then somebody has thought of it."""
    return wording.mentions(value, _GUARD)


def engine(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What the engine of a cluster consists of, where the engine itself would prune it."""
    engines = {each.name: adapters.ADAPTERS[each.engine] for each in scene.clusters if each.engine is not None}
    seen: set[tuple[str, ObjectId]] = set()
    for item in scene.of_kind(*_ENGINE_KINDS):
        found = item.object.id
        if not _is_pruned(item.origin, item.object) or not _is_engine(scene, item, engines.get(item.cluster)):
            continue
        if (item.cluster, found) in seen or _is_made(scene, item.object):
            continue
        seen.add((item.cluster, found))
        lost = _LOST_WITH.get(found.kind, "the engine is uninstalled")
        yield rule.finding(
            f"{item.origin.name} prunes {found.kind} {found.name}: if it leaves Git, {lost} and nothing restores it",
            at=item.object.place,
            clusters=(item.cluster,),
            subject=item.component.name,
            edits=_keep(item),
        )


def _is_made(scene: PlatformView, stated: Stated) -> bool:
    """Whether a ResourceSet makes an object: what keeps it is not said in the object."""
    index, steps = stated.way or (0, ())
    if not steps:
        return stated.way is None
    documents = [each for each in scene.files.documents(stated.place.path) if each.index == index]
    return not documents or text(documents[0].value, "kind") == flux_names.RESOURCE_SET


_LOST_WITH = {
    "Namespace": "the engine and everything else in its namespace is deleted",
    flux_names.FLUX_INSTANCE: "Flux is uninstalled",
    flux_names.HELM_RELEASE: "Helm uninstalls Flux",
}


def _is_engine(scene: PlatformView, item: AppliedObject, running: EngineAdapter | None) -> bool:
    """Whether an object is the engine of this cluster, and not one that it brings for others."""
    found = item.object.id
    if running is None:
        return False
    if found.kind == flux_names.HELM_RELEASE:
        if wording.mentions(mapping(item.value, "spec", "values"), _RESOURCE_POLICY):
            return False  # Helm leaves it where it is
        # Also where the release is a half of what bootstrap installs first.
        charts = [
            chart_values.chart_name(each)
            for component in scene.platform.components_of(item.cluster)
            for origin in component.origins
            if origin.place == item.object.place and origin.form is SourceForm.HELM_RELEASE
            for each in cluster_facts.sources(origin)
            if isinstance(each, ChartSource)
        ]
        return any(each in running.charts for each in charts)
    if found.kind == running.instance_kind:
        return True
    if found.kind != "Namespace":
        return False
    # What the engine's own installation consists of stands so in every repo, and goes only with the engine itself.
    is_part = mapping(item.value, "metadata", "labels").get("app.kubernetes.io/part-of") == running.part_of
    if is_part or posixpath.basename(item.object.place.path) == _COMPONENTS:
        return False
    if running.namespace:
        return found.name == running.namespace
    homes = {
        origin.namespace
        for component in scene.platform.components_of(item.cluster)
        for origin in component.origins
        if origin.form is SourceForm.APPLICATION
    }
    return homes == {found.name}


def namespaces(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Namespaces that are pruned, and with them the data of others."""
    data = _data(scene)
    for item in scene.of_kind("/Namespace"):
        # The API server deletes none of its own.
        if item.object.id.name in _PERMANENT or not _is_pruned(item.origin, item.object):
            continue
        others = [
            each
            for each in data.get((item.cluster, item.object.id.name), ())
            if not _brings(scene, item.origin, each.origin)
        ]
        if others:
            yield rule.finding(
                f"{item.origin.name} prunes Namespace {item.object.id.name}, "
                f"which holds {others[0].object.id.kind} {others[0].object.id.name} of {others[0].origin.name}",
                at=item.object.place,
                clusters=(item.cluster,),
                subject=item.component.name,
                evidence=tuple(
                    Evidence(f"{each.object.id} of {each.origin.name}", each.object.place) for each in others[:_SHOWN]
                ),
                edits=_keep(item),
            )


def network(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """The CNI, as a HelmRelease or as it is, in a Kustomization that prunes."""
    for item in scene.of_kind(*_CNI_WORKLOADS):
        component = next(
            (
                each
                for each in scene.with_role("cni", item.cluster)
                if any(origin.place == item.object.place for origin in each.origins) or each is item.component
            ),
            None,
        )
        is_flux = item.origin.form is SourceForm.KUSTOMIZATION
        if component is not None and is_flux and _is_pruned(item.origin, item.object):
            yield rule.finding(
                f"{item.origin.name} prunes {item.object.id.kind} {item.object.id.name}: "
                "taken out of Git by mistake, the network of every pod goes with it",
                at=item.object.place,
                clusters=(item.cluster,),
                subject=component.name,
                edits=_keep(item),
                severity=Severity.WARNING,
            )


def _is_pruned(origin: Origin, stated: Stated) -> bool:
    metadata = mapping(stated.value, "metadata")
    marks = {**mapping(metadata, "labels"), **mapping(metadata, "annotations")}
    if origin.side is not Side.GITOPS:
        return False
    if origin.form is SourceForm.KUSTOMIZATION:
        off = [
            str(marks.get(each, "")).lower() == "disabled"
            for each in (flux_names.PRUNE_ANNOTATION, flux_names.RECONCILE_ANNOTATION)
        ]
        return at(origin.definition, "spec", "prune") is True and not any(off)
    if origin.form is SourceForm.APPLICATION:
        options = [each.strip() for each in str(marks.get(argocd_names.SYNC_OPTIONS_ANNOTATION, "")).split(",")]
        said = [str(each) for each in sequence(origin.definition, "spec", "syncPolicy", "syncOptions")]
        is_on = at(origin.definition, "spec", "syncPolicy", "automated", "prune") is True
        return is_on and not any(each in _KEPT for each in (*options, *said))
    return False


def _keep(item: AppliedObject) -> tuple[FileEdit, ...]:
    """The annotation that keeps an object; not where Argo CD's options are said already and would be written over."""
    stated = item.object
    # A value that a kustomization wrote, or one that is there already, is a person's to change.
    if item.origin.form is SourceForm.KUSTOMIZATION:
        return stated_edits.set_edit(stated, "metadata", "annotations", flux_names.PRUNE_ANNOTATION, value="disabled")
    if text(stated.value, "metadata", "annotations", argocd_names.SYNC_OPTIONS_ANNOTATION):
        return ()
    return stated_edits.set_edit(
        stated, "metadata", "annotations", argocd_names.SYNC_OPTIONS_ANNOTATION, value=_KEPT[0]
    )


def _data(scene: PlatformView) -> dict[tuple[str, str], list[AppliedObject]]:
    """What holds data, by cluster and namespace."""
    found: dict[tuple[str, str], list[AppliedObject]] = defaultdict(list)
    kinds = (
        "/PersistentVolumeClaim",
        "postgresql.cnpg.io/Cluster",
        "ceph.rook.io/CephCluster",
        "kafka.strimzi.io/Kafka",
    )
    for item in (*scene.of_kind(*kinds), *scene.of_kind("apps/StatefulSet")):
        if item.object.id.kind == "StatefulSet" and not sequence(item.value, "spec", "volumeClaimTemplates"):
            continue
        found[item.cluster, item.object.id.namespace].append(item)
    return found


def _brings(scene: PlatformView, origin: Origin, other: Origin) -> bool:
    """Whether one is the other, or brings it: then they belong together."""
    above = {each.id: each for part in scene.platform.components_of(origin.cluster) for each in part.origins}
    seen: set[str] = set()
    while other.id not in seen:
        if other.id == origin.id:
            return True
        seen.add(other.id)
        other = above.get(other.parent, other)
    return False
