"""Charts that are directories of the repo: what their Chart.yaml says, and the charts that they depend on."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.source import Chart
from firstlight.repo import work_tree
from firstlight.repo.argocd.definition import items, mapping, text
from firstlight.repo.work_tree import WorkTree

FILE = "Chart.yaml"
MAX_DEPTH = 5
"""Charts of the repo that depend on charts of the repo; Helm people stop at two."""


@dataclasses.dataclass(frozen=True, slots=True)
class Dependency:
    """A chart that another one brings."""

    name: str
    repository: str
    version: str
    alias: str
    condition: str
    place: Place

    @property
    def key(self) -> str:
        """Where its values stand in those of the chart that brings it."""
        return self.alias or self.name


@dataclasses.dataclass(frozen=True, slots=True)
class LocalChart:
    """A directory with a Chart.yaml."""

    path: str
    name: str
    version: str
    app_version: str
    dependencies: tuple[Dependency, ...]
    place: Place


def template_directories(tree: WorkTree) -> frozenset[str]:
    """The directories with the templates of charts, whose files are no YAML before they are rendered."""
    charts = [path for path in tree.files if path == FILE or path.endswith("/" + FILE)]
    return frozenset(path.removesuffix(FILE) + "templates" for path in charts)


def read(tree: WorkTree, path: str) -> LocalChart | None:
    """The chart in a directory; None if there is none that can be read."""
    file = FILE if path == "." else f"{path}/{FILE}"
    document = next(iter(tree.documents(file)), None) if tree.is_file(file) else None
    if document is None or not isinstance(document.value, Mapping):
        return None
    value = document.value
    dependencies = list(_dependencies(document, items(value.get("dependencies"))))
    old = file.removesuffix(FILE) + "requirements.yaml"
    if not dependencies and tree.is_file(old):
        for each in tree.documents(old)[:1]:
            dependencies += _dependencies(each, items(mapping(each.value).get("dependencies")))
    return LocalChart(
        path=path,
        name=text(value.get("name")),
        version=text(value.get("version")),
        app_version=text(value.get("appVersion")),
        dependencies=tuple(dependencies),
        place=document.place(),
    )


def default_values(tree: WorkTree, path: str) -> Mapping[str, Any]:
    """The values.yaml of a chart."""
    file = "values.yaml" if path == "." else f"{path}/values.yaml"
    document = next(iter(tree.documents(file)), None) if tree.is_file(file) else None
    return mapping(document.value) if document else {}


def brought(tree: WorkTree, chart: LocalChart, values: Mapping[str, Any], like: Chart) -> list[Chart]:
    """The charts that a chart of the repo depends on and that its values do not switch off.

    Args:
        tree: The files.
        chart: The chart of the repo.
        values: All that it is given, its own values.yaml included.
        like: The release that it makes, whose name and namespace the others share.
    """
    return list(_brought(tree, chart, values, like, ()))


def _brought(
    tree: WorkTree, chart: LocalChart, values: Mapping[str, Any], like: Chart, within: tuple[str, ...]
) -> Iterator[Chart]:
    for each in chart.dependencies:
        if not _is_wanted(each, values):
            continue
        local = _local(tree, chart.path, each)
        made = Chart(
            name=local or each.name,
            repository="" if local else each.repository,
            version=each.version,
            release=like.release,
            namespace=like.namespace,
            origin=each.place,
        )
        inner = read(tree, local) if local and len(within) < MAX_DEPTH and local not in within else None
        if inner:
            own = {**default_values(tree, inner.path), **mapping(values.get(each.key))}
            further = list(_brought(tree, inner, own, like, (*within, inner.path)))
            if further:
                yield from further
                continue
        yield made


def _local(tree: WorkTree, base: str, dependency: Dependency) -> str:
    """The path of a dependency that is a directory of the repo."""
    repository = dependency.repository
    if repository.startswith("file://"):
        return work_tree.join(base, repository.removeprefix("file://")) or ""
    unpacked = work_tree.join(base, f"charts/{dependency.name}") or ""
    return unpacked if not repository and tree.is_file(f"{unpacked}/{FILE}") else ""


def _is_wanted(dependency: Dependency, values: Mapping[str, Any]) -> bool:
    """Whether its condition holds; of several the first that the values have decides, and none means yes."""
    for condition in dependency.condition.split(","):
        value: Any = values
        for step in condition.strip().split("."):
            value = mapping(value).get(step)
        if isinstance(value, bool):
            return value
    return True


def _dependencies(document: Document, written: list[Any]) -> Iterator[Dependency]:
    for number, each in enumerate(written):
        value = mapping(each)
        if not text(value.get("name")):
            continue
        yield Dependency(
            name=text(value.get("name")),
            repository=text(value.get("repository")),
            version=text(value.get("version")),
            alias=text(value.get("alias")),
            condition=text(value.get("condition")),
            place=document.place("dependencies", number),
        )
