"""Where a cluster's tree begins: the Kustomization that Flux is started with."""

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.engines.flux import features
from firstlight.model import flux_names
from firstlight.model.component import Origin, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, RemoteSource
from firstlight.repo.flux import flux_objects, secret_needs
from firstlight.repo.flux.flux_objects import mapping, text
from firstlight.repo.kustomize import kustomize_patches
from firstlight.repo.kustomize.resources import KustomizationError, KustomizeResource
from firstlight.repo.manifest import Manifest


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FluxRoot:
    """A path that somebody else says a cluster begins at: the user, or a ``flux bootstrap`` in a script."""

    path: str
    cluster: str = ""
    place: Place | None = None
    namespace: str = flux_names.FLUX_SYSTEM
    """Where Flux is installed; its source and first Kustomization are called so, too."""


@dataclasses.dataclass(frozen=True)
class FluxStart:
    """Where Flux begins in a cluster."""

    path: str
    """The directory."""
    manifests: tuple[Manifest, ...]
    """The Kustomization, as it is written or as Flux's operator would make it; several only where that is a guess."""
    why: str
    """How it was told, for those who doubt it."""
    cluster: str = ""
    """The cluster's name, where somebody says it."""
    source: Manifest | None = None
    """The source of the Kustomization, where it is made with it: by the operator, or by ``flux bootstrap``."""
    components: str = ""
    """The file with Flux itself that ``flux bootstrap`` wrote beside it."""
    instance: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """The spec of the FluxInstance that says so."""
    is_inferred: bool = False

    @property
    def place(self) -> Place:
        """Where it is said."""
        return self.manifests[0].place


def synthesized(
    path: str, place: Place, *, namespace: str = flux_names.FLUX_SYSTEM, name: str = flux_names.FLUX_SYSTEM
) -> Manifest:
    """The Kustomization that ``flux bootstrap`` would make for a path."""
    value = {
        "apiVersion": flux_names.KUSTOMIZE_API,
        "kind": flux_names.KUSTOMIZATION,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"path": path, "prune": True, "sourceRef": {"kind": flux_names.GIT_REPOSITORY, "name": name}},
    }
    return Manifest(value, place)


def start_of_instance(instance: Mapping[str, Any], namespace: str, place: Place) -> tuple[Manifest, Manifest] | None:
    """The Kustomization and the source that the operator makes for a FluxInstance; None if it syncs nothing.

    Args:
        instance: The spec of the FluxInstance.
        namespace: Where the FluxInstance is.
        place: Where its sync is written.
    """
    sync = mapping(instance.get("sync"))
    if not text(sync.get("path")):
        return None
    name = text(sync.get("name")) or namespace
    kind = text(sync.get("kind")) or flux_names.GIT_REPOSITORY
    reference = text(sync.get("ref"))
    ref = {"tag": reference} if kind == flux_names.OCI_REPOSITORY else {"name": reference}
    source: dict[str, Any] = {
        "apiVersion": flux_names.SOURCE_API,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"url": text(sync.get("url")), "ref": ref},
    }
    if text(sync.get("pullSecret")):
        source["spec"]["secretRef"] = {"name": text(sync.get("pullSecret"))}
    made = synthesized(text(sync["path"]), place, namespace=namespace, name=name)
    kustomization = {**made.value, "spec": {**made.value["spec"], "sourceRef": {"kind": kind, "name": name}}}
    both = [KustomizeResource(each, Manifest(each, place)) for each in (kustomization, source)]
    for patch in flux_objects.entries(mapping(instance.get("kustomize")).get("patches")):
        both = _patched(both, mapping(patch))
    return Manifest(both[0].value, place), Manifest(both[1].value, place)


def _patched(resources: list[KustomizeResource], patch: Mapping[str, Any]) -> list[KustomizeResource]:
    """What the operator's own patches make of both; most are for the controllers, and do not fit here."""
    target = mapping(patch.get("target"))
    # The kind of a target is a pattern, as its name is.
    kind = text(target.get("kind"))
    try:
        if kind and not any(re.fullmatch(kind, each.gvk.kind) for each in resources):
            return resources
    except re.error:
        return resources
    try:
        documents = kustomize_patches.parsed(text(patch.get("patch")))
        changed = kustomize_patches.apply(resources, kustomize_patches.KustomizePatch(documents, target))
    except KustomizationError:
        return resources
    return changed if len(changed) == len(resources) else resources


