"""Applications that a chart of this repo makes: its templates rendered without Helm, as far as they are known.

Charts that only hold Applications are a common way to write an app of apps, and their templates use little of Helm.
Only files that speak of Argo CD's own kinds are rendered; everything else of a chart is for Helm itself.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from firstlight.document import reading
from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.source import Chart
from firstlight.repo import go_template
from firstlight.repo.argocd import definition, helm_chart
from firstlight.repo.argocd.budget import Budget
from firstlight.repo.argocd.definition import Definition
from firstlight.repo.argocd.helm_chart import LocalChart
from firstlight.repo.argocd.problem import NotKnown
from firstlight.repo.argocd.scope import Scope
from firstlight.repo.work_tree import WorkTree

MAX_CALLS = 1000
"""Templates that one file includes, counted each time; people have some dozens."""
MAX_DEPTH = 10
"""Templates that include templates; each level takes a part of Python's stack."""
_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,200}")
_CUT = "\ue0f9"  # from Unicode's private area: tells what an included template wrote from what stands around it
_KIND = re.compile(r"^[ \t-]*kind:[ \t]*[\"']?(?:Application|ApplicationSet|AppProject)[\"']?[ \t]*\r?$", re.MULTILINE)


@dataclasses.dataclass(frozen=True, slots=True)
class Rendered:
    """What the templates make."""

    definitions: tuple[Definition, ...] = ()
    remarks: tuple[Remark, ...] = ()


def applications(chart: LocalChart, values: Mapping[str, Any], release: Chart, *, scope: Scope) -> Rendered:
    """The Applications, ApplicationSets and AppProjects of a chart."""
    base = "templates" if chart.path == "." else f"{chart.path}/templates"
    scope.rendered.add(chart.path)
    files = list(scope.tree.below(base, ".yaml", ".yml", ".tpl"))
    spoken = [each for each in files if _makes(scope.tree, each)]
    if not spoken:
        return Rendered()
    helpers = "".join(scope.tree.text(each) or "" for each in files if each.endswith(".tpl"))
    data = _data(chart, values, release)
    definitions: list[Definition] = []
    remarks: list[Remark] = []
    for path in spoken:
        if path.endswith(".tpl"):
            continue
        found = _file(path, scope.tree.text(path) or "", data, helpers, scope.budget)
        definitions += found.definitions
        remarks += found.remarks
    return Rendered(tuple(definitions), tuple(remarks))


def makers(scope: Scope) -> list[LocalChart]:
    """The charts of a tree whose templates make objects of Argo CD."""
    found: list[LocalChart] = []
    for directory in sorted(scope.templates):
        files = scope.tree.below(directory, ".yaml", ".yml")
        if any(_makes(scope.tree, each) for each in files):
            chart = helm_chart.read(scope.tree, directory.removesuffix("templates").rstrip("/") or ".")
            found += [chart] if chart else []
    return found


def _makes(tree: WorkTree, path: str) -> bool:
    return definition.mentions(tree, path, definition.API) and bool(_KIND.search(tree.text(path) or ""))


def _data(chart: LocalChart, values: Mapping[str, Any], release: Chart) -> dict[str, Any]:
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


def _file(path: str, text: str, data: Mapping[str, Any], helpers: str, budget: Budget) -> Rendered:
    try:
        with budget.measured():
            rendered = go_template.render_leniently(text, data, functions=_functions(helpers))
    except go_template.TemplateError as error:
        return Rendered(remarks=(_unread(path, text, error.reason, error.line),))
    except NotKnown as error:
        return Rendered(remarks=(_unread(path, text, str(error), 0),))
    contents = reading.read(rendered.text.encode(errors="replace"), path)
    wrong = next((each for each in contents.remarks if each.grade == Grade.ERROR), None)
    remarks = [_unread(path, text, wrong.message, 0)] if wrong else []
    found = [
        _definition(document, each, rendered, number, path, text)
        for number, (document, each) in enumerate(_objects(contents.documents))
    ]
    return Rendered(tuple(found), tuple(remarks))


def _objects(documents: tuple[Document, ...]) -> list[tuple[Document, Mapping[str, Any]]]:
    found = [(document, each.value) for document in documents for each in definition.of_document(document)]
    return [(document, value) for document, value in found if definition.is_one(value)]


def _definition(
    document: Document, value: Mapping[str, Any], rendered: go_template.Rendered, number: int, path: str, text: str
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


def _unread(path: str, text: str, reason: str, line: int) -> Remark:
    number = len(_KIND.findall(text))
    what = "an object" if number == 1 else f"{number} objects"
    return Remark(Place(path, line), Grade.UNKNOWN, f"{what} of Argo CD in a chart's template, not read: {reason}")


def _functions(helpers: str) -> go_template.Functions:
    """Helm's own functions that can be known."""
    calls = depth = 0

    def rendered(text: str, data: Any) -> str:
        nonlocal calls, depth
        calls += 1
        if calls > MAX_CALLS or depth > MAX_DEPTH:
            raise go_template.TooMuch("templates include each other too often")
        depth += 1
        try:
            return go_template.render(helpers + _CUT + text, data, functions=functions).partition(_CUT)[2]
        finally:
            depth -= 1

    def include(name: str, data: Any) -> str:
        if not _NAME.fullmatch(name):
            raise go_template.TemplateError(f"there is no template {name!r}", name="include")
        return rendered('{{ template "' + name + '" . }}', data)

    functions: go_template.Functions = {"include": include, "tpl": rendered, "lookup": lambda *_: {}}
    return functions
