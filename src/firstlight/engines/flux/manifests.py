"""A component for Flux: a Kustomization of a directory, and in it a HelmRelease with its source, or plain manifests."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, mapping, text
from firstlight.engines.adapter import OCI, ComponentManifests, WantedComponent
from firstlight.model import flux_names
from firstlight.model.component import SourceForm
from firstlight.model.source import ChartSource, DirectorySource

_CHART_LAYER = {"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy"}
_THERE = frozenset({"", "default", "kube-system", "kube-public", "kube-node-lease", flux_names.FLUX_SYSTEM})
"""Namespaces that are there before any component."""
_GUARD = {flux_names.PRUNE_ANNOTATION: "disabled"}
"""Taken out of Git by mistake it stays."""
_OF_ITS_OWN = ("dependsOn", "healthChecks", "healthCheckExprs", "suspend")
"""What a Kustomization says of its own objects and its own place."""


def manifests(wanted: WantedComponent, home: str) -> ComponentManifests:
    """Return what declares a component.

    Args:
        wanted: What is to be brought.
        home: The directory for what has none yet.
    """
    match wanted.source:
        case DirectorySource():
            return ComponentManifests(entry=_kustomization(wanted, wanted.source.path))
        case ChartSource() as chart:
            return ComponentManifests(
                entry=_kustomization(wanted, home),
                files=_release(wanted, chart),
                kustomization={"namespace": chart.namespace} if chart.namespace else {},
            )
    return ComponentManifests(entry=_kustomization(wanted, home))


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


def _release(wanted: WantedComponent, chart: ChartSource) -> dict[str, Mapping[str, Any]]:
    """A HelmRelease, its source unless that is this repo, and its namespace where nobody has it."""
    found: dict[str, Mapping[str, Any]] = {}
    if not _has_namespace(wanted, chart.namespace):
        named = {"name": chart.namespace, "annotations": _GUARD}
        found["namespace.yaml"] = {"apiVersion": "v1", "kind": "Namespace", "metadata": named}
    if chart.repository:
        found["source.yaml"] = _source(wanted, chart)
    return {**found, "release.yaml": _helm_release(wanted, chart)}


def _source(wanted: WantedComponent, chart: ChartSource) -> dict[str, Any]:
    spec: dict[str, Any] = {"interval": "1h", "url": chart.repository}
    if _is_oci(chart):
        pin = {"digest": chart.digest} if chart.digest else {"tag": chart.version}
        spec |= {"url": f"{chart.repository.rstrip('/')}/{chart.name}", "ref": pin, "layerSelector": _CHART_LAYER}
    if chart.insecure:
        spec["insecure"] = True
    metadata = {"name": wanted.release_name(chart)}
    return {"apiVersion": flux_names.SOURCE_API, "kind": _kind(chart), "metadata": metadata, "spec": spec}


def _helm_release(wanted: WantedComponent, chart: ChartSource) -> dict[str, Any]:
    name = wanted.release_name(chart)
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
            **({"chartRef": reference} if _is_oci(chart) else {"chart": {"spec": given}}),
            # Never uninstalled between two tries: others stand on it.
            "install": {"strategy": {"name": "RetryOnFailure"}},
            **({"values": wanted.values} if wanted.values else {}),
        },
    }


def _is_oci(chart: ChartSource) -> bool:
    return chart.repository.startswith(OCI)


def _kind(chart: ChartSource) -> str:
    return flux_names.OCI_REPOSITORY if _is_oci(chart) else flux_names.HELM_REPOSITORY


def _has_namespace(wanted: WantedComponent, namespace: str) -> bool:
    return namespace in _THERE or any(
        (each.id.kind, each.id.name) == ("Namespace", namespace)
        for component in wanted.platform.components_of(wanted.cluster.name)
        for origin in component.halves[1]
        for each in origin.stated
    )


# A second owner for some of the objects of one: a copy, of another directory, and after it.


def copied(old: Mapping[str, Any], name: str, *, after: str, directory: str, target: str) -> dict[str, Any]:
    """Return a Kustomization for a directory beside that of another one.

    Args:
        old: The other one, as its file has it.
        name: What the new one is called.
        after: The name of the other one in the cluster.
        directory: What the other one applies.
        target: What the new one is to apply.
    """
    spec = {each: part for each, part in mapping(old, "spec").items() if each not in _OF_ITS_OWN}
    spec["path"] = f"./{target}" if text(old, "spec", "path").startswith("./") else target
    needs = {"dependsOn": [{"name": after}]}
    return {**old, "metadata": {**mapping(old, "metadata"), "name": name}, "spec": {**needs, **spec}}
