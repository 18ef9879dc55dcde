"""Whether the nodes have what the changed workloads ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from firstlight.clients import kube
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, ObjectPair
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates import label_selector, pod_placement
from firstlight.model.decision import Decision
from firstlight.model.rendition import Object
from firstlight.plan import manifest_diff, pod_needs

# What pods ask of nodes: the requests of a workload, and how they differ from what was before.


ZERO = Decimal(0)
_RUNS_ALWAYS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod")
"""Kinds whose pods stay; those of Jobs come and go."""


@dataclasses.dataclass(frozen=True, slots=True)
class Amount:
    """CPU in cores, and memory in bytes."""

    cpu: Decimal = ZERO
    memory: Decimal = ZERO

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.cpu - other.cpu, self.memory - other.memory)

    def __mul__(self, count: int) -> Amount:
        return Amount(self.cpu * count, self.memory * count)

    def fits(self, room: Amount) -> bool:
        """Whether there is room for it; of what it does not ask for there need not be any."""
        return (self.cpu <= max(room.cpu, ZERO)) and (self.memory <= max(room.memory, ZERO))

    def __str__(self) -> str:
        return f"{_cores(self.cpu)} CPU and {_bytes(self.memory)}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDemand:
    """A workload that differs, with what it asks for."""

    pair: ObjectPair
    before: Amount
    """Of one pod."""
    after: Amount
    replicas_before: int
    replicas_after: int
    """How many pods; those of a DaemonSet are counted by nodes."""
    template: Mapping[str, Any] = dataclasses.field(repr=False)
    """Of the pods as they will be."""
    template_before: Mapping[str, Any] = dataclasses.field(repr=False)
    is_per_node: bool = False

    def difference(self, nodes: int = 0) -> Amount:
        """What it asks for more, or less, in all."""
        if self.is_per_node:
            is_there = (self.pair.before is not None, self.pair.after is not None)
            return self.after * (nodes if is_there[1] else 0) - self.before * (nodes if is_there[0] else 0)
        return self.after * self.replicas_after - self.before * self.replicas_before


def resource_demands(pairs: tuple[ObjectPair, ...]) -> tuple[ResourceDemand, ...]:
    """The workloads whose requests or replicas differ."""
    found = []
    for pair in pairs:
        if pair.id.kind not in _RUNS_ALWAYS or pair.id.group not in ("", "apps"):
            continue
        made = ResourceDemand(
            pair=pair,
            before=of_template(_template(pair.before)),
            after=of_template(_template(pair.after)),
            replicas_before=_replicas(pair.before),
            replicas_after=_replicas(pair.after),
            template=_template(pair.after),
            template_before=_template(pair.before),
            is_per_node=pair.id.kind == "DaemonSet",
        )
        if (made.before, made.replicas_before) != (made.after, made.replicas_after):
            found.append(made)
    return tuple(found)


def of_template(template: Any) -> Amount:
    """What one pod asks for, as the scheduler counts it: the sum of what runs, or what an init container needs."""
    spec = mapping(template, "spec")
    running = _requests_sum(sequence(spec, "containers"))
    beside, most = Amount(), Amount()
    for each in sequence(spec, "initContainers"):
        own = of_container(each)
        if text(each, "restartPolicy") == "Always":  # a sidecar: it stays
            beside = beside + own
            most = _larger(most, beside)
        else:
            most = _larger(most, beside + own)
    overhead = _amount(mapping(spec, "overhead"))
    return _larger(running + beside, most) + overhead


def of_container(container: Any) -> Amount:
    """What one container asks for; where it only has limits, those are its requests."""
    asked, limits = mapping(container, "resources", "requests"), mapping(container, "resources", "limits")
    return _amount({**limits, **asked})


def difference(amount: Amount) -> str:
    """A difference for people: ``1 CPU more and 256Mi less``."""
    parts = [
        f"{shown(abs(value))} {'more' if value > 0 else 'less'}"
        for value, shown in ((amount.cpu, lambda value: f"{_cores(value)} CPU"), (amount.memory, _bytes))
        if value
    ]
    return " and ".join(parts) or "no more than before"


def of_node(node: Mapping[str, Any]) -> Amount:
    """What a node has for pods."""
    return _amount(mapping(node, "status", "allocatable"))


def _template(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return pod_needs.template(Object(value)) if value is not None else {}


def _replicas(value: Mapping[str, Any] | None) -> int:
    if value is None:
        return 0
    return number(value, "spec", "replicas") if at(value, "spec", "replicas") is not None else 1


def _requests_sum(containers: Any) -> Amount:
    total = Amount()
    for each in containers:
        total = total + of_container(each)
    return total


def _larger(one: Amount, other: Amount) -> Amount:
    return Amount(max(one.cpu, other.cpu), max(one.memory, other.memory))


def _amount(values: Mapping[str, Any]) -> Amount:
    return Amount(
        manifest_diff.quantity_value(values.get("cpu")) or ZERO,
        manifest_diff.quantity_value(values.get("memory")) or ZERO,
    )


def _cores(value: Decimal) -> str:
    return f"{value.normalize():f}" if abs(value) >= 1 or not value else f"{value * 1000:.0f}m"


def _bytes(value: Decimal) -> str:
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"


# Whether the nodes have what a change asks for: in all, and on one node for the largest pod.


_DONE = ("Succeeded", "Failed")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapacity:
    """A node, and what runs on it."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    pods: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What it is called."""
        return text(self.value, "metadata", "name")

    @property
    def free(self) -> Amount:
        """What nobody has asked for."""
        left = of_node(self.value)
        for each in self.pods:
            left = left - of_template(each)
        return left


