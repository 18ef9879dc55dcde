"""What a change does to what depends on it: who that is, needs that nothing meets, problems that a plan would have."""

from collections.abc import Iterator

from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, RenderedRevision
from firstlight.model.decision import CheckState, Decision, Touched
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.plan import build
from firstlight.plan.dependents import DependencyGraph

_MOST = 12


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """New problems, and dependents by name."""
    clusters = sorted({name for item in decision.items for name in _clusters(item.clusters, item.touched)})
    if not clusters:
        return [answer.skipped("it touches no cluster")]
    answers = [found for name in clusters for found in _new_problems(scene, name)]
    answers += _orphans(decision, scene)
    affected = decision.affected
    names = ", ".join(affected[:_MOST]) + (f" and {len(affected) - _MOST} more" if len(affected) > _MOST else "")
    depend = "1 component depends" if len(affected) == 1 else f"{len(affected)} components depend"
    said = f"{depend} on it: {names}" if affected else "nothing depends on it"
    return [*answers, answer.passed(said if answers else f"{said}; the plan has no new problem")]


def _clusters(reached: tuple[str, ...], touched: tuple[Touched, ...]) -> set[str]:
    return {*reached, *(each.cluster for each in touched)} - {""}


def _new_problems(scene: CheckInput, cluster: str) -> Iterator[CheckAnswer]:
    """What the plan of a cluster has against it from now on."""
    is_rendered = all(each.is_all(cluster) for each in _versions(scene))
    before = {
        (each.code, each.subject, each.message)
        for each in (_problems(scene.before, cluster, is_rendered=is_rendered) if scene.before is not None else ())
    }
    for problem in _problems(scene.after, cluster, is_rendered=is_rendered):
        if (problem.code, problem.subject, problem.message) in before:
            continue
        place = next((link.place for link in reversed(problem.evidence) if link.place is not None), None)
        found = Diagnostic(
            code=problem.code, severity=problem.severity, message=f"{cluster}: {problem.message}",
            places=(place,) if place else (), fix=_way(problem), subject=problem.subject,
        )  # fmt: skip
        if problem.severity == Severity.ERROR:
            yield answer.of_diagnostic(CheckState.FAILED, found)
        elif problem.severity == Severity.WARNING:
            yield answer.of_diagnostic(CheckState.PERSON, found)


def _way(problem: Diagnostic) -> str:
    way = problem.fix.removesuffix(".")
    return way[:1].lower() + way[1:] if way[1:2].islower() else way


def _versions(scene: CheckInput) -> list[RenderedRevision]:
    return [each for each in (scene.before, scene.after) if each is not None]


def _problems(version: RenderedRevision, cluster: str, *, is_rendered: bool) -> tuple[Diagnostic, ...]:
    """Both plans know equally much, so that what differs is the change's: objects only where all were rendered."""
    found = version.platform.cluster(cluster)
    if found is None:
        return ()
    return build.build(version.platform, found, renditions=version.renditions if is_rendered else ()).problems


def _orphans(decision: Decision, scene: CheckInput) -> Iterator[CheckAnswer]:
    """Components that go while others still name them: a reader of the repo may have forgotten the need with it."""
    if scene.before is None:
        return
    graph = DependencyGraph(scene.before.platform)
    for each in check_input.touched(decision):
        was = scene.before.component(each.cluster, each.component)
        if was is None or scene.after.component(each.cluster, each.component) is not None:
            continue
        needed = dict.fromkeys(graph.direct(each.cluster, each.component, brought=False))
        left = [name for name in needed if scene.after.component(each.cluster, name) is not None]
        still = [name for name in left if _still_needs(scene, each.cluster, name)]
        if still:
            place = was.origins[0].place if was.origins else Place("")
            says = f"{each.component} is removed from {each.cluster}, and {', '.join(still)} needed it"
            yield answer.person("needed-component-removed", says, fix="see that they work without", at=place)


def _still_needs(scene: CheckInput, cluster: str, name: str) -> bool:
    """Whether the change leaves the one that needed it as it was; where it is rewritten, somebody thought of it."""
    assert scene.before is not None
    before, after = scene.before.component(cluster, name), scene.after.component(cluster, name)
    if before is None or after is None:
        return False
    declared = {need.id for need in after.missing}
    return not declared and [each.definition for each in before.origins] == [each.definition for each in after.origins]
