"""Components that bootstrap installs and GitOps takes over: both halves should say the same."""

from collections.abc import Iterator

from firstlight.model.component import Certainty, Component, Side
from firstlight.model.finding import Evidence, Severity
from firstlight.model.place import Place
from firstlight.plan import facts, versions
from firstlight.policy.auditing import chart_crds, charts, listing, merged_values
from firstlight.policy.auditing.chart_values import Given
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.merged_values import Path
from firstlight.policy.auditing.scene import Scene
from firstlight.policy.auditing.secret_words import is_secret
from firstlight.policy.deciding.versions import allows, bump

_SHOWN = 8


def versions_apart(scene: Scene) -> Iterator[Hit]:
    """Two versions, or a range in Git that does not contain bootstrap's."""
    for component in _taken_over(scene):
        if facts.is_inline(component):
            continue
        first, then = facts.versions(component)
        if not first and then and _is_unpinned(component):
            yield Hit(
                message=f"{component.name} has no version in bootstrap, and {then} in GitOps: "
                "bootstrap installs whatever is the newest",
                place=facts.place(component, Side.BOOTSTRAP),
                clusters=(component.cluster,),
                component=component.name,
                evidence=(Evidence(f"{then} in GitOps", facts.place(component, Side.GITOPS)),),
                fix=f"Write {then} in bootstrap, or let it read the version from Git.",
            )
        if not first or not then or allows(then, first) is not False:
            continue
        change = bump(first, then)
        less = " older" if change == "down" else ""
        yield Hit(
            message=f"{component.name} is {first} in bootstrap and{less} {then} in GitOps: "
            "the first reconcile changes it at once",
            place=_version_place(scene, component),
            clusters=(component.cluster,),
            component=component.name,
            evidence=(
                Evidence(f"{first} in bootstrap", facts.place(component, Side.BOOTSTRAP)),
                Evidence(f"{then} in GitOps", facts.place(component, Side.GITOPS)),
            ),
            fix=f"Write {then} in bootstrap, or let it read the version from Git.",
            severity=Severity.NOTE if versions.minor(first) == versions.minor(then) and change != "down" else None,
        )


def _is_unpinned(component: Component) -> bool:
    """Whether bootstrap takes a chart from a repository without saying which version, and surely so."""
    mine = facts.origins(component, Side.BOOTSTRAP)
    is_sure = all(each.certainty is not Certainty.GUESSED for each in mine)
    return is_sure and any(
        each.repository and not each.version and not each.digest for each in charts.of(component, Side.BOOTSTRAP)
    )


def _version_place(scene: Scene, component: Component) -> Place:
    """The line with bootstrap's version."""
    place = facts.place(component, Side.BOOTSTRAP)
    wanted = facts.versions(component)[0]
    for found, _ in scene.lines(place.path, r"version:\s"):
        if place.line <= found.line <= place.line + 12 and wanted in _line(scene, found.path, found.line):
            return found
    return place


def _line(scene: Scene, path: str, number: int) -> str:
    return (scene.files.text(path) or "").splitlines()[number - 1]


def values_apart(scene: Scene) -> Iterator[Hit]:
    """Values that the two halves of a chart give differently."""
    for component in _taken_over(scene):
        if not _is_one_chart(component) or not charts.are_values_known(component):
            continue
        ours = merged_values.leaves(scene.values(component, Side.BOOTSTRAP))
        theirs = merged_values.leaves(scene.values(component, Side.GITOPS))
        apart = [each for each in sorted({*ours, *theirs}) if _differ(component, each, ours, theirs)]
        both = [each for each in apart if each in ours and each in theirs]
        if apart:
            # What only one half gives may be the chart's default: only the chart could tell.
            how = "different values" if both else "values that the other half does not give"
            names = listing.listed(map(_named, both or apart))
            yield Hit(
                message=f"bootstrap and GitOps give {component.name} {how}: {names}",
                place=ours[both[0]].place if both else facts.place(component, Side.BOOTSTRAP),
                clusters=(component.cluster,),
                component=component.name,
                evidence=tuple(_evidence([*both, *(each for each in apart if each not in both)], ours, theirs)),
                severity=None if both else Severity.NOTE,
            )


def _taken_over(scene: Scene) -> Iterator[Component]:
    for component in scene.platform.components:
        if facts.is_adopted(component):
            yield component


def _is_one_chart(component: Component) -> bool:
    """Whether both halves install one and the same chart; one of this repo has values of its own around the other's."""
    halves = [facts.charts(component, side) for side in (Side.BOOTSTRAP, Side.GITOPS)]
    found = {(charts.name(each), bool(each.repository)) for half in halves for each in half}
    return all(len(each) == 1 for each in halves) and len(found) == 1


def _differ(component: Component, path: Path, ours: dict[Path, Given], theirs: dict[Path, Given]) -> bool:
    known = chart_crds.of(facts.charts(component, Side.BOOTSTRAP)[0].name)
    if path[0] in ("crds", "installCRDs") or (known and ".".join(path) in known.switches):
        return False  # after a CRD phase the owner of the component brings its CRDs
    one, other = ours.get(path), theirs.get(path)
    texts = [merged_values.text(each.value) for each in (one, other) if each is not None]
    if any("${" in each for each in texts):
        return False  # a variable that only the cluster knows
    return one is None or other is None or texts[0] != texts[1]


def _named(path: Path) -> str:
    return ".".join(path)


def _evidence(apart: list[Path], ours: dict[Path, Given], theirs: dict[Path, Given]) -> Iterator[Evidence]:
    for path in apart[:_SHOWN]:
        for side, half in (("bootstrap", ours), ("GitOps", theirs)):
            given = half.get(path)
            if given is not None:
                yield Evidence(f"{side}: {_named(path)}: {_shown(path, given)}", given.place)
    if len(apart) > _SHOWN:
        yield Evidence(f"and {len(apart) - _SHOWN} more")


def _shown(path: Path, given: Given) -> str:
    if is_secret(path[-1]):
        return "…"
    if isinstance(given.value, list):
        return f"a list of {len(given.value)}"
    shown = merged_values.text(given.value).splitlines() or [""]
    return shown[0][:60]
