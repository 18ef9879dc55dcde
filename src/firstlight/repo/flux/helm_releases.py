"""The values of a HelmRelease, in the order in which they win: references, its own, and single values last."""

import functools
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.engines import engine_marks
from firstlight.model import flux_names
from firstlight.model.component import Origin, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, Unresolved, Values
from firstlight.repo.flux import flux_kustomizations, flux_objects, post_build, secret_needs
from firstlight.repo.flux.artifact_tree import ArtifactTree
from firstlight.repo.flux.flux_kustomizations import FluxSource, FluxSources, revision, source_ref
from firstlight.repo.flux.flux_objects import called, entries, mapping, text
from firstlight.repo.flux.post_build import VariableHolders
from firstlight.repo.flux.source_trees import SourceTrees
from firstlight.repo.manifest import Manifest

VALUES_KEY = "values.yaml"
"""The key of a reference that names none."""


@functools.lru_cache(maxsize=256)
def parsed_values(written: str) -> Any:
    """The values in a text; None where it is no YAML."""
    contents = yaml_reader.read(written.encode(), VALUES_KEY)
    broken = any(each.severity == Severity.ERROR for each in contents.diagnostics)
    return contents.documents[0].value if contents.documents and not broken else None


def values_of(release: Manifest, holders: VariableHolders) -> tuple[tuple[Values, ...], list[Diagnostic]]:
    """The values of a release.

    Flux merges references first, in their order, then the release's own values; a reference with a target path
    overwrites them all.
    """
    spec = flux_objects.spec(release)
    plain: list[Values] = []
    single: list[Values] = []
    diagnostics: list[Diagnostic] = []
    for number, entry in enumerate(entries(spec.get("valuesFrom"))):
        found, problem = _reference(mapping(entry), release, number, holders)
        (single if found.target else plain).append(found)
        diagnostics += problem
    own = mapping(spec.get("values"))
    inline = [Values(place=release.at("spec", "values"), inline=own)] if own else []
    if own and post_build.is_encrypted(release):
        inline = [Values(place=release.at("spec", "values"), unresolved="they are encrypted")]
    return (*plain, *inline, *single), diagnostics


def _reference(entry: Any, release: Manifest, number: int, holders: VariableHolders) -> tuple[Values, list[Diagnostic]]:
    kind, name = text(entry.get("kind")), text(entry.get("name"))
    namespace = release.id.namespace
    place = release.at("spec", "valuesFrom", number)
    key, target = text(entry.get("valuesKey")) or VALUES_KEY, text(entry.get("targetPath"))
    known: dict[str, Any] = {
        "place": place,
        "reference": f"{kind}/{namespace}/{name}",
        "key": key,
        "target": target,
        "optional": entry.get("optional") is True,
    }
    if kind == "Secret":
        why = "it is a Secret" if (namespace, name) in holders.secrets else "it is a Secret that Git does not have"
        return Values(**known, unresolved=why), []
    held = holders.config_maps.get((namespace, name))
    if held is None:
        diagnostics = [] if known["optional"] else [_missing(place, namespace, name, holders)]
        return Values(**known, unresolved="no such ConfigMap is in the cluster's tree"), diagnostics
    if post_build.is_encrypted(held):
        return Values(**known, unresolved="it is encrypted"), []
    written = mapping(held.value.get("data")).get(key)
    if written is None:
        message = f"ConfigMap {namespace}/{name} has no key {key}"
        diagnostics = (
            []
            if known["optional"]
            else [Diagnostic.error("flux-values-key-missing", message, at=place, fix=f"see {held.place}")]
        )
        return Values(**known, unresolved=f"it has no key {key}"), diagnostics
    if target:
        is_quoted = len(str(written)) > 1 and str(written)[0] == str(written)[-1] and str(written)[0] in "'\""
        return Values(**known, text=str(written), is_text=entry.get("literal") is True or is_quoted), []
    read = parsed_values(str(written))
    if read is not None and not isinstance(read, dict):
        return Values(**known, unresolved="they are no mapping"), [_broken(place, held.place, key)]
    if read is None and str(written).strip():
        return Values(**known, unresolved="they are no YAML"), [_broken(place, held.place, key)]
    return Values(**known, inline=read or {}), []


def _missing(place: Place, namespace: str, name: str, holders: VariableHolders) -> Diagnostic:
    message = f"ConfigMap {namespace}/{name} is not in the cluster's tree"
    hashed = [each for at, each in holders.config_maps if at == namespace and each[:-11] == name]
    elsewhere = [at for at, each in holders.config_maps if each == name]
    hint = ""
    if hashed:
        hint = f"it is called {hashed[0]}; turn the hash off, or let a nameReference in configurations put it here"
    elif elsewhere:
        hint = f"there is one in namespace {elsewhere[0] or 'default'}"
    return Diagnostic(
        code="flux-values-missing",
        severity=Severity.ERROR if hint else Severity.UNKNOWN,
        message=message,
        places=(place,),
        fix=hint,
    )


