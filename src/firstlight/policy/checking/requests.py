"""What pods ask of nodes: the requests of a workload, and how they differ from what was before."""

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.model.rendition import Object
from firstlight.plan import pods, quantity
from firstlight.policy.checking.pair import Pair

ZERO = Decimal(0)
_RUNS_ALWAYS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod")
"""Kinds whose pods stay; those of Jobs come and go."""


@dataclasses.dataclass(frozen=True, slots=True)
class Amount:
    """CPU in cores, and memory in bytes."""

    cpu: Decimal = ZERO
    memory: Decimal = ZERO

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.cpu + other.cpu, self.memory + other.memory)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.cpu - other.cpu, self.memory - other.memory)

    def __mul__(self, count: int) -> "Amount":
        return Amount(self.cpu * count, self.memory * count)

    def fits(self, room: "Amount") -> bool:
        """Whether there is room for it; of what it does not ask for there need not be any."""
        return (self.cpu <= max(room.cpu, ZERO)) and (self.memory <= max(room.memory, ZERO))

    def __str__(self) -> str:
        return f"{_cores(self.cpu)} CPU and {_bytes(self.memory)}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A workload that differs, with what it asks for."""

    pair: Pair
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


def demands(pairs: tuple[Pair, ...]) -> tuple[Demand, ...]:
    """The workloads whose requests or replicas differ."""
    found = []
    for pair in pairs:
        if pair.id.kind not in _RUNS_ALWAYS or pair.id.group not in ("", "apps"):
            continue
        made = Demand(
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
    running = _sum(sequence(spec, "containers"))
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
    return pods.template(Object(value)) if value is not None else {}


def _replicas(value: Mapping[str, Any] | None) -> int:
    if value is None:
        return 0
    return number(value, "spec", "replicas") if at(value, "spec", "replicas") is not None else 1


def _sum(containers: Any) -> Amount:
    total = Amount()
    for each in containers:
        total = total + of_container(each)
    return total


def _larger(one: Amount, other: Amount) -> Amount:
    return Amount(max(one.cpu, other.cpu), max(one.memory, other.memory))


def _amount(values: Mapping[str, Any]) -> Amount:
    return Amount(quantity.value(values.get("cpu")) or ZERO, quantity.value(values.get("memory")) or ZERO)


def _cores(value: Decimal) -> str:
    return f"{value.normalize():f}" if abs(value) >= 1 or not value else f"{value * 1000:.0f}m"


def _bytes(value: Decimal) -> str:
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if abs(value) >= size:
            return f"{value / size:.1f}".removesuffix(".0") + unit
    return f"{value:.0f}"