# Flux itself in the tree: the components that ``flux bootstrap`` wrote there, and FluxInstances.


_HEADER = re.compile(r"^# Flux [Vv]ersion: (?P<version>\S+)", re.MULTILINE)
_VERSION = "app.kubernetes.io/version"


def is_flux_component(manifest: Manifest) -> bool:
    """Whether an object is one of those that make Flux run."""
    return os.path.basename(manifest.place.path).startswith("gotk-components.")


def flux_components(
    manifests: Sequence[Manifest], *, cluster: str, parent: str = "", maker: Manifest | None = None
) -> Origin:
    """Flux, as ``flux bootstrap`` wrote it; without a parent nothing in Git applies it afterwards.

    Args:
        manifests: Its objects.
        cluster: Whose.
        parent: The id of the Kustomization that applies it.
        maker: That Kustomization, whose build may patch what ``flux bootstrap`` wrote.
    """
    first = manifests[0]
    labels = [mapping(mapping(each.value.get("metadata")).get("labels")) for each in manifests]
    version = next((text(each[_VERSION]) for each in labels if each.get(_VERSION)), "")
    if not version and first.document is not None and (header := _HEADER.search(first.document.text[:4096])):
        version = header["version"]
    namespaces = [each.id.namespace for each in manifests if each.id.kind == "Deployment"]
    return Origin(
        form=SourceForm.FLUX_COMPONENTS,
        side=Side.GITOPS if parent else Side.BOOTSTRAP,
        place=first.place,
        name="flux",
        namespace=namespaces[0] if namespaces else flux_names.FLUX_SYSTEM,
        cluster=cluster,
        phase=Phase.ENGINE,
        source=DirectorySource(path=first.place.path, kustomize=False),
        version=version,
        parent=parent,
        doubt="" if parent else "the cluster's tree does not bring it",
        objects=tuple(each.id for each in manifests),
        maker=maker.value if maker is not None else {},
    )


def instance_origin(manifest: Manifest, *, cluster: str, parent: str) -> Origin:
    """Flux, as its operator installs it."""
    distribution = mapping(flux_objects.spec(manifest).get("distribution"))
    version = text(distribution.get("version"))
    url = text(distribution.get("artifact")) or text(distribution.get("registry"))
    return Origin(
        form=SourceForm.FLUX_INSTANCE,
        side=Side.GITOPS,
        place=manifest.place,
        name=manifest.id.name,
        namespace=manifest.id.namespace,
        cluster=cluster,
        phase=Phase.ENGINE,
        source=RemoteSource(url=url, revision=version),
        version=version,
        parent=parent,
        secrets=tuple(secret_needs.of_instance(manifest)),
        definition=manifest.value,
    )


def is_strict(
    start: FluxStart, components: Sequence[Manifest], instances: Mapping[str, tuple[Manifest, str]]
) -> bool | None:
    """Whether Flux refuses variables without a value; None where nothing says which Flux it is.

    Args:
        start: Where it begins.
        components: The objects that ``flux bootstrap`` wrote, as they are applied.
        instances: The FluxInstances of the cluster.
    """
    specs = [flux_objects.spec(manifest) for manifest, _ in instances.values()] or [start.instance]
    written = [json.dumps(each, default=str) for each in specs]
    written += [json.dumps(each.value, default=str) for each in components if each.id.kind == "Deployment"]
    stated = features.gate(written, features.STRICT_SUBSTITUTION)
    if stated is not None:
        return stated
    versions = [text(mapping(each.get("distribution")).get("version")) for each in specs]
    versions += [flux_components(components, cluster="").version] if components else []
    told = {features.is_at_least(each, features.STRICT_SINCE) for each in versions if each}
    return told.pop() if len(told) == 1 else None
