"""Components that bootstrap installs and GitOps takes over: both halves should say the same."""

from collections.abc import Iterator

from firstlight.commands.audit import wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model import argocd_names, flux_names, secret_words, versions
from firstlight.model.component import Certainty, Component, Side
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.source import Values
from firstlight.plan import cluster_facts, well_known
from firstlight.plan.version_bump import allows, bump
from firstlight.repo import chart_values, platform_view
from firstlight.repo.chart_values import GivenValue
from firstlight.repo.platform_view import PlatformView, ValuePath

_SHOWN = 8
_ASSUMED = "helmfile-condition-assumed"


def versions_apart(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Two versions, or a range in Git that does not contain bootstrap's."""
    for component in _taken_over(scene):
        if cluster_facts.is_inline(component):
            continue
        first, then = cluster_facts.versions(component)
        if not first and then and _is_unpinned(component):
            yield rule.finding(
                f"{component.name} has no version in bootstrap, and {then} in GitOps: "
                "bootstrap installs whatever is the newest",
                at=cluster_facts.place(component, Side.BOOTSTRAP),
                clusters=(component.cluster,),
                subject=component.name,
                evidence=(Evidence(f"{then} in GitOps", cluster_facts.place(component, Side.GITOPS)),),
                fix=f"Write {then} in bootstrap, or let it read the version from Git.",
            )
        if not first or not then or allows(then, first) is not False:
            continue
        change = bump(first, then)
        less = " older" if change == "down" else ""
        yield rule.finding(
            f"{component.name} is {first} in bootstrap and{less} {then} in GitOps: "
            "the first reconcile changes it at once",
            at=_version_place(scene, component),
            clusters=(component.cluster,),
            subject=component.name,
            evidence=(
                Evidence(f"{first} in bootstrap", cluster_facts.place(component, Side.BOOTSTRAP)),
                Evidence(f"{then} in GitOps", cluster_facts.place(component, Side.GITOPS)),
            ),
            fix=f"Write {then} in bootstrap, or let it read the version from Git.",
            severity=Severity.NOTE if versions.minor(first) == versions.minor(then) and change != "down" else None,
        )


def _is_unpinned(component: Component) -> bool:
    """Whether bootstrap takes a chart from a repository without saying which version, and surely so."""
    mine = cluster_facts.origins(component, Side.BOOTSTRAP)
    is_sure = all(each.certainty is not Certainty.GUESSED for each in mine)
    return is_sure and any(
        each.repository and not each.version and not each.digest
        for each in chart_values.charts_of(component, Side.BOOTSTRAP)
    )


def _version_place(scene: PlatformView, component: Component) -> Place:
    """The line with bootstrap's version."""
    place = cluster_facts.place(component, Side.BOOTSTRAP)
    wanted = cluster_facts.versions(component)[0]
    for found, _ in scene.lines(place.path, r"version:\s"):
        if place.line <= found.line <= place.line + 12 and wanted in _line(scene, found.path, found.line):
            return found
    return place


def _line(scene: PlatformView, path: str, number: int) -> str:
    return (scene.files.text(path) or "").splitlines()[number - 1]


def values_apart(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Values that the two halves of a chart give differently."""
    for component in _taken_over(scene):
        if not _is_one_chart(component):
            continue
        ours, theirs = (_certain(scene, component, side) for side in (Side.BOOTSTRAP, Side.GITOPS))
        # What one half leaves out may be in the part of it that is not known.
        is_whole = chart_values.are_values_known(component) and not any(
            _has_assumed(scene, each) for chart in chart_values.charts_of(component) for each in chart.values
        )
        judged = {*ours, *theirs} if is_whole else ours.keys() & theirs.keys()
        apart = [each for each in sorted(judged) if _differ(component, each, ours, theirs)]
        both = [each for each in apart if each in ours and each in theirs]
        if apart:
            # What only one half gives may be the chart's default: only the chart could tell.
            how = "different values" if both else "values that the other half does not give"
            names = wording.listed_names(map(_named, both or apart))
            yield rule.finding(
                f"bootstrap and GitOps give {component.name} {how}: {names}",
                at=ours[both[0]].place if both else cluster_facts.place(component, Side.BOOTSTRAP),
                clusters=(component.cluster,),
                subject=component.name,
                evidence=tuple(_evidence([*both, *(each for each in apart if each not in both)], ours, theirs)),
                severity=None if both else Severity.NOTE,
            )


def _taken_over(scene: PlatformView) -> Iterator[Component]:
    for component in scene.platform.components:
        if cluster_facts.is_adopted(component):
            yield component


def _certain(scene: PlatformView, component: Component, side: Side) -> dict[ValuePath, GivenValue]:
    """The values of one half that nothing unknown can change.

    A later layer that could not be read may say anything, and one that was read in part what its unknown part says.
    """
    stated = [each for chart in cluster_facts.charts(component, side) for each in chart.values]
    layers = scene.values(component, side)
    unknown = [number for number, each in enumerate(stated) if each.unresolved and not each.target]
    unknown += [number for number, each in enumerate(stated) if _has_assumed(scene, each)]
    if not unknown and not any(each.unresolved for each in stated):
        return platform_view.merged_leaves(layers)
    last = max(unknown, default=-1)
    after = [each for number, each in enumerate(stated) if number > last]
    kept = [each for each in layers if any(each.stated is one for one in after)]
    partial = stated[last] if unknown else None
    if partial is not None and not _has_assumed(scene, partial):
        kept = [*(each for each in layers if each.stated is partial), *kept]
    found = platform_view.merged_leaves(kept)
    targets = [tuple(each.target.split(".")) for each in after if each.unresolved and each.target]
    return {
        path: given
        for path, given in found.items()
        # Of a list that was read in part, items are missing.
        if not (isinstance(given.value, list) and given.layer.stated is partial)
        and not any(path[: len(each)] == each or each[: len(path)] == path for each in targets)
    }


def _has_assumed(scene: PlatformView, values: Values) -> bool:
    """Whether conditions of a template were taken for true, so that what stands below them may not be there."""
    return not values.file and any(
        each.code == _ASSUMED and each.place.path == values.place.path for each in scene.platform.diagnostics
    )


def _is_one_chart(component: Component) -> bool:
    """Whether both halves install one and the same chart; one of this repo has values of its own around the other's."""
    halves = [cluster_facts.charts(component, side) for side in (Side.BOOTSTRAP, Side.GITOPS)]
    found = {(chart_values.chart_name(each), bool(each.repository)) for half in halves for each in half}
    return all(len(each) == 1 for each in halves) and len(found) == 1


def _differ(
    component: Component, path: ValuePath, ours: dict[ValuePath, GivenValue], theirs: dict[ValuePath, GivenValue]
) -> bool:
    known = well_known.chart_crds_of(cluster_facts.charts(component, Side.BOOTSTRAP)[0].name)
    if path[0] in ("crds", "installCRDs") or (known and ".".join(path) in known.switches):
        return False  # after a CRD phase the owner of the component brings its CRDs
    one, other = ours.get(path), theirs.get(path)
    texts = [platform_view.value_text(each.value) for each in (one, other) if each is not None]
    if any("${" in each for each in texts):
        return False  # a variable that only the cluster knows
    return one is None or other is None or texts[0] != texts[1]


def _named(path: ValuePath) -> str:
    return ".".join(path)


def _evidence(
    apart: list[ValuePath], ours: dict[ValuePath, GivenValue], theirs: dict[ValuePath, GivenValue]
) -> Iterator[Evidence]:
    for path in apart[:_SHOWN]:
        for side, half in (("bootstrap", ours), ("GitOps", theirs)):
            given = half.get(path)
            if given is not None:
                yield Evidence(f"{side}: {_named(path)}: {_shown(path, given)}", given.place)
    if len(apart) > _SHOWN:
        yield Evidence(f"and {len(apart) - _SHOWN} more")


def _shown(path: ValuePath, given: GivenValue) -> str:
    if secret_words.is_certain(path[-1]):
        return "…"
    if isinstance(given.value, list):
        return f"a list of {len(given.value)}"
    shown = platform_view.value_text(given.value).splitlines() or [""]
    return shown[0][:60]


# Why bootstrap has what it has, and whether anybody has looked at it lately.


_ENGINES = (flux_names.TOOLKIT_DOMAIN, argocd_names.GROUP)
_LONG = 365
"""Days after which bootstrap is worth a look: a year has three versions of Kubernetes."""


def reasons_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Components of bootstrap for which neither firstlight.yaml nor common knowledge has a reason."""
    for cluster in scene.clusters if scene.platform.declared is not None else ():
        known = scene.facts[cluster.name]
        for component in known.bootstrap:
            if not component.is_why_declared and not component.role and not _is_root(component):
                yield rule.finding(
                    f"{component.name} is in bootstrap, and nothing says why",
                    at=_declared(scene, component.name),
                    clusters=(cluster.name,),
                    subject=component.name,
                    fix=f"Write components.{component.name}.why in firstlight.yaml, or leave it to GitOps.",
                )


def _is_root(component: Component) -> bool:
    """Whether it is what points the engine at the repo, which needs no reason."""
    if chart_values.has_chart(component, chart_values.ARGOCD_APPS_CHART):
        return True
    made = [each for origin in cluster_facts.origins(component, Side.BOOTSTRAP) for each in origin.objects]
    return bool(made) and all(each.group.endswith(_ENGINES) for each in made)


def _declared(scene: PlatformView, name: str) -> Place:
    """Where a component is declared in firstlight.yaml, or where it would be."""
    assert scene.platform.declared is not None
    path = scene.platform.declared.path
    documents = scene.files.documents(path)
    return documents[0].place("components", name) if documents else Place(path)


def reasons_not_reviewed(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Files of bootstrap that nobody has changed for long."""
    for path, day in sorted(scene.committed.items()):
        if (scene.today - day).days > _LONG:
            yield rule.finding(f"{path} has not been changed since {day}", at=Place(path), key=f"{path} is old")


def without_need(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What bootstrap has, and nothing uses before the engine is up: all of it in one finding."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        spare = [known.by_name[each] for each in scene.plans[cluster.name].smallest.spare]
        spare = [
            each
            for each in spare
            if cluster_facts.charts(each, Side.BOOTSTRAP) and not each.is_why_declared and not _is_root(each)
        ]
        if spare:
            places = [(each.name, cluster_facts.place(each, Side.BOOTSTRAP)) for each in spare]
            names = ", ".join(name for name, _ in places)
            yield rule.finding(
                f"nothing that the engine needs uses {names}: GitOps could bring {'it' if len(spare) == 1 else 'them'}",
                at=places[0][1],
                clusters=(cluster.name,),
                evidence=tuple(Evidence(f"{name} is in bootstrap", place) for name, place in places),
            )
