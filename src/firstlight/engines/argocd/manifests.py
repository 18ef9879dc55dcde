"""A component for Argo CD: an Application of a chart or a directory, with server-side apply."""

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.engines.adapter import OCI, ComponentManifests, WantedComponent
from firstlight.model import argocd_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import SourceForm
from firstlight.model.source import ChartSource, DirectorySource

_HERE = {"server": "https://kubernetes.default.svc"}


def manifests(wanted: WantedComponent, home: str) -> ComponentManifests:
    """Return what declares a component.

    Args:
        wanted: What is to be brought.
        home: The directory for what has none yet.
    """
    match wanted.source:
        case ChartSource() as chart:
            source = _charted(wanted, chart)
        case DirectorySource():
            source = _tracked(wanted.cluster, wanted.source.path)
        case _:
            source = _tracked(wanted.cluster, home)
    return ComponentManifests(entry=_application(wanted, source))


def _application(wanted: WantedComponent, source: Mapping[str, Any]) -> dict[str, Any]:
    """As the cluster's others are; without server-side apply nothing could be taken over."""
    others = wanted.others(SourceForm.APPLICATION)
    projects = Counter(text(each, "spec", "project") or "default" for each in others)
    homes = Counter(text(each, "metadata", "namespace") or argocd_names.NAMESPACE for each in others)
    places = [mapping(each, "spec", "destination") for each in others]
    where = next(({name: each[name] for name in ("server", "name") if each.get(name)} for each in places), _HERE)
    chart = wanted.source
    space = {"namespace": chart.namespace} if isinstance(chart, ChartSource) and chart.namespace else {}
    return {
        "apiVersion": argocd_names.API,
        "kind": argocd_names.APPLICATION,
        "metadata": {"name": wanted.component.name, "namespace": _most(homes, argocd_names.NAMESPACE)},
        "spec": {
            "project": _most(projects, "default"),
            "source": source,
            "destination": {**where, **space},
            "syncPolicy": {"automated": {"selfHeal": True}, "syncOptions": ["ServerSideApply=true"]},
        },
    }


def _most(counted: Counter[str], otherwise: str) -> str:
    return counted.most_common(1)[0][0] if counted else otherwise


def _tracked(cluster: Cluster, path: str) -> dict[str, Any]:
    return {"repoURL": cluster.url, "targetRevision": cluster.branch or "main", "path": path}


def _charted(wanted: WantedComponent, chart: ChartSource) -> dict[str, Any]:
    helm: dict[str, Any] = {"releaseName": wanted.release_name(chart)}
    if wanted.values:
        helm["valuesObject"] = wanted.values
    if not chart.repository:
        return {**_tracked(wanted.cluster, chart.name), "helm": helm}
    url = chart.repository.removeprefix(OCI)
    return {"repoURL": url, "chart": chart.name, "targetRevision": chart.version, "helm": helm}


# A second owner for some of the objects of one: a copy, of another directory, and after it.


def copied(old: Mapping[str, Any], name: str, *, after: str, directory: str, target: str) -> dict[str, Any]:
    """Return an Application for a directory beside that of another one.

    Args:
        old: The other one, as its file has it.
        name: What the new one is called.
        after: The name of the other one in the cluster.
        directory: What the other one applies.
        target: What the new one is to apply.
    """
    value = copy.deepcopy(dict(old))
    annotations = mapping(value, "metadata", "annotations")
    wave = str(annotations.get(argocd_names.SYNC_WAVE_ANNOTATION) or "0")
    number = int(wave) if wave.lstrip("+-").isdigit() else 0
    # With a finalizer all that it has would go with it, should somebody take it back.
    metadata = {each: part for each, part in mapping(value, "metadata").items() if each != "finalizers"}
    waves = {**annotations, argocd_names.SYNC_WAVE_ANNOTATION: str(number + 1)}
    value["metadata"] = {**metadata, "name": name, "annotations": waves}
    for source in (at(value, "spec", "source"), *sequence(value, "spec", "sources")):
        if isinstance(source, dict) and text(source, "path").strip("./") == directory:
            source["path"] = target
    return value