def _broken(place: Place, held: Place, key: str) -> Diagnostic:
    return Diagnostic.error("flux-values-wrong", f"the values at {key} cannot be read", at=place, fix=f"see {held}")


# HelmReleases: their charts found through sources, their values through ConfigMaps, their names as Flux makes them.


IsOwn = Callable[[FluxSource], bool]
"""Whether a source is this very repo."""


def origin(
    manifest: Manifest,
    *,
    cluster: str,
    parent: str,
    sources: FluxSources,
    holders: VariableHolders,
    is_own: IsOwn,
    trees: SourceTrees | None = None,
) -> tuple[Origin, list[Diagnostic]]:
    """A HelmRelease as an origin, and what is wrong with it.

    Args:
        manifest: The HelmRelease, as Flux would see it.
        cluster: The cluster that installs it.
        parent: The id of the Kustomization that brings it.
        sources: The sources of the cluster.
        holders: Its ConfigMaps and Secrets.
        is_own: Tells whether a source is this repo.
        trees: The files of artifacts, where they are known.
    """
    spec = flux_objects.spec(manifest)
    given, diagnostics = values_of(manifest, holders)
    located = _Located(manifest, sources, is_own, trees)
    chart = located.chart(_release(manifest, given))
    if located.diagnostic is not None:
        diagnostics.append(located.diagnostic)
    elsewhere = flux_kustomizations.elsewhere(manifest)
    if elsewhere:
        diagnostics.append(
            Diagnostic.unknown(
                "flux-cluster-elsewhere", f"{called(manifest)}: {elsewhere}", at=manifest.at("spec", "kubeConfig")
            )
        )
    found = Origin(
        form=SourceForm.HELM_RELEASE,
        side=Side.GITOPS,
        place=manifest.place,
        name=manifest.id.name,
        namespace=manifest.id.namespace,
        cluster=cluster,
        source=chart,
        version=chart.version or chart.digest if isinstance(chart, ChartSource) else "",
        needs=tuple(flux_kustomizations.needs(manifest, "helmrelease")),
        parent=parent,
        suspended=spec.get("suspend") is True,
        secrets=(*secret_needs.of_helm_release(manifest), *secret_needs.of_source(located.source)),
        definition=manifest.value,
        doubt="; ".join(each for each in (elsewhere, located.doubt) if each),
    )
    return found, diagnostics


def _release(manifest: Manifest, given: tuple[Values, ...]) -> dict[str, Any]:
    """What is known of a release whatever its chart is."""
    spec = flux_objects.spec(manifest)
    return {
        "release": engine_marks.release_name(manifest.value),
        "namespace": text(spec.get("targetNamespace")) or manifest.id.namespace,
        "storage_namespace": text(spec.get("storageNamespace")) or manifest.id.namespace,
        "values": given,
        "post_renderers": tuple(each for each in entries(spec.get("postRenderers")) if isinstance(each, dict)),
    }


