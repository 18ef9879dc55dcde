"""Kustomizations that install Argo CD and that no Application reads: somebody applies them before everything else."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence

from firstlight.model import argocd_names
from firstlight.model.component import Certainty, Origin, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, SeveralSources, Source
from firstlight.repo.argocd import directory_contents
from firstlight.repo.argocd.application_tree import ApplicationNode
from firstlight.repo.argocd.definitions import items, mapping, text
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.manifest import Manifest

NAME = "argocd"
_CHARTS = {"argo-cd", "argocd"}
_REMOTE = re.compile(
    r"\bargo-?cd(?:\.git)?/+(?:raw/)?(?:(?P<tag>[\w.-]+)/)?manifests/(?:ha/)?"
    r"(?:[\w-]*install|base)(?:\.yaml)?(?:\?ref=(?P<ref>[\w.-]+))?"
)
_DOUBT = "nothing in this repo says who applies it"


def find(scope: ReadScope, nodes: Sequence[ApplicationNode], instances: Collection[str]) -> list[Origin]:
    """Return what installs Argo CD from a directory of its own, at most one for each installation.

    Args:
        scope: The tree.
        nodes: All Applications.
        instances: The names of installations, which directories may bear.
    """
    read = {path for node in nodes for path in _paths(node.made.source)}
    found: dict[str, Origin] = {}
    for directory in sorted(_directories(scope), key=lambda path: (path.count("/"), path)):
        if directory in read or directory in scope.users:
            continue
        version = _version(scope, directory)
        if version is not None:
            cluster = next((part for part in reversed(directory.split("/")) if part in instances), "")
            found.setdefault(cluster, _origin(scope, directory, version, cluster))
    return list(found.values())


def _directories(scope: ReadScope) -> set[str]:
    return {
        posixpath.dirname(path)
        for path in scope.tree.current_files
        if posixpath.basename(path) in directory_contents.KUSTOMIZATIONS and "/" in path
    }


def _version(scope: ReadScope, directory: str) -> str | None:
    """The version of Argo CD that a kustomization itself installs; None if it installs none."""
    for file in (f"{directory}/{name}" for name in directory_contents.KUSTOMIZATIONS):
        for document in scope.tree.documents(file)[:1] if scope.tree.is_file(file) else ():
            value = mapping(document.value)
            for chart in map(mapping, items(value.get("helmCharts"))):
                if text(chart.get("name")) in _CHARTS:
                    return text(chart.get("version"))
            for entry in (*items(value.get("resources")), *items(value.get("bases"))):
                if isinstance(entry, str) and (match := _REMOTE.search(entry)):
                    return match["tag"] or match["ref"] or ""
    return None


def _origin(scope: ReadScope, directory: str, version: str, cluster: str) -> Origin:
    built = scope.build(directory)
    sources: tuple[Source, ...] = (
        DirectorySource(path=directory, kustomize=True),
        *built.charts,
        *(each.remote for each in built.remotes),
    )
    namespaces = [each.id.namespace for each in built.manifests if each.id.namespace]
    return Origin(
        form=SourceForm.KUSTOMIZE_COMMAND,
        side=Side.BOOTSTRAP,
        place=Place(_file(scope, directory), 1),
        name=NAME,
        namespace=namespaces[0] if namespaces else argocd_names.NAMESPACE,
        cluster=cluster,
        phase=Phase.ENGINE,
        source=sources[0] if len(sources) == 1 else SeveralSources(each=sources),
        version=version,
        certainty=Certainty.GUESSED,
        doubt=_DOUBT,
        objects=tuple(sorted({each.id for each in built.manifests})),
        stated=tuple(Manifest(each.value, each.place, each.document, each.steps) for each in built.manifests),
    )


def _file(scope: ReadScope, directory: str) -> str:
    names = directory_contents.KUSTOMIZATIONS
    return next(path for name in names if scope.tree.is_file(path := f"{directory}/{name}"))


def _paths(source: Source | SeveralSources) -> Iterator[str]:
    for each in source.each if isinstance(source, SeveralSources) else (source,):
        if isinstance(each, DirectorySource):
            yield each.path


def without_repeated(origins: Sequence[Origin]) -> list[Origin]:
    """Return the origins of a cluster without guessed installs, where something else of it installs Argo CD."""
    is_installed = any(
        each.side is Side.BOOTSTRAP
        and each.doubt != _DOUBT
        and (each.name in {NAME, *_CHARTS} or _REMOTE.search(each.command))
        for each in origins
    )
    return [each for each in origins if not (is_installed and each.doubt == _DOUBT)]
