"""CRDs of charts in bootstrap: in a phase of their own, turned off in the chart then, and of the same version."""

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from firstlight.commands.audit import bootstrap_needs, wording
from firstlight.commands.audit.bootstrap_needs import comes_after, users
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import yaml_reader
from firstlight.document.within import at
from firstlight.model import versions
from firstlight.model.component import Component, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts, well_known
from firstlight.plan.version_bump import allows
from firstlight.plan.well_known import ChartCrds
from firstlight.repo import chart_values, platform_view
from firstlight.repo.chart_values import ValuesLayer
from firstlight.repo.platform_view import PlatformView

_SCRIPT = re.compile(
    r"(?:^|/)(?:[Tt]askfile[^/]*|[^/]*[Jj]ustfile|[^/]*\.just|Makefile|[^/]*\.sh|\.?mise\.toml)$|taskfiles?/.*\.ya?ml$"
)
_APPLIES = re.compile(r"\bkubectl\b.*\bapply\b")


def crds_still_on(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A chart of bootstrap that brings CRDs which the CRD phase has applied before it."""
    for cluster in scene.clusters:
        phase = dict(_crd_phase(scene, cluster.name))
        for component, chart, known in _charts(scene, cluster.name):
            first = phase.get(chart_values.chart_name(chart))
            if first is None or known.where != "templates" or not known.switches:
                continue
            on = _switched_on(scene, component, Side.BOOTSTRAP, known)
            if on is None or _takes_over(component):
                continue
            switch = next(iter(known.switches))
            own = cluster_facts.place(component, Side.BOOTSTRAP)
            leaves_out = _leaving_out(scene, component, known)
            yield rule.finding(
                f"{component.name} brings its CRDs, and the CRD phase has applied them before it",
                at=on.place if on.place is not None else own,
                clusters=(cluster.name,),
                subject=component.name,
                evidence=(
                    Evidence(f"{first.name} applies the CRDs of {chart_values.chart_name(chart)} first", first.place),
                    on,
                    *leaves_out,
                ),
                fix=f"Write {switch}: false. Where the release owns its CRDs already, annotate them with "
                "helm.sh/resource-policy: keep before, or Helm deletes them and every object of theirs.",
            )


def _leaving_out(scene: PlatformView, component: Component, known: ChartCrds) -> Iterator[Evidence]:
    """Values that look like the switch and leave out some CRDs only."""
    given = scene.value(component, "crds", side=Side.BOOTSTRAP)
    if "installCRDs" in known.switches and given is not None and isinstance(given.value, dict):
        some = sorted(key for key, value in given.value.items() if key.startswith("create") and value is False)
        if some:
            yield Evidence(f"crds.{some[0]}: false leaves out one CRD only", given.layer.at("crds", some[0]))


def crd_versions_apart(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """CRDs of one version, and a controller of another that does not bring its own."""
    for cluster in scene.clusters:
        phase = dict(_crd_phase(scene, cluster.name))
        for component, chart, known in _charts(scene, cluster.name, Side.BOOTSTRAP, Side.GITOPS):
            first = phase.get(chart_values.chart_name(chart))
            side = Side.BOOTSTRAP if chart in cluster_facts.charts(component, Side.BOOTSTRAP) else Side.GITOPS
            if first is None or not first.version or not chart.version or known.where == "operator":
                continue
            if _switched_on(scene, component, side, known) is not None or not chart_values.are_values_known(
                component, side
            ):
                continue
            if allows(chart.version, first.version) is not False:
                continue
            same_minor = versions.minor(first.version) == versions.minor(chart.version) is not None
            yield rule.finding(
                f"{component.name} {chart.version} in {side} runs with CRDs of {first.version}",
                at=cluster_facts.place(component, side),
                clusters=(cluster.name,),
                subject=component.name,
                evidence=(Evidence(f"{first.name} applies the CRDs of {first.version}", first.place),),
                fix=f"Give {first.name} the version {chart.version}, too.",
                severity=Severity.NOTE if same_minor else None,
            )


def crds_not_separated(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Objects of bootstrap whose kinds come with another chart of bootstrap, without a phase for CRDs."""
    for cluster in scene.clusters:
        phase = {group for _, origin in _crd_phase(scene, cluster.name) for group in _groups(origin)}
        for component, chart, known in _charts(scene, cluster.name):
            if component.role == "engine" or phase & set(known.groups) or known.where == "operator":
                continue
            if _switched_on(scene, component, Side.BOOTSTRAP, known) is None:
                continue
            using = users(scene, cluster.name, known.groups, but=component.name)
            if not using:
                continue
            is_ordered = all(comes_after(scene.facts[cluster.name], each, component) for each, _ in using)
            names = ", ".join(dict.fromkeys(each.name for each, _ in using))
            yield rule.finding(
                f"the CRDs of {chart_values.chart_name(chart)} come with its chart, and {names} "
                "has objects of them in the "
                "same bootstrap",
                at=cluster_facts.place(component, Side.BOOTSTRAP),
                clusters=(cluster.name,),
                subject=component.name,
                evidence=tuple(Evidence(f"{each.name} has {made}", place) for each, (made, place) in using),
                severity=Severity.NOTE if is_ordered else None,
            )


def _crd_phase(scene: PlatformView, cluster: str) -> Iterator[tuple[str, Origin]]:
    """Charts whose CRDs are applied first, by name."""
    for component in scene.platform.components_of(cluster):
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            for source in cluster_facts.sources(origin):
                if origin.phase == Phase.CRDS and isinstance(source, ChartSource):
                    yield chart_values.chart_name(source), origin


def _groups(origin: Origin) -> Iterator[str]:
    for source in cluster_facts.sources(origin):
        known = well_known.chart_crds_of(source.name) if isinstance(source, ChartSource) else None
        yield from known.groups if known else ()


def _charts(scene: PlatformView, cluster: str, *sides: Side) -> Iterator[tuple[Component, ChartSource, ChartCrds]]:
    """Charts of bootstrap, or of the sides that are given, of whose CRDs something is known."""
    for component in scene.platform.components_of(cluster):
        for side in sides or (Side.BOOTSTRAP,):
            for chart in cluster_facts.charts(component, side):
                known = well_known.chart_crds_of(chart.name)
                if component.phase != Phase.CRDS and known is not None and known.groups:
                    yield component, chart, known


def _switched_on(scene: PlatformView, component: Component, side: Side, known: ChartCrds) -> Evidence | None:
    """What switches a chart's CRDs on; None where they are off, or values are not known."""
    if not known.switches:
        return Evidence("the chart has no switch for its CRDs")
    if path := known.folder_if:
        may_be = not scene.knows(component, *path.split("."), side=side)
        if platform_view.is_switched_on(scene, component, side, path, default=may_be)[0]:
            return None
    for path, default in known.switches.items():
        on, given = platform_view.is_switched_on(scene, component, side, path, default=default)
        if on and given is not None:
            return Evidence(f"{path} is true", given.place)
        if on and scene.knows(component, *path.split("."), side=side):
            return Evidence(f"{path} is true by default")
    return None


def _takes_over(component: Component) -> bool:
    """Whether Helm is told to take what is there."""
    for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
        arguments = " ".join(str(each) for each in origin.definition.get("args") or ())
        told = f"{arguments} {origin.command}"
        if "--take-ownership" in told or origin.definition.get("takeOwnership") is True:
            return True
    return any(each.form is SourceForm.INLINE_MANIFEST for each in cluster_facts.origins(component, Side.BOOTSTRAP))


def crds_applied_client_side(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A script that extracts the CRDs of charts and applies them without --server-side."""
    for path in scene.files.files:
        if not _SCRIPT.search(path):
            continue
        for place, _ in scene.lines(path, r"^[^#]*CustomResourceDefinition"):
            statement = bootstrap_needs.statement(scene, place)
            if _APPLIES.search(statement) and "--server-side" not in statement:
                yield rule.finding("the CRDs of charts are applied without --server-side", at=place)


# Values that a chart does not know, and keys that are given twice.


_WHOLE = re.compile(r"\.Values(?![\w.])|\$\.Values(?![\w.])")
_CALLS = re.compile(r"\b(?:include|template)\s+\"([^\"]+)\"")
_DEFINES = re.compile(r"\bdefine\s+\"([^\"]+)\"")
_GLOBAL = {"global", "tags", "nameOverride", "fullnameOverride"}


@functools.cache
def _known() -> dict[str, dict[str, tuple[str, ...]]]:
    return well_known.read_table("chart_value_names.yaml", dict[str, dict[str, tuple[str, ...]]])


def values_unknown(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Values that a chart ignores."""
    said = tuple(_twice(scene))
    for component in scene.platform.components:
        for layer in scene.values(component):
            chart = chart_values.chart_name(layer.chart)
            for path, keys in _known().get(chart, {}).items():
                yield from _below(rule, component, layer, path, keys)
                yield from _dropped(rule, scene, component, layer, path, keys, said=said)
            if not layer.chart.repository:
                yield from _of_own_chart(rule, scene, component, layer)


def _below(
    rule: AuditRule, component: Component, layer: ValuesLayer, path: str, keys: tuple[str, ...]
) -> Iterator[Finding]:
    given = at(layer.value, *path.split("."))
    wrong = [str(key) for key in given if key not in keys] if isinstance(given, Mapping) else []
    if wrong:
        yield _finding(rule, component, [f"{path}.{key}" for key in wrong], layer.at(*path.split("."), wrong[0]))


def _dropped(
    rule: AuditRule,
    scene: PlatformView,
    component: Component,
    layer: ValuesLayer,
    path: str,
    keys: tuple[str, ...],
    *,
    said: Iterable[Diagnostic],
) -> Iterator[Finding]:
    """The same in a key that is given again further down, so that it is not among the values."""
    for diagnostic in said:
        if diagnostic.place.path != layer.file or diagnostic.subject != path:
            continue
        first = diagnostic.places[1].line
        lines = (scene.files.text(layer.file) or "").splitlines()
        width = len(lines[first - 1]) - len(lines[first - 1].lstrip())
        end = next((n for n, line in enumerate(lines[first:], first) if _ends(line, width)), len(lines))
        block = "\n".join(lines[first - 1 : end])
        for document in yaml_reader.read_text(block, layer.file).documents[:1]:
            inner = at(document.value, path)
            wrong = [str(key) for key in inner if key not in keys] if isinstance(inner, Mapping) else []
            if wrong:
                place = Place(layer.file, document.place(path, wrong[0]).line + first - 1)
                yield _finding(rule, component, [f"{path}.{key}" for key in wrong], place)


def _ends(line: str, width: int) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#") and len(line) - len(line.lstrip()) <= width


def _finding(rule: AuditRule, component: Component, paths: list[str], place: Place) -> Finding:
    return rule.finding(
        f"the chart of {component.name} does not know {wording.listed_names(paths)}: nothing comes of it",
        at=place,
        clusters=(component.cluster,),
        subject=component.name,
    )


def _of_own_chart(rule: AuditRule, scene: PlatformView, component: Component, layer: ValuesLayer) -> Iterator[Finding]:
    """Values for a chart of this repo that its templates never mention."""
    mentioned = _mentioned(scene, layer.chart)
    if mentioned is None:
        return
    known, templates = mentioned
    names = [str(key) for key in layer.value if str(key) not in known | _GLOBAL]
    wrong = [each for each in names if not re.search(rf"\b{re.escape(each)}\b", templates)]
    if wrong:
        yield _finding(rule, component, wrong, layer.at(wrong[0]))


def _mentioned(scene: PlatformView, chart: ChartSource) -> tuple[set[str], str] | None:
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


def values_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Keys that stand twice in one mapping."""
    for diagnostic in _twice(scene):
        second, first = diagnostic.places
        is_same = _is_same_value(scene, first, second)
        counts = "with the same value" if is_same else "and the last one counts"
        yield rule.finding(
            f"{diagnostic.subject} is given twice, first in line {first.line}, {counts}",
            at=second,
            fix="Keep one of them." if is_same else f"Keep one of them; what counts is the one in line {second.line}.",
            key=f"{diagnostic.subject} is given twice",
            severity=Severity.NOTE if is_same else None,
        )


def _is_same_value(scene: PlatformView, first: Place, second: Place) -> bool:
    """Whether two lines of a file give a key the same scalar; what stands in several lines is not compared."""
    lines = (scene.files.text(first.path) or "").splitlines()
    if not all(0 < each.line <= len(lines) for each in (first, second)):
        return False
    one, other = (lines[each.line - 1].strip() for each in (first, second))
    return one == other and bool(one.partition(":")[2].strip(" |>-+"))


def _twice(scene: PlatformView) -> Iterator[Diagnostic]:
    """What the readers say of that, and what files with values say that no reader has opened."""
    files = {
        layer.file
        for component in scene.platform.components
        for layer in scene.values(component)
        if layer.file and not layer.prefix  # what is inside of an object has been opened
    }
    read = (diagnostic for path in sorted(files) for diagnostic in _said(scene, path))
    for diagnostic in sorted({*scene.platform.diagnostics, *read}):
        if diagnostic.code == "key-given-twice":
            yield diagnostic


def _said(scene: PlatformView, path: str) -> tuple[Diagnostic, ...]:
    return yaml_reader.read_text(scene.files.text(path) or "", path).diagnostics