class _Located:
    """The chart of a release, looked for."""

    def __init__(
        self, manifest: Manifest, sources: FluxSources, is_own: IsOwn, trees: SourceTrees | None = None
    ) -> None:
        self._manifest = manifest
        self._sources = sources
        self._is_own = is_own
        self._trees = trees
        self.source: Manifest | None = None
        self.doubt = ""
        self.diagnostic: Diagnostic | None = None

    def chart(self, release: Mapping[str, Any]) -> ChartSource | Unresolved:
        spec = flux_objects.spec(self._manifest)
        reference = mapping(spec.get("chartRef"))
        template = mapping(mapping(spec.get("chart")).get("spec"))
        if reference:
            return self._referenced(reference, release)
        if template:
            return self._templated(template, ("spec", "chart", "spec"), self._manifest.id.namespace, release)
        return self._unresolved("flux-chart-missing", "", reason="it names no chart", steps=("spec",))

    def _referenced(self, reference: Mapping[str, Any], release: Mapping[str, Any]) -> ChartSource | Unresolved:
        kind = text(reference.get("kind")) or flux_names.OCI_REPOSITORY
        if kind == flux_names.EXTERNAL_ARTIFACT:
            return self._made(reference, release)
        found = self._found(reference, kind, ("spec", "chartRef"))
        if isinstance(found, Unresolved):
            return found
        assert found.manifest is not None
        if kind == flux_names.HELM_CHART:
            return self._templated(
                flux_objects.spec(found.manifest), ("spec", "chartRef"), found.reference.namespace, release
            )
        if kind != flux_names.OCI_REPOSITORY:
            return self._unresolved(
                "flux-chart-not-followed",
                str(found.reference),
                reason=f"a {kind} holds its chart",
                steps=("spec", "chartRef"),
                severity=Severity.UNKNOWN,
            )
        return self._of_repository(found, release)

    def _made(self, reference: Mapping[str, Any], release: Mapping[str, Any]) -> ChartSource | Unresolved:
        """The chart in an artifact of an ArtifactGenerator: a directory of this repo, or one chart elsewhere."""
        wanted = self._sources.find(
            flux_names.EXTERNAL_ARTIFACT,
            text(reference.get("name")),
            text(reference.get("namespace")) or self._manifest.id.namespace,
        )
        files = self._trees.of(wanted) if self._trees is not None else None
        reason = f"nothing in the repo makes {wanted.reference}" if files is None else files.reason
        if files is not None and files.tree is None and self._trees is not None:
            copied = self._trees.only_source(wanted.reference)
            if copied is not None and copied.id.kind == flux_names.OCI_REPOSITORY:
                self.source = copied
                self.doubt = f"{wanted.reference} is made of it"
                return self._of_repository(FluxSource(wanted.reference, copied), release)
        if files is not None and isinstance(files.tree, ArtifactTree):
            self.doubt = files.reason
            charts = [each for each in files.tree.files if posixpath.basename(each) == "Chart.yaml"]
            top = [each for each in charts if each.count("/") == min(map(lambda path: path.count("/"), charts))]
            directory = posixpath.dirname(top[0]) if len(top) == 1 else ""
            inside = frozenset(each for each in files.tree.files if each.startswith(f"{directory}/"))
            if len(top) == 1 and files.tree.keeps_layout(inside or frozenset(top), directory or "."):
                return ChartSource(name=files.tree.repo_path(directory or "."), **release)
            reason = files.unread or f"{wanted.reference} has no chart as it is in the repo"
        return self._unresolved(
            "flux-chart-not-followed",
            str(wanted.reference),
            reason=reason,
            steps=("spec", "chartRef"),
            severity=Severity.UNKNOWN,
        )

    def _of_repository(self, found: FluxSource, release: Mapping[str, Any]) -> ChartSource:
        assert found.manifest is not None
        repository, _, name = found.url.rstrip("/").rpartition("/")
        pinned = source_ref(found.manifest)
        version = text(pinned.get("tag")) or text(pinned.get("semver")) or ("" if pinned.get("digest") else "latest")
        return ChartSource(
            name=name,
            repository=repository,
            version=version,
            digest=text(pinned.get("digest")),
            credentials=_credentials(found.manifest),
            insecure=_is_insecure(found.manifest, repository),
            origin=found.manifest.place,
            pinned=found.manifest.place,
            **release,
        )

    def _templated(
        self, template: Mapping[str, Any], steps: tuple[str, ...], namespace: str, release: Mapping[str, Any]
    ) -> ChartSource | Unresolved:
        reference = mapping(template.get("sourceRef"))
        kind, name = text(reference.get("kind")), text(template.get("chart"))
        found = self._found(reference, kind, (*steps, "sourceRef"), namespace)
        if isinstance(found, Unresolved):
            return found
        assert found.manifest is not None
        version = text(template.get("version"))
        repository = found.url
        if kind in (flux_names.GIT_REPOSITORY, flux_names.BUCKET, flux_names.OCI_REPOSITORY):
            version = revision(source_ref(found.manifest))
            if self._is_own(found):
                name, repository, version = flux_objects.normal_path(name) or name, "", ""
            elif kind == flux_names.BUCKET:
                spec = flux_objects.spec(found.manifest)
                repository = posixpath.join(text(spec.get("endpoint")), text(spec.get("bucketName")))
        return ChartSource(
            name=name,
            repository=repository,
            version=version,
            credentials=_credentials(found.manifest),
            insecure=_is_insecure(found.manifest, repository),
            origin=found.manifest.place,
            **release,
        )

    def _found(
        self, reference: Mapping[str, Any], kind: str, steps: tuple[str, ...], namespace: str = ""
    ) -> FluxSource | Unresolved:
        name = text(reference.get("name"))
        at = text(reference.get("namespace")) or namespace or self._manifest.id.namespace
        found = self._sources.find(kind, name, at)
        if found.manifest is None:
            return self._unresolved(
                "flux-source-missing", str(found.reference), reason=f"there is no {found.reference}", steps=steps
            )
        self.source = found.manifest
        if not found.is_reached:
            self.doubt = f"{found.reference} is at {found.manifest.place}, and not in the cluster's tree"
            self.diagnostic = Diagnostic.warning("flux-source-unreached", self.doubt, at=self._manifest.at(*steps))
        return found

    def _unresolved(
        self, code: str, written: str, *, reason: str, steps: Sequence[str], severity: Severity = Severity.ERROR
    ) -> Unresolved:
        self.diagnostic = Diagnostic(
            code=code,
            severity=severity,
            message=f"the chart is not known: {reason}",
            places=(self._manifest.at(*steps),),
        )
        return Unresolved(text=written, reason=reason)


def _credentials(source: Manifest) -> str:
    name = text(mapping(flux_objects.spec(source).get("secretRef")).get("name"))
    return f"{source.id.namespace}/{name}" if name else ""


def _is_insecure(source: Manifest, repository: str) -> bool:
    """Whether a registry is spoken to without TLS; of other repositories the URL says it."""
    return repository.startswith("oci://") and flux_objects.spec(source).get("insecure") is True
