"""Upstream projects of the foundation that are followed by a branch, or by whatever is the newest."""

import posixpath
import re
from collections.abc import Iterator

from firstlight.commands.audit import stated_edits
from firstlight.commands.audit.checks.foundation import FOUNDATION_ROLES
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import sequence, text
from firstlight.model.component import Component, Origin, SourceForm
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource
from firstlight.plan import cluster_facts
from firstlight.repo import gitops_tree
from firstlight.repo.kustomize import remote_resources
from firstlight.repo.platform_view import PlatformView

_UPSTREAM = frozenset({
    "argoproj/argo-cd", "argoproj/argo-helm", "cert-manager/cert-manager", "jetstack/cert-manager", "cilium/cilium",
    "coredns/coredns", "coredns/helm", "external-secrets/external-secrets", "flannel-io/flannel", "fluxcd/flux2",
    "controlplaneio-fluxcd/flux-operator", "kubernetes-sigs/gateway-api", "longhorn/longhorn", "longhorn/charts",
    "metallb/metallb", "openebs/openebs", "openebs/mayastor", "piraeusdatastore/piraeus-operator",
    "projectcalico/calico", "tigera/operator", "rook/rook", "topolvm/topolvm", "rancher/local-path-provisioner",
    "kubernetes-sigs/sig-storage-local-static-provisioner", "kubernetes-csi/external-snapshotter",
    "argoproj-labs/argocd-operator",
})  # fmt: skip
"""Projects that clusters stand on: CNI, DNS, certificates, engine, secrets, storage."""
_OWNER = re.compile(
    r"(?:github\.com|raw\.githubusercontent\.com)[/:](?P<owner>[\w.-]+)/(?P<name>[\w.-]+)", re.IGNORECASE
)
_BRANCH = re.compile(r"(?:refs/heads/.+|HEAD|main|master|develop|trunk|latest|stable|edge|nightly)", re.IGNORECASE)
_MOVING_FILE = re.compile(
    r"/releases/latest/download/|/raw/(?:refs/heads/)?(?P<raw>main|master|HEAD|stable)/"
    r"|raw\.githubusercontent\.com/[^/]+/[^/]+/(?:refs/heads/)?(?P<branch>main|master|HEAD|develop|stable|latest)/"
)
_UNBOUNDED = re.compile(r"\*|latest|x|>=?\s*v?\d[\w.]*(?:-0)?", re.IGNORECASE)
_FILES = (".yaml", ".yml", ".json")


def upstream_branches(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Remote manifests and charts of the foundation without a version; one finding for each place."""
    seen: set[tuple[str, str]] = set()
    for component, place, url, moving in _of_kustomizations(scene):
        seen.add((component.cluster, _short(url)))
        yield _finding(rule, component, place, f"a kustomization takes {moving} of {_short(url)}")
    for component in scene.platform.components:
        for origin in component.origins:
            for source in cluster_facts.sources(origin):
                # What a kustomization takes is listed once more among the sources of what applies it.
                if not isinstance(source, RemoteSource) or (component.cluster, _short(source.url)) not in seen:
                    yield from _of_source(rule, scene, component, origin, source)
            yield from _of_instance(rule, scene, component, origin)


def _of_source(
    rule: AuditRule, scene: PlatformView, component: Component, origin: Origin, source: object
) -> Iterator[Finding]:
    if isinstance(source, RemoteSource) and not source.digest and _is_upstream(source.url):
        moving = _moving(source, is_default_known=origin.form is SourceForm.APPLICATION)
        stated = stated_edits.declaring_object(scene, origin)
        place = origin.place
        if stated is not None and origin.form is SourceForm.APPLICATION:
            place = stated.at("spec", "source", "targetRevision")
        if moving:
            yield _finding(rule, component, place, f"{component.name} follows {moving} of {_short(source.url)}")
    if isinstance(source, ChartSource) and component.role in FOUNDATION_ROLES and not source.digest:
        is_oci = source.repository.startswith("oci://") or origin.form is SourceForm.HELM_RELEASE
        if is_oci and source.version == "latest" and source.repository:
            yield _finding(
                rule,
                component,
                source.pinned or source.origin or origin.place,
                f"the chart of {component.name} has the tag latest",
            )


def _of_instance(rule: AuditRule, scene: PlatformView, component: Component, origin: Origin) -> Iterator[Finding]:
    """Yield a FluxInstance whose version has no upper end."""
    if origin.form is not SourceForm.FLUX_INSTANCE:
        return
    version = text(origin.definition, "spec", "distribution", "version")
    if version and _UNBOUNDED.fullmatch(version.strip()):
        stated = stated_edits.declaring_object(scene, origin)
        place = stated.at("spec", "distribution", "version") if stated else origin.place
        yield _finding(rule, component, place, f"FluxInstance {origin.name} takes any version of Flux ({version})")


def _of_kustomizations(scene: PlatformView) -> Iterator[tuple[Component, Place, str, str]]:
    """Yield remote resources of the kustomizations that something applies: whose, where, the URL, what is followed."""
    seen: set[tuple[str, str]] = set()
    for component in scene.platform.components:
        starts = [
            each.path
            for origin in component.origins
            for each in cluster_facts.sources(origin)
            if isinstance(each, DirectorySource)
        ]
        for path in sorted(gitops_tree.reached_files(scene.files, starts) if starts else ()):
            if posixpath.basename(path) not in gitops_tree.KUSTOMIZATION_FILES or (component.cluster, path) in seen:
                continue
            seen.add((component.cluster, path))
            for document in scene.files.documents(path):
                for number, entry in enumerate(sequence(document.value, "resources")):
                    found = remote_resources.parse_remote(entry) if isinstance(entry, str) else None
                    if found is None or not _is_upstream(found.url):
                        continue
                    is_repository = not found.url.partition("?")[0].endswith(_FILES)
                    moving = _moving(found, is_default_known=is_repository)
                    if moving:
                        yield component, document.place("resources", number), found.url, moving


def _moving(source: RemoteSource, *, is_default_known: bool) -> str:
    """Return what is followed: a branch, or the newest release; empty where it stays or is not known."""
    match = _MOVING_FILE.search(source.url)
    if match is not None:
        return (
            f"the branch {match['raw'] or match['branch']}" if match["raw"] or match["branch"] else "the newest release"
        )
    if source.revision:
        is_branch = _BRANCH.fullmatch(source.revision) is not None
        return f"the branch {source.revision.removeprefix('refs/heads/')}" if is_branch else ""
    if is_default_known and "/releases/" not in f"{source.url}/{source.path}":
        return "the default branch"
    return ""


def _is_upstream(url: str) -> bool:
    match = _OWNER.search(url)
    if match is None:
        return False
    owner, name = match["owner"].lower(), match["name"].lower().removesuffix(".git")
    return f"{owner}/{name}" in _UPSTREAM


def _short(url: str) -> str:
    match = _OWNER.search(url)
    return f"{match['owner']}/{match['name'].removesuffix('.git')}" if match else url


def _finding(rule: AuditRule, component: Component, place: Place, message: str) -> Finding:
    return rule.finding(message, at=place, clusters=(component.cluster,), subject=component.name)
