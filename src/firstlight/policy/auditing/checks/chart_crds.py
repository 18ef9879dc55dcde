"""CRDs of charts in bootstrap: in a phase of their own, turned off in the chart then, and of the same version."""

import re
from collections.abc import Iterator

from firstlight.model.component import Component, Form, Origin, Phase, Side
from firstlight.model.finding import Evidence, Severity
from firstlight.model.source import Chart
from firstlight.plan import facts, versions
from firstlight.policy.auditing import chart_crds, charts, merged_values, script_ranges
from firstlight.policy.auditing.chart_crds import ChartCrds
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.reach import comes_after, users
from firstlight.policy.auditing.scene import Scene
from firstlight.policy.deciding.versions import allows

_SCRIPT = re.compile(
    r"(?:^|/)(?:[Tt]askfile[^/]*|[^/]*[Jj]ustfile|[^/]*\.just|Makefile|[^/]*\.sh|\.?mise\.toml)$|taskfiles?/.*\.ya?ml$"
)
_APPLIES = re.compile(r"\bkubectl\b.*\bapply\b")


def still_on(scene: Scene) -> Iterator[Hit]:
    """A chart of bootstrap that brings CRDs which the CRD phase has applied before it."""
    for cluster in scene.clusters:
        phase = dict(_crd_phase(scene, cluster.name))
        for component, chart, known in _charts(scene, cluster.name):
            first = phase.get(charts.name(chart))
            if first is None or known.where != "templates" or not known.switches:
                continue
            on = _switched_on(scene, component, Side.BOOTSTRAP, known)
            if on is None or _takes_over(component):
                continue
            switch = next(iter(known.switches))
            own = facts.place(component, Side.BOOTSTRAP)
            leaves_out = _leaving_out(scene, component, known)
            yield Hit(
                message=f"{component.name} brings its CRDs, and the CRD phase has applied them before it",
                place=on.place if on.place is not None else own,
                clusters=(cluster.name,),
                component=component.name,
                evidence=(
                    Evidence(f"{first.name} applies the CRDs of {charts.name(chart)} first", first.place),
                    on,
                    *leaves_out,
                ),
                fix=f"Write {switch}: false. Where the release owns its CRDs already, annotate them with "
                "helm.sh/resource-policy: keep before, or Helm deletes them and every object of theirs.",
            )


def _leaving_out(scene: Scene, component: Component, known: ChartCrds) -> Iterator[Evidence]:
    """Values that look like the switch and leave out some CRDs only."""
    given = scene.value(component, "crds", side=Side.BOOTSTRAP)
    if "installCRDs" in known.switches and given is not None and isinstance(given.value, dict):
        some = sorted(key for key, value in given.value.items() if key.startswith("create") and value is False)
        if some:
            yield Evidence(f"crds.{some[0]}: false leaves out one CRD only", given.layer.at("crds", some[0]))


def versions_apart(scene: Scene) -> Iterator[Hit]:
    """CRDs of one version, and a controller of another that does not bring its own."""
    for cluster in scene.clusters:
        phase = dict(_crd_phase(scene, cluster.name))
        for component, chart, known in _charts(scene, cluster.name, Side.BOOTSTRAP, Side.GITOPS):
            first = phase.get(charts.name(chart))
            side = Side.BOOTSTRAP if chart in facts.charts(component, Side.BOOTSTRAP) else Side.GITOPS
            if first is None or not first.version or not chart.version or known.where == "operator":
                continue
            if _switched_on(scene, component, side, known) is not None or not charts.are_values_known(component, side):
                continue
            if allows(chart.version, first.version) is not False:
                continue
            same_minor = versions.minor(first.version) == versions.minor(chart.version) is not None
            yield Hit(
                message=f"{component.name} {chart.version} in {side} runs with CRDs of {first.version}",
                place=facts.place(component, side),
                clusters=(cluster.name,),
                component=component.name,
                evidence=(Evidence(f"{first.name} applies the CRDs of {first.version}", first.place),),
                fix=f"Give {first.name} the version {chart.version}, too.",
                severity=Severity.NOTE if same_minor else None,
            )


def not_separated(scene: Scene) -> Iterator[Hit]:
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
            yield Hit(
                message=f"the CRDs of {charts.name(chart)} come with its chart, and {names} has objects of them in the "
                "same bootstrap",
                place=facts.place(component, Side.BOOTSTRAP),
                clusters=(cluster.name,),
                component=component.name,
                evidence=tuple(Evidence(f"{each.name} has {made}", place) for each, (made, place) in using[:5]),
                severity=Severity.NOTE if is_ordered else None,
            )


def _crd_phase(scene: Scene, cluster: str) -> Iterator[tuple[str, Origin]]:
    """Charts whose CRDs are applied first, by name."""
    for component in scene.platform.components_of(cluster):
        for origin in facts.origins(component, Side.BOOTSTRAP):
            for source in facts.sources(origin):
                if origin.phase == Phase.CRDS and isinstance(source, Chart):
                    yield charts.name(source), origin


def _groups(origin: Origin) -> Iterator[str]:
    for source in facts.sources(origin):
        known = chart_crds.of(source.name) if isinstance(source, Chart) else None
        yield from known.groups if known else ()


def _charts(scene: Scene, cluster: str, *sides: Side) -> Iterator[tuple[Component, Chart, ChartCrds]]:
    """Charts of bootstrap, or of the sides that are given, of whose CRDs something is known."""
    for component in scene.platform.components_of(cluster):
        for side in sides or (Side.BOOTSTRAP,):
            for chart in facts.charts(component, side):
                known = chart_crds.of(chart.name)
                if component.phase != Phase.CRDS and known is not None and known.groups:
                    yield component, chart, known


def _switched_on(scene: Scene, component: Component, side: Side, known: ChartCrds) -> Evidence | None:
    """What switches a chart's CRDs on; None where they are off, or values are not known."""
    if not known.switches:
        return Evidence("the chart has no switch for its CRDs")
    if known.folder_if and merged_values.is_on(scene, component, side, known.folder_if, default=False)[0]:
        return None
    for path, default in known.switches.items():
        on, given = merged_values.is_on(scene, component, side, path, default=default)
        if on and given is not None:
            return Evidence(f"{path} is true", given.place)
        if on and charts.are_values_known(component, side):
            return Evidence(f"{path} is true by default")
    return None


def _takes_over(component: Component) -> bool:
    """Whether Helm is told to take what is there."""
    for origin in facts.origins(component, Side.BOOTSTRAP):
        arguments = " ".join(str(each) for each in origin.definition.get("args") or ())
        told = f"{arguments} {origin.command}"
        if "--take-ownership" in told or origin.definition.get("takeOwnership") is True:
            return True
    return any(each.form is Form.INLINE_MANIFEST for each in facts.origins(component, Side.BOOTSTRAP))


def applied_client_side(scene: Scene) -> Iterator[Hit]:
    """A script that extracts the CRDs of charts and applies them without --server-side."""
    for path in scene.files.files:
        if not _SCRIPT.search(path):
            continue
        for place, _ in scene.lines(path, r"^[^#]*CustomResourceDefinition"):
            statement = script_ranges.statement(scene, place)
            if _APPLIES.search(statement) and "--server-side" not in statement:
                yield Hit(message="the CRDs of charts are applied without --server-side", place=place)
