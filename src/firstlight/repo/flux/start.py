"""Where a cluster's tree begins: the Kustomization that Flux is started with."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.place import Place
from firstlight.repo.flux import kinds
from firstlight.repo.flux.kinds import mapping, text
from firstlight.repo.kustomize import patches
from firstlight.repo.kustomize.problem import Problem
from firstlight.repo.kustomize.resource import Resource
from firstlight.repo.manifest import Manifest


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A path that somebody else says a cluster begins at: the user, or a ``flux bootstrap`` in a script."""

    path: str
    cluster: str = ""
    place: Place | None = None


@dataclasses.dataclass(frozen=True)
class Start:
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
    is_inferred: bool = False

    @property
    def place(self) -> Place:
        """Where it is said."""
        return self.manifests[0].place


def synthesized(path: str, place: Place, *, namespace: str = "flux-system", name: str = "flux-system") -> Manifest:
    """The Kustomization that ``flux bootstrap`` would make for a path."""
    value = {
        "apiVersion": f"{kinds.KUSTOMIZE}/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"path": path, "prune": True, "sourceRef": {"kind": "GitRepository", "name": name}},
    }
    return Manifest(value, place)


def of_instance(instance: Mapping[str, Any], namespace: str, place: Place) -> tuple[Manifest, Manifest] | None:
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
    kind = text(sync.get("kind")) or "GitRepository"
    reference = text(sync.get("ref"))
    ref = {"tag": reference} if kind == "OCIRepository" else {"name": reference}
    source: dict[str, Any] = {
        "apiVersion": f"{kinds.SOURCE}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"url": text(sync.get("url")), "ref": ref},
    }
    if text(sync.get("pullSecret")):
        source["spec"]["secretRef"] = {"name": text(sync.get("pullSecret"))}
    made = synthesized(text(sync["path"]), place, namespace=namespace, name=name)
    kustomization = {**made.value, "spec": {**made.value["spec"], "sourceRef": {"kind": kind, "name": name}}}
    both = [Resource(each, Manifest(each, place)) for each in (kustomization, source)]
    for patch in kinds.entries(mapping(instance.get("kustomize")).get("patches")):
        both = _patched(both, mapping(patch))
    return Manifest(both[0].value, place), Manifest(both[1].value, place)


def _patched(resources: list[Resource], patch: Mapping[str, Any]) -> list[Resource]:
    """What the operator's own patches make of both; most are for the controllers, and do not fit here."""
    target = mapping(patch.get("target"))
    if text(target.get("kind")) not in ("Kustomization", "GitRepository", "OCIRepository"):
        return resources
    try:
        documents = patches.parsed(text(patch.get("patch")))
        changed = patches.apply(resources, patches.Patch(documents, target))
    except Problem:
        return resources
    return changed if len(changed) == len(resources) else resources
