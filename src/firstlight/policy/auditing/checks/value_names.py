"""Values that a chart does not know, and keys that are given twice."""

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from firstlight.document import reading
from firstlight.document.within import at
from firstlight.model.component import Component
from firstlight.model.place import Place
from firstlight.model.remark import Remark
from firstlight.model.source import Chart
from firstlight.policy.auditing import charts, listing, tables
from firstlight.policy.auditing.chart_values import Layer
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_TWICE = re.compile(r"^(?P<key>\S+) is given twice, first in line (?P<line>\d+)")
_WHOLE = re.compile(r"\.Values(?![\w.])|\$\.Values(?![\w.])")
_CALLS = re.compile(r"\b(?:include|template)\s+\"([^\"]+)\"")
_DEFINES = re.compile(r"\bdefine\s+\"([^\"]+)\"")
_Said = tuple[Remark, re.Match[str]]
_GLOBAL = {"global", "tags", "nameOverride", "fullnameOverride"}


@functools.cache
def _known() -> dict[str, dict[str, tuple[str, ...]]]:
    return tables.read("known_values.yaml", dict[str, dict[str, tuple[str, ...]]])


def unknown(scene: Scene) -> Iterator[Hit]:
    """Values that a chart ignores."""
    said = tuple(_twice(scene))
    for component in scene.platform.components:
        for layer in scene.values(component):
            chart = charts.name(layer.chart)
            for path, keys in _known().get(chart, {}).items():
                yield from _below(component, layer, path, keys)
                yield from _dropped(scene, component, layer, path, keys, said=said)
            if not layer.chart.repository:
                yield from _of_own_chart(scene, component, layer)


def _below(component: Component, layer: Layer, path: str, keys: tuple[str, ...]) -> Iterator[Hit]:
    given = at(layer.value, *path.split("."))
    wrong = [str(key) for key in given if key not in keys] if isinstance(given, Mapping) else []
    if wrong:
        yield _hit(component, [f"{path}.{key}" for key in wrong], layer.at(*path.split("."), wrong[0]))


def _dropped(
    scene: Scene, component: Component, layer: Layer, path: str, keys: tuple[str, ...], *, said: Iterable[_Said]
) -> Iterator[Hit]:
    """The same in a key that is given again further down, so that it is not among the values."""
    for remark, match in said:
        if remark.place.path != layer.file or match["key"] != path:
            continue
        first = int(match["line"])
        lines = (scene.files.text(layer.file) or "").splitlines()
        width = len(lines[first - 1]) - len(lines[first - 1].lstrip())
        end = next((n for n, line in enumerate(lines[first:], first) if _ends(line, width)), len(lines))
        block = "\n".join(lines[first - 1 : end])
        for document in reading.read_text(block, layer.file).documents[:1]:
            inner = at(document.value, path)
            wrong = [str(key) for key in inner if key not in keys] if isinstance(inner, Mapping) else []
            if wrong:
                place = Place(layer.file, document.place(path, wrong[0]).line + first - 1)
                yield _hit(component, [f"{path}.{key}" for key in wrong], place)


def _ends(line: str, width: int) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#") and len(line) - len(line.lstrip()) <= width


def _hit(component: Component, paths: list[str], place: Place) -> Hit:
    return Hit(
        message=f"the chart of {component.name} does not know {listing.listed(paths)}: nothing comes of it",
        place=place,
        clusters=(component.cluster,),
        component=component.name,
    )


def _of_own_chart(scene: Scene, component: Component, layer: Layer) -> Iterator[Hit]:
    """Values for a chart of this repo that its templates never mention."""
    mentioned = _mentioned(scene, layer.chart)
    if mentioned is None:
        return
    known, templates = mentioned
    names = [str(key) for key in layer.value if str(key) not in known | _GLOBAL]
    wrong = [each for each in names if not re.search(rf"\b{re.escape(each)}\b", templates)]
    if wrong:
        yield _hit(component, wrong, layer.at(wrong[0]))


def _mentioned(scene: Scene, chart: Chart) -> tuple[set[str], str] | None:
    """The values that a chart of the repo has by default, and the text of its templates; None where it has others."""
    root = chart.name
    if not scene.files.is_file(posixpath.join(root, "Chart.yaml")):
        return None
    known: set[str] = set()
    for document in scene.files.documents(posixpath.join(root, "Chart.yaml"))[:1]:
        for each in at(document.value, "dependencies") or ():
            known |= {str(at(each, "alias") or at(each, "name") or "")}
    defaults = posixpath.join(root, "values.yaml")
    for document in scene.files.documents(defaults)[:1] if scene.files.is_file(defaults) else ():
        known |= {str(each) for each in document.value} if isinstance(document.value, Mapping) else set()
    below = posixpath.join(root, "templates") + "/"
    templates = "\n".join(scene.files.text(each) or "" for each in scene.files.files if each.startswith(below))
    # A template that hands all values on, or calls one of a library, may use any of them.
    is_open = bool(_WHOLE.search(templates)) or bool(set(_CALLS.findall(templates)) - set(_DEFINES.findall(templates)))
    return None if not templates or is_open else (known, templates)


def twice(scene: Scene) -> Iterator[Hit]:
    """Keys that stand twice in one mapping."""
    for remark, match in _twice(scene):
        yield Hit(
            message=remark.message,
            place=remark.place,
            fix=f"Keep one of them; what counts today is the one in line {remark.place.line}.",
            key=f"{match['key']} is given twice",
        )


def _twice(scene: Scene) -> Iterator[_Said]:
    """What the readers say of that, and what files with values say that no reader has opened."""
    files = {
        layer.file
        for component in scene.platform.components
        for layer in scene.values(component)
        if layer.file and not layer.prefix  # what is inside of an object has been opened
    }
    read = (remark for path in sorted(files) for remark in _said(scene, path))
    for remark in sorted({*scene.platform.remarks, *read}):
        if match := _TWICE.match(remark.message):
            yield remark, match


def _said(scene: Scene, path: str) -> tuple[Remark, ...]:
    return reading.read_text(scene.files.text(path) or "", path).remarks
