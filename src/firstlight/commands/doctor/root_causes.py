"""Cause and effect: which symptom explains which, the ones that nothing explains, and what follows from each.

A symptom explains another one if a name of it is among what the other one needs. Where symptoms explain each other in a
circle, the lowest, oldest of them is taken for its beginning.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from firstlight.commands.doctor import rule_table
from firstlight.commands.doctor.diagnosis import Diagnosis, NextCommand, RootCause, Symptom
from firstlight.commands.doctor.rule_finding import RuleFinding
from firstlight.observe.cluster.observation import ClusterObservation


def linked_causes(found: Sequence[tuple[Symptom, RuleFinding]]) -> tuple[RootCause, ...]:
    """The causes: what explains most first, then the lowest, then the oldest; each symptom in one of them."""
    symptoms = {symptom.key: symptom for symptom, _ in found}
    why = reasons(found)
    follows: dict[str, list[str]] = {key: [] for key in symptoms}
    for key, explained in why.items():
        for each in explained:
            follows[each].append(key)
    roots = [key for key in symptoms if not why[key]]
    reach = {key: _near(key, follows) for key in roots}

    def rank(key: str) -> tuple[int, int, float, str]:
        one = symptoms[key]
        return -len(reach[key]), one.layer, one.since or float("inf"), key

    told: set[str] = set(roots)
    listed = []
    for root in sorted(roots, key=rank):
        mine = sorted((distance, symptoms[key].layer, key) for key, distance in reach[root].items() if key not in told)
        told.update(key for _, _, key in mine)
        effects = tuple(
            dataclasses.replace(symptoms[key], because=_nearest(why[key], reach[root])) for _, _, key in mine
        )
        listed.append(RootCause(symptom=symptoms[root], effects=effects))
    return tuple(listed)


def reasons(found: Sequence[tuple[Symptom, RuleFinding]]) -> dict[str, tuple[str, ...]]:
    """What explains each symptom, by keys, without circles that nothing outside of them explains."""
    named: dict[str, set[str]] = {}
    for symptom, each in found:
        for name in each.names | {each.subject}:
            named.setdefault(name, set()).add(symptom.key)
    why = {
        symptom.key: {key for need in each.needs for key in named.get(need, ()) if key != symptom.key}
        for symptom, each in found
    }
    order = {symptom.key: (int(symptom.layer), symptom.since or float("inf"), symptom.key) for symptom, _ in found}
    _open_circles(why, by=lambda key: order[key])
    _cut_circles(why, by=lambda key: order[key])
    return {key: tuple(sorted(each)) for key, each in why.items()}


def _open_circles(why: dict[str, set[str]], *, by: Callable[[str], tuple[int, float, str]]) -> None:
    """Makes a beginning of every circle that has none."""
    while True:
        reached = _reached([key for key, each in why.items() if not each], _turned(why))
        rest = {key: each - reached for key, each in why.items() if key not in reached}
        if not rest:
            return
        # The outermost circles: who is above any of theirs is below it, too.
        below, above = _turned(rest), rest
        first = [key for key in rest if _reached(above[key], above) <= _reached([key], below)]
        why[min(first, key=by)] = set()


def _cut_circles(why: dict[str, set[str]], *, by: Callable[[str], tuple[int, float, str]]) -> None:
    """Takes from circles that have a beginning what leads back towards it."""
    follows = _turned(why)
    depth = dict.fromkeys((key for key, each in why.items() if not each), 0)
    for key in (todo := list(depth)):
        for below in follows[key]:
            if below not in depth:
                depth[below] = depth[key] + 1
                todo.append(below)
    for key, each in list(why.items()):
        back = {one for one in each if (depth[one], by(one)) >= (depth[key], by(key))}
        if back:
            why[key] = each - (back & _reached([key], follows))


def _turned(why: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    turned: dict[str, set[str]] = {key: set() for key in why}
    for key, each in why.items():
        for one in each:
            turned.setdefault(one, set()).add(key)
    return turned


def _reached(start: Iterable[str], ways: Mapping[str, Iterable[str]]) -> set[str]:
    found, todo = set(start), list(start)
    while todo:
        for each in ways.get(todo.pop(), ()):
            if each not in found:
                found.add(each)
                todo.append(each)
    return found


def _near(start: str, ways: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """All that is reached, with how many steps away it is."""
    found = {start: 0}
    todo = [start]
    for each in todo:
        for one in ways[each]:
            if one not in found:
                found[one] = found[each] + 1
                todo.append(one)
    del found[start]
    return found


def _nearest(explained: Sequence[str], reach: Mapping[str, int]) -> tuple[str, ...]:
    """What explains a symptom, the way by which it was reached first."""
    return tuple(sorted(explained, key=lambda key: (key in reach and reach[key] > 0, reach.get(key, 0), key)))


# From what was seen to one cause on top, with what follows from it beneath.


_OF_A_CLUSTER = frozenset({"owners", "drift", "graph", "inventory"})
"""Commands of firstlight that take a cluster first."""


def diagnose(scene: ClusterObservation) -> Diagnosis:
    """What is wrong with a cluster: the cause that explains most first; none where nothing is wrong."""
    found = [(symptom_of(each, scene.cluster.name), each) for each in rule_table.findings(scene)]
    return Diagnosis(cluster=scene.cluster.name, causes=linked_causes(found), looked=looked(scene), unseen=scene.unseen)


def symptom_of(found: RuleFinding, cluster: str) -> Symptom:
    """What a rule found, as it is told."""
    rule = rule_table.RULES[found.rule]
    return Symptom(
        rule=found.rule,
        layer=found.layer if found.layer is not None else rule.layer,
        subject=found.subject,
        says=found.says,
        title=rule.title,
        remedy=rule.remedy,
        evidence=found.evidence,
        next=tuple(_told(each, cluster) for each in found.next),
        since=found.since or 0.0,
    )


def _told(step: NextCommand, cluster: str) -> NextCommand:
    """Commands of firstlight's own name the cluster, so that they work where a repo has several."""
    words = step.command.split(" ")
    if words[0] == "firstlight" and words[1] in _OF_A_CLUSTER and words[2:3] != [cluster]:
        words.insert(2, cluster)
    return dataclasses.replace(step, command=" ".join(words))


def looked(scene: ClusterObservation) -> tuple[str, ...]:
    """What was looked at, counted."""
    counts = (
        (len(scene.machines), "machine"),
        (len(scene.members), "etcd member"),
        (len(scene.objects), "object"),
        (len(scene.events), "event"),
        (len(scene.logs), "log"),
    )
    return tuple(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts if count)
