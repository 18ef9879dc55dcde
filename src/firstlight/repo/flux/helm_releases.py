"""HelmReleases: their charts found through sources, their values through ConfigMaps, their names as Flux makes them."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from firstlight.model.component import Form, Origin, Side
from firstlight.model.remark import Grade, Remark
from firstlight.model.source import Chart, Unresolved, Values
from firstlight.ownership import engine_marks
from firstlight.repo.flux import kinds, kustomizations, paths, secret_needs, values
from firstlight.repo.flux.kinds import called, entries, mapping, text
from firstlight.repo.flux.sources import Source, Sources, ref, revision
from firstlight.repo.flux.variables import Holders
from firstlight.repo.manifest import Manifest

IsOwn = Callable[[Source], bool]
"""Whether a source is this very repo."""


def origin(
    manifest: Manifest, *, cluster: str, parent: str, sources: Sources, holders: Holders, is_own: IsOwn
) -> tuple[Origin, list[Remark]]:
    """A HelmRelease as an origin, and what is wrong with it.

    Args:
        manifest: The HelmRelease, as Flux would see it.
        cluster: The cluster that installs it.
        parent: The id of the Kustomization that brings it.
        sources: The sources of the cluster.
        holders: Its ConfigMaps and Secrets.
        is_own: Tells whether a source is this repo.
    """
    spec = kinds.spec(manifest)
    given, remarks = values.of(manifest, holders)
    located = _Located(manifest, sources, is_own)
    chart = located.chart(_release(manifest, given))
    if located.remark is not None:
        remarks.append(located.remark)
    elsewhere = kustomizations.elsewhere(manifest)
    if elsewhere:
        remarks.append(Remark(manifest.at("spec", "kubeConfig"), Grade.UNKNOWN, f"{called(manifest)}: {elsewhere}"))
    found = Origin(
        form=Form.HELM_RELEASE,
        side=Side.GITOPS,
        place=manifest.place,
        name=manifest.id.name,
        namespace=manifest.id.namespace,
        cluster=cluster,
        source=chart,
        version=chart.version or chart.digest if isinstance(chart, Chart) else "",
        needs=tuple(kustomizations.needs(manifest, "helmrelease")),
        parent=parent,
        suspended=spec.get("suspend") is True,
        secrets=(*secret_needs.of_helm_release(manifest), *secret_needs.of_source(located.source)),
        definition=manifest.value,
        doubt="; ".join(each for each in (elsewhere, located.doubt) if each),
    )
    return found, remarks


def _release(manifest: Manifest, given: tuple[Values, ...]) -> dict[str, Any]:
    """What is known of a release whatever its chart is."""
    spec = kinds.spec(manifest)
    return {
        "release": engine_marks.release_name(manifest.value),
        "namespace": text(spec.get("targetNamespace")) or manifest.id.namespace,
        "storage_namespace": text(spec.get("storageNamespace")) or manifest.id.namespace,
        "values": given,
        "post_renderers": tuple(each for each in entries(spec.get("postRenderers")) if isinstance(each, dict)),
    }


class _Located:
    """The chart of a release, looked for."""

    def __init__(self, manifest: Manifest, sources: Sources, is_own: IsOwn) -> None:
        self._manifest = manifest
        self._sources = sources
        self._is_own = is_own
        self.source: Manifest | None = None
        self.doubt = ""
        self.remark: Remark | None = None

    def chart(self, release: Mapping[str, Any]) -> Chart | Unresolved:
        spec = kinds.spec(self._manifest)
        reference = mapping(spec.get("chartRef"))
        template = mapping(mapping(spec.get("chart")).get("spec"))
        if reference:
            return self._referenced(reference, release)
        if template:
            return self._templated(template, ("spec", "chart", "spec"), self._manifest.id.namespace, release)
        return self._unresolved("", "it names no chart", Grade.ERROR, "spec")

    def _referenced(self, reference: Mapping[str, Any], release: Mapping[str, Any]) -> Chart | Unresolved:
        kind = text(reference.get("kind")) or "OCIRepository"
        found = self._found(reference, kind, ("spec", "chartRef"))
        if isinstance(found, Unresolved):
            return found
        assert found.manifest is not None
        if kind == "HelmChart":
            return self._templated(kinds.spec(found.manifest), ("spec", "chartRef"), found.reference.namespace, release)
        if kind != "OCIRepository":
            return self._unresolved(
                str(found.reference), f"a {kind} holds its chart", Grade.UNKNOWN, "spec", "chartRef"
            )
        repository, _, name = found.url.rstrip("/").rpartition("/")
        pinned = ref(found.manifest)
        version = text(pinned.get("tag")) or text(pinned.get("semver")) or ("" if pinned.get("digest") else "latest")
        return Chart(
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
    ) -> Chart | Unresolved:
        reference = mapping(template.get("sourceRef"))
        kind, name = text(reference.get("kind")), text(template.get("chart"))
        found = self._found(reference, kind, (*steps, "sourceRef"), namespace)
        if isinstance(found, Unresolved):
            return found
        assert found.manifest is not None
        version = text(template.get("version"))
        repository = found.url
        if kind in ("GitRepository", "Bucket", "OCIRepository"):
            version = revision(ref(found.manifest))
            if self._is_own(found):
                name, repository, version = paths.normal(name) or name, "", ""
            elif kind == "Bucket":
                spec = kinds.spec(found.manifest)
                repository = posixpath.join(text(spec.get("endpoint")), text(spec.get("bucketName")))
        return Chart(
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
    ) -> Source | Unresolved:
        name = text(reference.get("name"))
        at = text(reference.get("namespace")) or namespace or self._manifest.id.namespace
        found = self._sources.find(kind, name, at)
        if found.manifest is None:
            return self._unresolved(str(found.reference), f"there is no {found.reference}", Grade.ERROR, *steps)
        self.source = found.manifest
        if not found.is_reached:
            self.doubt = f"{found.reference} is at {found.manifest.place}, and not in the cluster's tree"
            self.remark = Remark(self._manifest.at(*steps), Grade.WARNING, self.doubt)
        return found

    def _unresolved(self, written: str, reason: str, grade: Grade, *steps: str) -> Unresolved:
        self.remark = Remark(self._manifest.at(*steps), grade, f"the chart is not known: {reason}")
        return Unresolved(text=written, reason=reason)


def _credentials(source: Manifest) -> str:
    name = text(mapping(kinds.spec(source).get("secretRef")).get("name"))
    return f"{source.id.namespace}/{name}" if name else ""


def _is_insecure(source: Manifest, repository: str) -> bool:
    """Whether a registry is spoken to without TLS; of other repositories the URL says it."""
    return repository.startswith("oci://") and kinds.spec(source).get("insecure") is True
