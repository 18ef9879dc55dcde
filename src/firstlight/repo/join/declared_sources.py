"""What ``from`` in firstlight.yaml names where nothing deploys it: a chart, a kustomization or manifests."""

import collections

from firstlight.model import versions
from firstlight.model.component import Component, Origin, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, Source
from firstlight.repo.argocd import local_charts
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import WorkTree

_MANIFESTS = (".yaml", ".yml", ".json")
_URL = ("https://", "http://")


def is_url(path: str) -> bool:
    """Whether ``from`` names a file of the web."""
    return path.startswith(_URL)


def origin(
    tree: WorkTree, path: str, *, name: str, place: Place, cluster: str, phase: Phase, beside: Component | None,
    digest: str = "",
) -> Origin | None:  # fmt: skip
    """Return what bootstrap makes from a path of the repo or a URL; None if it holds nothing to apply.

    Args:
        tree: The repo.
        path: What ``from`` says.
        name: What the component is called.
        place: Where ``from`` is written.
        cluster: Where it is deployed.
        phase: When.
        beside: What deploys it already, such as an inline manifest; tells the namespace.
        digest: What the file must be, for one of the web.
    """
    source: Source
    version = ""
    if is_url(path):
        if not path.partition("?")[0].endswith(_MANIFESTS):
            return None
        source = RemoteSource(url=path, digest=digest)
        version = next((part for part in path.split("/") if versions.is_url_part(part)), "")
    elif chart := local_charts.read_chart(tree, path):
        source = ChartSource(name=path, release=name, namespace=_namespace(beside), version=chart.version)
        version = chart.version
    elif tree.is_dir(path):
        names = tree.listing(path)
        is_kustomized = any(each in names for each in kustomization_file.NAMES)
        if not is_kustomized and not any(each.endswith(_MANIFESTS) for each in names):
            return None
        source = DirectorySource(path=path, kustomize=is_kustomized)
    elif path.rpartition("/")[2] in kustomization_file.NAMES:
        source = DirectorySource(path=path.rpartition("/")[0] or ".")
    elif path.endswith(_MANIFESTS):
        source = DirectorySource(path=path, kustomize=False)
    else:
        return None
    return Origin(
        form=SourceForm.DECLARED, side=Side.BOOTSTRAP, place=place, name=name, cluster=cluster, phase=phase,
        source=source, version=version,
    )  # fmt: skip


def _namespace(beside: Component | None) -> str:
    """Return where most of what is deployed already lives: a chart of the repo does not say where it goes."""
    if beside is None:
        return ""
    namespaces = collections.Counter(each.namespace for one in beside.origins for each in one.objects if each.namespace)
    return namespaces.most_common(1)[0][0] if namespaces else ""
