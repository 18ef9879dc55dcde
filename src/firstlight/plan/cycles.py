"""Steps that wait for each other, told as the shortest way round; and needs that nothing meets."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from firstlight.model.component import Certainty, Phase
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.plan import Step, StepNeed, Tie
from firstlight.plan.cluster_facts import ClusterFacts

_STARTS = 50
"""Steps from which the way round is sought: nobody reads a knot of thousands, and every start costs its whole size."""


def problems(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    """One problem for each knot of steps that wait for each other."""
    by_id = {each.id: each for each in steps}
    for knot in knots({each.id: [need.step for need in each.needs if need.step in by_id] for each in steps}):
        yield _problem([by_id[name] for name in shortest(knot, by_id)])


def knots(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected parts of a graph that hold a cycle, each in its order (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for start in graph:
        if start in number:
            continue
        work = [(start, iter(graph[start]))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack.add(start)
        while work:
            name, rest = work[-1]
            deeper = next((each for each in rest if each not in number or each in on_stack), None)
            if deeper is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == number[name]:
                    part = _popped(stack, on_stack, name)
                    if len(part) > 1 or name in graph[name]:
                        found.append(part)
            elif deeper in number:
                low[name] = min(low[name], number[deeper])
            else:
                number[deeper] = low[deeper] = len(number)
                stack.append(deeper)
                on_stack.add(deeper)
                work.append((deeper, iter(graph[deeper])))
    order = {name: index for index, name in enumerate(graph)}
    return [sorted(part, key=order.__getitem__) for part in found]


def reaches(start: str, target: str, graph: Mapping[str, Collection[str]]) -> bool:
    """Whether one name leads to another."""
    waiting, seen = [start], {start}
    while waiting:
        name = waiting.pop()
        if name == target:
            return True
        new = [each for each in graph.get(name, ()) if each not in seen]
        seen.update(new)
        waiting += new
    return False


def _popped(stack: list[str], on_stack: set[str], last: str) -> list[str]:
    part = []
    while True:
        name = stack.pop()
        on_stack.discard(name)
        part.append(name)
        if name == last:
            return part


def shortest(knot: Sequence[str], by_id: Mapping[str, Step]) -> list[str]:
    """The shortest way round in a knot; in a very large one the shortest through its first steps."""
    inside = set(knot)
    best: list[str] = []
    for start in knot[:_STARTS]:
        before: dict[str, str] = {}
        waiting = deque([start])
        while waiting and start not in before:
            name = waiting.popleft()
            for need in by_id[name].needs:
                if need.step in inside and need.step not in before:
                    before[need.step] = name
                    waiting.append(need.step)
        if start not in before:
            continue
        way = [start]
        while (previous := before[way[-1]]) != start:
            way.append(previous)
        way.reverse()
        way = [way[-1], *way[:-1]]
        if not best or len(way) < len(best):
            best = way
    return best


def _problem(way: Sequence[Step]) -> Diagnostic:
    names = [each.name for each in way]
    needs = [_need(step, way[(index + 1) % len(way)]) for index, step in enumerate(way)]
    links = tuple(_link(step, needs[index], way[(index + 1) % len(way)]) for index, step in enumerate(way))
    return Diagnostic.error(
        "cycle",
        f"{', '.join(names[:-1])} and {names[-1]} wait for each other"
        if len(names) > 1
        else f"{names[0]} waits for itself",
        evidence=links,
        fix=_way_out(way, needs),
        subject=way[0].component,
    )


def _way_out(way: Sequence[Step], needs: Sequence[StepNeed]) -> str:
    """What can be changed: a wait, where a thing comes from, a need that is only declared; never what is a fact."""
    ties = {need.tie: index for index, need in reversed([*enumerate(needs)])}
    if Tie.WAITED in ties:
        return f"Take wait: true from {way[ties[Tie.WAITED]].name}, or the need that leads back to it."
    for step, need in zip(way, needs, strict=True):
        if need.tie == Tie.FACT and need.thing and step.phase in (Phase.HANDOVER, Phase.GITOPS):
            return f"Let bootstrap bring {need.thing}, or take one of the other needs away."
    if Tie.FACT not in ties:
        return "Take one of these needs away." if len(way) > 1 else "Take the need away."
    fact = ties[Tie.FACT]
    first, then = way[fact].name, needs[fact].thing or way[(fact + 1) % len(way)].name
    if Tie.DECLARED in ties:
        wrong = ties[Tie.DECLARED]
        other = way[(wrong + 1) % len(way)].name
        return f"Take away that {way[wrong].name} needs {other}: {first} cannot work without {then}."
    return f"Bring {then} in another way: {first} cannot work without."


def _link(step: Step, need: StepNeed, other: Step) -> Evidence:
    why = "" if need.why in ("needs", "") else f": {need.why}"
    return Evidence(f"needs {other.name}{why}", need.place or step.place, where=step.name)


def _need(step: Step, other: Step) -> StepNeed:
    return next(each for each in step.needs if each.step == other.id)


def missing(known: ClusterFacts) -> Iterator[Diagnostic]:
    """Needs that nothing in the cluster meets, and needs of what is suspended."""
    for component in known.components:
        is_certain = all(each.certainty == Certainty.DECLARED for each in component.origins)
        for need in component.missing:
            is_sure = is_certain and not need.is_order
            yield Diagnostic(
                code="missing-need",
                severity=Severity.ERROR if is_sure else Severity.WARNING,
                message=f"{component.name} needs {need.id}, which nothing in {known.cluster.name} deploys",
                evidence=(Evidence(f"{need.why or 'needs'} {need.id}", need.place, where=component.name),),
                fix="Deploy it in this cluster, or take the need away.",
                subject=component.name,
            )
        for name in component.needs:
            other = known.by_name.get(name)
            halted = [each for each in other.origins if each.suspended] if other else []
            if other is not None and halted and len(halted) == len(other.origins):
                yield Diagnostic.warning(
                    "suspended-need",
                    f"{component.name} needs {name}, which is suspended in Git and never becomes ready",
                    evidence=(
                        Evidence(f"needs {name}", component.origins[0].place, where=component.name),
                        Evidence("suspend: true", halted[0].place, where=name),
                    ),
                    fix=f"Resume {name} in Git, or take the need away.",
                    subject=component.name,
                )
