"""A component for Flux: a Kustomization of a directory, and in it a HelmRelease with its source, or plain manifests."""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, text
from firstlight.engines import engine_directives
from firstlight.model import flux_names
from firstlight.model.cluster import Engine
from firstlight.model.component import SourceForm
from firstlight.model.finding import FileEdit
from firstlight.model.source import ChartSource, DirectorySource, Embedded
from firstlight.repo.move_edits import new_files
from firstlight.repo.move_edits.new_files import WantedComponent
from firstlight.repo.work_tree import WorkTree

OCI = "oci://"
_CHART_LAYER = {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"}
_THERE = frozenset({"", "default", "kube-system", "kube-public", "kube-node-lease", flux_names.FLUX_SYSTEM})
"""Namespaces that are there before any component."""
_KEEP = engine_directives.prune_guard(Engine.FLUX)
_GUARD = {_KEEP.name: _KEEP.value}
"""Taken out of Git by mistake it stays."""


def edits(tree: WorkTree, wanted: WantedComponent, home: str) -> Iterator[FileEdit]:
    """All files.

    Args:
        tree: The repo.
        wanted: What is to be brought.
        home: The directory for what has none yet.
    """
    path = home
    match wanted.source:
        case DirectorySource():
            path = wanted.source.path
        case Embedded():
            yield from new_files.embedded(tree, wanted.source, home, wanted.component.name)
        case ChartSource():
            yield from _release(wanted, wanted.source, home)
    yield from new_files.into(tree, wanted.start, f"{wanted.component.name}.yaml", _kustomization(wanted, path))


def _kustomization(wanted: WantedComponent, path: str) -> dict[str, Any]:
    """As the cluster's others are."""
    return {
        "apiVersion": flux_names.KUSTOMIZE_API,
        "kind": flux_names.KUSTOMIZATION,
        "metadata": {"name": wanted.component.name, "namespace": _namespace(wanted)},
        "spec": {
            "interval": "1h",
            "retryInterval": "1m",
            "timeout": "5m",
            "path": f"./{path}",
            "prune": True,
            "wait": True,
            "sourceRef": _followed(wanted),
        },
    }


def _namespace(wanted: WantedComponent) -> str:
    """Where the cluster's Kustomizations are."""
    found = (text(each, "metadata", "namespace") for each in wanted.others(SourceForm.KUSTOMIZATION))
    return next((each for each in found if each), flux_names.FLUX_SYSTEM)


def _followed(wanted: WantedComponent) -> dict[str, Any]:
    """What the cluster's Kustomizations read this repo from."""
    found = (at(each, "spec", "sourceRef") for each in wanted.others(SourceForm.KUSTOMIZATION))
    named = (dict(each) for each in found if isinstance(each, Mapping) and each.get("name"))
    return next(named, {"kind": flux_names.GIT_REPOSITORY, "name": flux_names.FLUX_SYSTEM})


def _release(wanted: WantedComponent, chart: ChartSource, home: str) -> Iterator[FileEdit]:
    """A HelmRelease, its source unless that is this repo, and its namespace where nobody has it."""
    resources = ["source.yaml", "release.yaml"] if chart.repository else ["release.yaml"]
    if not _has_namespace(wanted, chart.namespace):
        resources.insert(0, "namespace.yaml")
        named = {"name": chart.namespace, "annotations": _GUARD}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": named}
        yield new_files.write(posixpath.join(home, "namespace.yaml"), namespace)
    if chart.repository:
        yield new_files.write(posixpath.join(home, "source.yaml"), _source(wanted, chart))
    yield new_files.write(posixpath.join(home, "release.yaml"), _helm_release(wanted, chart))
    yield new_files.kustomized(home, resources, {"namespace": chart.namespace} if chart.namespace else {})


def _source(wanted: WantedComponent, chart: ChartSource) -> dict[str, Any]:
    spec: dict[str, Any] = {"interval": "1h", "url": chart.repository}
    if is_oci(chart):
        pin = {"digest": chart.digest} if chart.digest else {"tag": chart.version}
        spec |= {"url": f"{chart.repository.rstrip('/')}/{chart.name}", "ref": pin, "layerSelector": _CHART_LAYER}
    if chart.insecure:
        spec["insecure"] = True
    metadata = {"name": release_name(wanted, chart)}
    return {"apiVersion": flux_names.SOURCE_API, "kind": _kind(chart), "metadata": metadata, "spec": spec}


def _helm_release(wanted: WantedComponent, chart: ChartSource) -> dict[str, Any]:
    name = release_name(wanted, chart)
    reference = {"kind": _kind(chart), "name": name}
    given = {"chart": chart.name, "version": chart.version, "sourceRef": reference}
    if not chart.repository:
        given = {"chart": f"./{chart.name}", "sourceRef": {"namespace": _namespace(wanted), **_followed(wanted)}}
    # Whoever takes the network out of Git by mistake could not bring it back by Git.
    guard = {"annotations": _GUARD} if wanted.component.role == "cni" else {}
    return {
        "apiVersion": flux_names.HELM_API,
        "kind": flux_names.HELM_RELEASE,
        "metadata": {"name": name, **guard},
        "spec": {
            "interval": "1h",
            **({"chartRef": reference} if is_oci(chart) else {"chart": {"spec": given}}),
            # Never uninstalled between two tries: others stand on it.
            "install": {"strategy": {"name": "RetryOnFailure"}},
            **({"values": wanted.values} if wanted.values else {}),
        },
    }


def is_oci(chart: ChartSource) -> bool:
    """Whether a chart comes from a registry."""
    return chart.repository.startswith(OCI)


def release_name(wanted: WantedComponent, chart: ChartSource) -> str:
    """What Helm calls it."""
    return chart.release or wanted.component.name


def _kind(chart: ChartSource) -> str:
    return flux_names.OCI_REPOSITORY if is_oci(chart) else flux_names.HELM_REPOSITORY


def _has_namespace(wanted: WantedComponent, namespace: str) -> bool:
    return namespace in _THERE or any(
        (each.id.kind, each.id.name) == ("Namespace", namespace)
        for component in wanted.platform.components_of(wanted.cluster.name)
        for origin in component.halves[1]
        for each in origin.stated
    )
