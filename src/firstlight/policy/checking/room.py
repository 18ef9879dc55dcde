"""Whether the nodes have what a change asks for: in all, and on one node for the largest pod."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.gates import placing, selecting
from firstlight.policy.checking import note, requests
from firstlight.policy.checking.note import Note
from firstlight.policy.checking.requests import Amount, Demand

_DONE = ("Succeeded", "Failed")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Node:
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
        left = requests.of_node(self.value)
        for each in self.pods:
            left = left - requests.of_template(each)
        return left


def nodes(values: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    """Nodes with the pods that take something of them."""
    taking = [each for each in pods if text(each, "status", "phase") not in _DONE]
    return tuple(
        Node(
            value=each,
            pods=tuple(one for one in taking if text(one, "spec", "nodeName") == text(each, "metadata", "name")),
        )
        for each in values
    )


def judged(demands: Sequence[Demand], there: Sequence[Node]) -> list[Note]:
    """What the nodes cannot take, or how much is left when they have."""
    notes: list[Note] = []
    total, meant = Amount(), dict[str, Node]()
    for demand in demands:
        template = demand.template if demand.pair.after is not None else demand.template_before
        takers = [each for each in there if not placing.refusal(template, each.value)]
        meant |= {each.name: each for each in takers}
        total = total + demand.difference(len(takers))
        if demand.pair.after is not None and (demand.is_per_node or demand.replicas_after):
            notes += _placed(demand, takers, there)
    free = Amount()
    for each in meant.values():
        free = free + each.free
    plural = "" if len(meant) == 1 else "s"
    says = f"the change asks for {requests.difference(total)}, and {free} is free on {len(meant)} node{plural}"
    if not total.fits(free) and not notes:
        notes.append(note.failed(says, todo="ask for less, or add a node before"))
    elif not notes:
        notes.append(note.passed(says))
    return notes


def _placed(demand: Demand, takers: Sequence[Node], there: Sequence[Node]) -> list[Note]:
    """Whether its pods find nodes: each node its own for a DaemonSet, one for the largest pod else."""
    pair, place = demand.pair, demand.pair.place
    if not takers:
        refusals = placing.room(demand.template, [each.value for each in there]).refusals
        why = f": {', '.join(refusals)}" if refusals else ""
        todo = "add a toleration, or a node that takes it"
        return [note.failed(f"no node takes a pod of {pair}{why}", todo=todo, place=place)]
    if demand.is_per_node:
        full = [each for each in takers if not demand.after.fits(_without_own(each, demand))]
        if not full:
            return []
        names = ", ".join(f"{each.name} ({each.free} free)" for each in full)
        says = f"a pod of {pair} asks for {demand.after}, which {names} does not have"
        return [note.failed(says, todo="ask for less, or move something off", place=place)]
    if any(demand.after.fits(each.free) for each in takers):
        return []
    roomy = [each for each in takers if demand.after.fits(_without_own(each, demand))]
    if roomy and demand.pair.before is not None:
        says = f"a pod of {pair} fits only once an old one has gone from {roomy[0].name}"
        todo = "see that its rollout may stop one before it starts one (maxUnavailable, or Recreate)"
        return [note.person(says, todo=todo, place=place)]
    most = max(takers, key=lambda each: (each.free.cpu, each.free.memory))
    says = f"a pod of {pair} asks for {demand.after}, and no node has that: {most.name} has {most.free} free"
    return [note.failed(says, todo="ask for less, or add a larger node", place=place)]


def _without_own(node: Node, demand: Demand) -> Amount:
    """What is free on a node once one pod of the workload itself has gone."""
    selector = mapping(demand.pair.before or demand.pair.after, "spec", "selector")
    for each in node.pods:
        is_own = text(each, "metadata", "namespace") == demand.pair.id.namespace and selecting.matches(
            selector, mapping(each, "metadata", "labels")
        )
        if is_own:
            return node.free + requests.of_template(each)
    return node.free
