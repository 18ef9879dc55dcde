"""Charts that are directories of the repo: what their Chart.yaml says, and the charts that they depend on."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.repo import go_template, work_tree
from firstlight.repo.argocd import definitions as argocd_definitions
from firstlight.repo.argocd.definitions import Definition, items, mapping
from firstlight.repo.argocd.read_scope import GeneratorNotKnown, ReadBudget, ReadScope
from firstlight.repo.work_tree import WorkTree

CHART_FILE = "Chart.yaml"
MAX_CHART_DEPTH = 5
"""Charts of the repo that depend on charts of the repo; Helm people stop at two."""


@dataclasses.dataclass(frozen=True, slots=True)
class LocalChartDependency:
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
class ChartDirectory:
    """A directory with a Chart.yaml."""

    path: str
    name: str
    version: str
    app_version: str
    dependencies: tuple[LocalChartDependency, ...]
    place: Place


def template_directories(tree: WorkTree) -> frozenset[str]:
    """The directories with the templates of charts, whose files are no YAML before they are rendered."""
    charts = [path for path in tree.files if path == CHART_FILE or path.endswith("/" + CHART_FILE)]
    return frozenset(path.removesuffix(CHART_FILE) + "templates" for path in charts)


def read_chart(tree: WorkTree, path: str) -> ChartDirectory | None:
    """The chart in a directory; None if there is none that can be read."""
    file = CHART_FILE if path == "." else f"{path}/{CHART_FILE}"
    document = next(iter(tree.documents(file)), None) if tree.is_file(file) else None
    if document is None or not isinstance(document.value, Mapping):
        return None
    value = document.value
    dependencies = list(_dependencies(document, items(value.get("dependencies"))))
    old = file.removesuffix(CHART_FILE) + "requirements.yaml"
    if not dependencies and tree.is_file(old):
        for each in tree.documents(old)[:1]:
            dependencies += _dependencies(each, items(mapping(each.value).get("dependencies")))
    return ChartDirectory(
        path=path,
        name=argocd_definitions.text(value.get("name")),
        version=argocd_definitions.text(value.get("version")),
        app_version=argocd_definitions.text(value.get("appVersion")),
        dependencies=tuple(dependencies),
        place=document.place(),
    )


def default_values(tree: WorkTree, path: str) -> Mapping[str, Any]:
    """The values.yaml of a chart."""
    file = "values.yaml" if path == "." else f"{path}/values.yaml"
    document = next(iter(tree.documents(file)), None) if tree.is_file(file) else None
    return mapping(document.value) if document else {}


def charts_brought(
    tree: WorkTree, chart: ChartDirectory, values: Mapping[str, Any], like: ChartSource
) -> list[ChartSource]:
    """The charts that a chart of the repo depends on and that its values do not switch off.

    Args:
        tree: The files.
        chart: The chart of the repo.
        values: All that it is given, its own values.yaml included.
        like: The release that it makes, whose name and namespace the others share.
    """
    return list(_brought(tree, chart, values, like, ()))


def _brought(
    tree: WorkTree, chart: ChartDirectory, values: Mapping[str, Any], like: ChartSource, within: tuple[str, ...]
) -> Iterator[ChartSource]:
    for each in chart.dependencies:
        if not _is_wanted(each, values):
            continue
        local = _local(tree, chart.path, each)
        made = ChartSource(
            name=local or each.name,
            repository="" if local else each.repository,
            version=each.version,
            release=like.release,
            namespace=like.namespace,
            origin=each.place,
        )
        inner = read_chart(tree, local) if local and len(within) < MAX_CHART_DEPTH and local not in within else None
        if inner:
            own = {**default_values(tree, inner.path), **mapping(values.get(each.key))}
            further = list(_brought(tree, inner, own, like, (*within, inner.path)))
            if further:
                yield from further
                continue
        yield made


def _local(tree: WorkTree, base: str, dependency: LocalChartDependency) -> str:
    """The path of a dependency that is a directory of the repo."""
    repository = dependency.repository
    if repository.startswith("file://"):
        return work_tree.join(base, repository.removeprefix("file://")) or ""
    unpacked = work_tree.join(base, f"charts/{dependency.name}") or ""
    return unpacked if not repository and tree.is_file(f"{unpacked}/{CHART_FILE}") else ""


def _is_wanted(dependency: LocalChartDependency, values: Mapping[str, Any]) -> bool:
    """Whether its condition holds; of several the first that the values have decides, and none means yes."""
    for condition in dependency.condition.split(","):
        value: Any = values
        for step in condition.strip().split("."):
            value = mapping(value).get(step)
        if isinstance(value, bool):
            return value
    return True


def _dependencies(document: YamlDocument, written: list[Any]) -> Iterator[LocalChartDependency]:
    for number, each in enumerate(written):
        value = mapping(each)
        if not argocd_definitions.text(value.get("name")):
            continue
        yield LocalChartDependency(
            name=argocd_definitions.text(value.get("name")),
            repository=argocd_definitions.text(value.get("repository")),
            version=argocd_definitions.text(value.get("version")),
            alias=argocd_definitions.text(value.get("alias")),
            condition=argocd_definitions.text(value.get("condition")),
            place=document.place("dependencies", number),
        )


# Applications that a chart of this repo makes: its templates rendered without Helm, as far as they are known.
#
# Charts that only hold Applications are a common way to write an app of apps, and their templates use little of Helm.
# Only files that speak of Argo CD's own kinds are rendered; everything else of a chart is for Helm itself.


MAX_CALLS = 1000
"""Templates that one file includes, counted each time; people have some dozens."""
MAX_TEMPLATE_DEPTH = 10
"""Templates that include templates; each level takes a part of Python's stack."""
_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,200}")
_CUT = "\ue0f9"  # from Unicode's private area: tells what an included template wrote from what stands around it
_KIND = re.compile(r"^[ \t-]*kind:[ \t]*[\"']?(?:Application|ApplicationSet|AppProject)[\"']?[ \t]*\r?$", re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class RenderedApplications:
    """What the templates make."""

    definitions: tuple[Definition, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def chart_applications(
    chart: ChartDirectory, values: Mapping[str, Any], release: ChartSource, *, scope: ReadScope
) -> RenderedApplications:
    """The Applications, ApplicationSets and AppProjects of a chart."""
    base = "templates" if chart.path == "." else f"{chart.path}/templates"
    scope.rendered.add(chart.path)
    files = list(scope.tree.below(base, ".yaml", ".yml", ".tpl"))
    spoken = [each for each in files if _makes(scope.tree, each)]
    if not spoken:
        return RenderedApplications()
    helpers = "".join(scope.tree.text(each) or "" for each in files if each.endswith(".tpl"))
    data = _data(chart, values, release)
    definitions: list[Definition] = []
    diagnostics: list[Diagnostic] = []
    for path in spoken:
        if path.endswith(".tpl"):
            continue
        found = _file(path, scope.tree.text(path) or "", data, helpers, scope.budget)
        definitions += found.definitions
        diagnostics += found.diagnostics
    return RenderedApplications(tuple(definitions), tuple(diagnostics))


def charts_of_applications(scope: ReadScope) -> list[ChartDirectory]:
    """The charts of a tree whose templates make objects of Argo CD."""
    found: list[ChartDirectory] = []
    for directory in sorted(scope.templates):
        files = scope.tree.below(directory, ".yaml", ".yml")
        if any(_makes(scope.tree, each) for each in files):
            chart = read_chart(scope.tree, directory.removesuffix("templates").rstrip("/") or ".")
            found += [chart] if chart else []
    return found


def _makes(tree: WorkTree, path: str) -> bool:
    return argocd_definitions.mentions(tree, path, argocd_definitions.API) and bool(_KIND.search(tree.text(path) or ""))


def _data(chart: ChartDirectory, values: Mapping[str, Any], release: ChartSource) -> dict[str, Any]:
    return {
        "Values": values,
        "Chart": {"Name": chart.name, "Version": chart.version, "AppVersion": chart.app_version},
        "Release": {
            "Name": release.release,
            "Namespace": release.namespace,
            "Service": "Helm",
            "IsInstall": True,
            "IsUpgrade": False,
            "Revision": 1,
        },
        "Template": {"BasePath": f"{chart.name}/templates"},
        "Capabilities": go_template.Unknown(".Capabilities", "the cluster tells it", name=".Capabilities"),
        "Files": go_template.Unknown(".Files", "Helm reads it", name=".Files"),
    }


def _file(path: str, text: str, data: Mapping[str, Any], helpers: str, budget: ReadBudget) -> RenderedApplications:
    try:
        with budget.measured():
            rendered = go_template.render_leniently(text, data, functions=_functions(helpers))
    except go_template.GoTemplateError as error:
        return RenderedApplications(diagnostics=(_unread(path, text, error.reason, error.line),))
    except GeneratorNotKnown as error:
        return RenderedApplications(diagnostics=(_unread(path, text, str(error), 0),))
    contents = yaml_reader.read(rendered.text.encode(errors="replace"), path)
    wrong = next((each for each in contents.diagnostics if each.severity == Severity.ERROR), None)
    diagnostics = [_unread(path, text, wrong.message, 0)] if wrong else []
    found = [
        _definition(document, each, rendered, number, path, text)
        for number, (document, each) in enumerate(_objects(contents.documents))
    ]
    return RenderedApplications(tuple(found), tuple(diagnostics))


def _objects(documents: tuple[YamlDocument, ...]) -> list[tuple[YamlDocument, Mapping[str, Any]]]:
    found = [(document, each.value) for document in documents for each in argocd_definitions.of_document(document)]
    return [(document, value) for document, value in found if argocd_definitions.is_one(value)]


def _definition(
    document: YamlDocument,
    value: Mapping[str, Any],
    rendered: go_template.RenderedTemplate,
    number: int,
    path: str,
    text: str,
) -> Definition:
    """An object with the line of the template that it probably comes from."""
    lines = [text.count("\n", 0, match.start()) + 1 for match in _KIND.finditer(text)]
    place = Place(path, lines[min(number, len(lines) - 1)] if lines else 0)
    unknown: list[str] = []
    settled = _plain(go_template.settle(value, rendered.unknowns), unknown)
    doubt = f"it is made by a template of a chart, and {unknown[0]} is known when Helm runs" if unknown else ""
    return Definition(settled, place, doubt=doubt, is_guessed=bool(unknown))


def _plain(value: Any, unknown: list[str]) -> Any:
    """A value with the templates of what is not known as its text."""
    if isinstance(value, go_template.Unknown):
        unknown.append(value.name or value.text)
        return value.text
    if isinstance(value, Mapping):
        return {key: _plain(each, unknown) for key, each in value.items()}
    return [_plain(each, unknown) for each in value] if isinstance(value, list) else value


def _unread(path: str, text: str, reason: str, line: int) -> Diagnostic:
    number = len(_KIND.findall(text))
    what = "an object" if number == 1 else f"{number} objects"
    return Diagnostic.unknown(
        "argocd-chart-template-not-read",
        f"{what} of Argo CD in a chart's template, not read: {reason}",
        at=Place(path, line),
    )


def _functions(helpers: str) -> go_template.Functions:
    """Helm's own functions that can be known."""
    calls = depth = 0

    def rendered(text: str, data: Any) -> str:
        nonlocal calls, depth
        calls += 1
        if calls > MAX_CALLS or depth > MAX_TEMPLATE_DEPTH:
            raise go_template.TemplateLimitExceeded("templates include each other too often")
        depth += 1
        try:
            return go_template.render(helpers + _CUT + text, data, functions=functions).partition(_CUT)[2]
        finally:
            depth -= 1

    def include(name: str, data: Any) -> str:
        if not _NAME.fullmatch(name):
            raise go_template.GoTemplateError(f"there is no template {name!r}", name="include")
        return rendered('{{ template "' + name + '" . }}', data)

    functions: go_template.Functions = {"include": include, "tpl": rendered, "lookup": lambda *_: {}}
    return functions
