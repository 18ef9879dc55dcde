"""From what was seen to one cause on top: every rule is tried, and what each finds is linked by cause and effect.

A symptom explains another one if a name of it is among what the other one needs. Where symptoms explain each other in a
circle, the lowest, oldest of them is taken for its beginning.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from firstlight.commands.doctor.rules import (
    admission,
    argocd_applications,
    cluster_network,
    control_plane,
    deletions,
    double_owners,
    engine_health,
    failed_releases,
    flux_objects,
    load_balancers,
    missing_secrets,
    talos_machines,
    unready_nodes,
    workloads,
)
from firstlight.commands.doctor.symptoms import Diagnosis, NextCommand, RootCause, Symptom
from firstlight.observe.cluster.observation import ClusterObservation

_OF_A_CLUSTER = frozenset({"owners", "drift", "graph", "inventory"})
"""Commands of firstlight that take a cluster first."""
_RULES: tuple[Callable[[ClusterObservation], Iterator[Symptom]], ...] = (
    talos_machines.standings,
    talos_machines.other_addresses,
    talos_machines.leases,
    talos_machines.parts,
    talos_machines.services,
    talos_machines.clocks,
    talos_machines.full_disks,
    talos_machines.warnings,
    talos_machines.kubelet_certificates,
    control_plane.etcd_health,
    control_plane.etcd_alarms,
    control_plane.api,
    control_plane.api_flags,
    unready_nodes.unready_nodes,
    unready_nodes.pressed_nodes,
    unready_nodes.tainted_nodes,
    unready_nodes.waiting_requests,
    unready_nodes.missing_nodes,
    cluster_network.agents,
    cluster_network.dns,
    load_balancers.without_address,
    load_balancers.not_announced,
    load_balancers.down_sessions,
    load_balancers.bgp_configs,
    admission.webhooks,
    admission.aggregated_apis,
    admission.definitions,
    missing_secrets.missing_foundation,
    missing_secrets.secret_stores,
    missing_secrets.external_secrets,
    missing_secrets.issuers,
    missing_secrets.certificates,
    missing_secrets.expired_certificates,
    engine_health.engine_down,
    engine_health.failing_instances,
    engine_health.silent_objects,
    engine_health.revisions_behind,
    engine_health.left_suspended,
    engine_health.left_overrides,
    flux_objects.failing_sources,
    flux_objects.failing_kustomizations,
    flux_objects.waiting_for_dependencies,
    failed_releases.failing_releases,
    failed_releases.pending_releases,
    argocd_applications.applications,
    double_owners.in_two_inventories,
    double_owners.in_two_applications,
    double_owners.fights,
    double_owners.pruned_by_another,
    deletions.stuck_deletions,
    deletions.going_namespaces,
    deletions.going_pods,
    workloads.pending_claims,
    workloads.sick_workloads,
    cluster_network.gateways,
    cluster_network.ingresses,
)
"""What looks for it; one function may find several things that exclude each other."""


def diagnose(scene: ClusterObservation) -> Diagnosis:
    """What is wrong with a cluster: the cause that explains most first; none where nothing is wrong."""
    found = [_with_commands(each, scene.cluster.name) for each in all_symptoms(scene)]
    return Diagnosis(cluster=scene.cluster.name, causes=linked_causes(found), looked=looked(scene), unseen=scene.unseen)


def all_symptoms(scene: ClusterObservation) -> list[Symptom]:
    """Everything that is wrong, each thing once, in an order that does not depend on that of what was seen."""
    found: dict[tuple[str, str], Symptom] = {}
    for rule in _RULES:
        for each in sorted(rule(scene), key=lambda one: (one.code, one.subject, one.message)):
            key = (each.code, each.subject)
            found[key] = _together(found[key], each) if key in found else each
    return [found[key] for key in sorted(found)]


def _together(one: Symptom, other: Symptom) -> Symptom:
    return dataclasses.replace(one, names=one.names | other.names, needs=one.needs | other.needs)


def _with_commands(found: Symptom, cluster: str) -> Symptom:
    return dataclasses.replace(found, next=tuple(_told(each, cluster) for each in found.next))


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


def linked_causes(found: Sequence[Symptom]) -> tuple[RootCause, ...]:
    """The causes: what explains most first, then the lowest, then the oldest; each symptom in one of them."""
    by_key = {each.key: each for each in found}
    why = reasons(found)
    follows: dict[str, list[str]] = {key: [] for key in by_key}
    for key, explained in why.items():
        for each in explained:
            follows[each].append(key)
    roots = [key for key in by_key if not why[key]]
    reach = {key: _near(key, follows) for key in roots}

    def rank(key: str) -> tuple[int, int, float, str]:
        one = by_key[key]
        return -len(reach[key]), one.layer, one.since or float("inf"), key

    told: set[str] = set(roots)
    listed = []
    for root in sorted(roots, key=rank):
        mine = sorted((distance, by_key[key].layer, key) for key, distance in reach[root].items() if key not in told)
        told.update(key for _, _, key in mine)
        effects = tuple(dataclasses.replace(by_key[key], because=_nearest(why[key], reach[root])) for _, _, key in mine)
        listed.append(RootCause(symptom=by_key[root], effects=effects))
    return tuple(listed)


def reasons(found: Sequence[Symptom]) -> dict[str, tuple[str, ...]]:
    """What explains each symptom, by keys, without circles that nothing outside of them explains."""
    named: dict[str, set[str]] = {}
    for each in found:
        for name in each.names | {each.subject}:
            named.setdefault(name, set()).add(each.key)
    why = {each.key: {key for need in each.needs for key in named.get(need, ()) if key != each.key} for each in found}
    order = {each.key: (int(each.layer), each.since or float("inf"), each.key) for each in found}
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
