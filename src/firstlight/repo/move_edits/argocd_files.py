"""A component for Argo CD: an Application of a chart or a directory, with server-side apply."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.model import argocd_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import SourceForm
from firstlight.model.finding import FileEdit
from firstlight.model.source import ChartSource, DirectorySource, Embedded
from firstlight.repo.move_edits import new_files
from firstlight.repo.move_edits.flux_files import OCI, release_name
from firstlight.repo.move_edits.new_files import WantedComponent
from firstlight.repo.work_tree import WorkTree

_HERE = {"server": "https://kubernetes.default.svc"}


def edits(tree: WorkTree, wanted: WantedComponent, home: str) -> Iterator[FileEdit]:
    """All files.

    Args:
        tree: The repo.
        wanted: What is to be brought.
        home: The directory for what has none yet.
    """
    match wanted.source:
        case DirectorySource():
            source = _tracked(wanted.cluster, wanted.source.path)
        case Embedded():
            yield from new_files.embedded(tree, wanted.source, home, wanted.component.name)
            source = _tracked(wanted.cluster, home)
        case ChartSource():
            source = _charted(wanted, wanted.source)
    yield from new_files.into(tree, wanted.start, f"{wanted.component.name}.yaml", _application(wanted, source))


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
    helm: dict[str, Any] = {"releaseName": release_name(wanted, chart)}
    if wanted.values:
        helm["valuesObject"] = wanted.values
    if not chart.repository:
        return {**_tracked(wanted.cluster, chart.name), "helm": helm}
    url = chart.repository.removeprefix(OCI)
    return {"repoURL": url, "chart": chart.name, "targetRevision": chart.version, "helm": helm}