def node_capacities(values: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]) -> tuple[NodeCapacity, ...]:
    """Nodes with the pods that take something of them."""
    taking = [each for each in pods if text(each, "status", "phase") not in _DONE]
    return tuple(
        NodeCapacity(
            value=each,
            pods=tuple(one for one in taking if text(one, "spec", "nodeName") == text(each, "metadata", "name")),
        )
        for each in values
    )


def judged_capacity(demands: Sequence[ResourceDemand], there: Sequence[NodeCapacity]) -> list[CheckAnswer]:
    """What the nodes cannot take, or how much is left when they have."""
    answers: list[CheckAnswer] = []
    total, meant = Amount(), dict[str, NodeCapacity]()
    for demand in demands:
        template = demand.template if demand.pair.after is not None else demand.template_before
        takers = [each for each in there if not pod_placement.refusal(template, each.value)]
        meant |= {each.name: each for each in takers}
        total = total + demand.difference(len(takers))
        if demand.pair.after is not None and (demand.is_per_node or demand.replicas_after):
            answers += _placed(demand, takers, there)
    free = Amount()
    for each in meant.values():
        free = free + each.free
    plural = "" if len(meant) == 1 else "s"
    says = f"the change asks for {difference(total)}, and {free} is free on {len(meant)} node{plural}"
    if not total.fits(free) and not answers:
        answers.append(answer.failed("requests-beyond-capacity", says, fix="ask for less, or add a node before"))
    elif not answers:
        answers.append(answer.passed(says))
    return answers


def _placed(demand: ResourceDemand, takers: Sequence[NodeCapacity], there: Sequence[NodeCapacity]) -> list[CheckAnswer]:
    """Whether its pods find nodes: each node its own for a DaemonSet, one for the largest pod else."""
    pair, place = demand.pair, demand.pair.place
    if not takers:
        refusals = pod_placement.room(demand.template, [each.value for each in there]).refusals
        why = f": {', '.join(refusals)}" if refusals else ""
        fix = "add a toleration, or a node that takes it"
        return [answer.failed("pod-taken-by-no-node", f"no node takes a pod of {pair}{why}", fix=fix, at=place)]
    if demand.is_per_node:
        full = [each for each in takers if not demand.after.fits(_without_own(each, demand))]
        if not full:
            return []
        names = ", ".join(f"{each.name} ({each.free} free)" for each in full)
        says = f"a pod of {pair} asks for {demand.after}, which {names} does not have"
        return [answer.failed("pod-too-large", says, fix="ask for less, or move something off", at=place)]
    if any(demand.after.fits(each.free) for each in takers):
        return []
    roomy = [each for each in takers if demand.after.fits(_without_own(each, demand))]
    if roomy and demand.pair.before is not None:
        says = f"a pod of {pair} fits only once an old one has gone from {roomy[0].name}"
        fix = "see that its rollout may stop one before it starts one (maxUnavailable, or Recreate)"
        return [answer.person("rollout-needs-room", says, fix=fix, at=place)]
    most = max(takers, key=lambda each: (each.free.cpu, each.free.memory))
    says = f"a pod of {pair} asks for {demand.after}, and no node has that: {most.name} has {most.free} free"
    return [answer.failed("pod-too-large", says, fix="ask for less, or add a larger node", at=place)]


def _without_own(node: NodeCapacity, demand: ResourceDemand) -> Amount:
    """What is free on a node once one pod of the workload itself has gone."""
    selector = mapping(demand.pair.before or demand.pair.after, "spec", "selector")
    for each in node.pods:
        is_own = text(each, "metadata", "namespace") == demand.pair.id.namespace and label_selector.matches(
            selector, mapping(each, "metadata", "labels")
        )
        if is_own:
            return node.free + of_template(each)
    return node.free


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """The difference in requests against what is free on the nodes."""
    demands = resource_demands(check_input.pairs(decision, scene))
    if not demands:
        unseen = check_input.unseen(decision, scene)
        unsure = f", as far as files tell: {', '.join(unseen)} was not rendered before and after" if unseen else ""
        return [answer.skipped(f"no workload asks for more or less than before{unsure}")]
    here = [each for each in demands if scene.is_reached(each.pair.cluster) or not each.pair.cluster]
    elsewhere = [each for each in demands if each not in here]
    answers: list[CheckAnswer] = []
    if scene.client is None:
        return [answer.skipped(f"{scene.unreached}; {_sum(demands)}")]
    if here:
        answers += judged_capacity(here, await _nodes(scene.client))
    if elsewhere:
        names = ", ".join(sorted({each.pair.cluster for each in elsewhere}))
        answers.append(answer.skipped(f"{names} was not asked; {_sum(elsewhere)}"))
    return answers


async def _nodes(client: kube.Client) -> tuple[NodeCapacity, ...]:
    nodes = await client.list("v1", "Node")
    pods = await client.list("v1", "Pod", fields="status.phase!=Succeeded,status.phase!=Failed")
    return node_capacities(nodes.items, pods.items)


def _sum(demands: list[ResourceDemand] | tuple[ResourceDemand, ...]) -> str:
    """What is asked for in all; what runs on every node is told for one."""
    total, each_node = Amount(), Amount()
    for each in demands:
        if each.is_per_node:
            each_node = each_node + each.difference(1)
        else:
            total = total + each.difference()
    said = f"the change asks for {difference(total)}"
    return said + (f", and for {difference(each_node)} on each node" if each_node != Amount() else "")
