"""Flux itself in the tree: the components that ``flux bootstrap`` wrote there, and FluxInstances."""

import os
import re
from collections.abc import Sequence

from firstlight.model.component import Form, Origin, Phase, Side
from firstlight.model.source import Directory, Remote
from firstlight.repo.flux import kinds, secret_needs
from firstlight.repo.flux.kinds import mapping, text
from firstlight.repo.manifest import Manifest

_HEADER = re.compile(r"^# Flux [Vv]ersion: (?P<version>\S+)", re.MULTILINE)
_VERSION = "app.kubernetes.io/version"


def is_component(manifest: Manifest) -> bool:
    """Whether an object is one of those that make Flux run."""
    return os.path.basename(manifest.place.path).startswith("gotk-components.")


def components(
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
        form=Form.FLUX_COMPONENTS,
        side=Side.GITOPS if parent else Side.BOOTSTRAP,
        place=first.place,
        name="flux",
        namespace=namespaces[0] if namespaces else "flux-system",
        cluster=cluster,
        phase=Phase.ENGINE,
        source=Directory(path=first.place.path, kustomize=False),
        version=version,
        parent=parent,
        doubt="" if parent else "the cluster's tree does not bring it",
        objects=tuple(each.id for each in manifests),
        maker=maker.value if maker is not None else {},
    )


def instance(manifest: Manifest, *, cluster: str, parent: str) -> Origin:
    """Flux, as its operator installs it."""
    distribution = mapping(kinds.spec(manifest).get("distribution"))
    version = text(distribution.get("version"))
    url = text(distribution.get("artifact")) or text(distribution.get("registry"))
    return Origin(
        form=Form.FLUX_INSTANCE,
        side=Side.GITOPS,
        place=manifest.place,
        name=manifest.id.name,
        namespace=manifest.id.namespace,
        cluster=cluster,
        phase=Phase.ENGINE,
        source=Remote(url=url, revision=version),
        version=version,
        parent=parent,
        secrets=tuple(secret_needs.of_instance(manifest)),
        definition=manifest.value,
    )
