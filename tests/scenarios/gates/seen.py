"""An ``observed.yaml`` made a gate with its ground and a view: what is asked, and what is there to be seen."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight.document import conditions
from firstlight.gates import gate_table, label_selector
from firstlight.gates.gate_parts import GateContext, GateQuestion
from firstlight.model import own_gates
from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole, Network
from firstlight.model.component import ObjectId
from firstlight.model.observation import AskResponse, GateView, WatchTarget
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Subject
from firstlight.model.platform import FoundationSecret
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import Apply, CreateSecret, TalosApplies, Task, Watch

HERE = Place("firstlight.yaml", 1)
_MADE = {"Pod", "Event", "Node", "EndpointSlice", "CiliumNode", "ReplicaSet", "PersistentVolumeClaim"}
"""What controllers make: no component declares it."""
_OWN = {
    "condition": own_gates.ConditionGate,
    "field": own_gates.FieldGate,
    "cel": own_gates.CelGate,
    "http": own_gates.HttpGate,
    "command": own_gates.CommandGate,
}


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a scenario says."""

    gate: Gate
    task: Task
    ground: GateContext
    facts: Mapping[str, Any]

    def question(self) -> GateQuestion | None:
        return gate_table.question(self.gate, self.task, self.ground)

    def view(self, question: GateQuestion) -> GateView:
        """The objects of the scenario as the question's looks find them; each is found by somebody, or is a mistake."""
        objects = self.facts.get("objects") or []
        found = {look: tuple(each for each in objects if is_seen(each, look)) for look in question.looks}
        unserved = set(self.facts.get("unserved") or ())
        lost = [ObjectId.of(each) for each in objects if not any(each in some for some in found.values())]
        assert not lost, f"nobody looks at {lost}: {question.looks}"
        return GateView(
            now=conditions.moment(self.facts["now"]) or 0.0,
            objects=found,
            unserved=frozenset(each for each in question.looks if f"{each.api_version}/{each.kind}" in unserved),
            answers={each: self._answer(f"{each.ask} {each.of}") for each in question.asks},
        )

    def _answer(self, name: str) -> AskResponse:
        given = self.facts["answers"][name]
        return AskResponse(True) if given is True else AskResponse(False, given)


def load(path: Path) -> Seen:
    facts = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)  # the other one is twenty times slower
    gate = facts["gate"]
    component = gate.get("component", "")
    asked = Gate(Subject(gate["subject"]), component, _identity(gate.get("object")), gate.get("number", 0))
    declared = facts.get("declared")
    if declared is None:
        declared = {component: [*_declared(facts)]}
    ground = GateContext(
        cluster=_cluster(facts.get("cluster") or {}),
        revision=facts.get("revision", ""),
        objects={name: tuple(map(Object, objects)) for name, objects in declared.items()},
        own={component: tuple(map(_own, facts.get("own") or ()))},
        roots=tuple(each for one in facts.get("roots") or () if (each := _identity(one))),
        bringers={component: tuple(each for one in facts.get("brought_by") or () if (each := _identity(one)))},
    )
    return Seen(asked, _task(facts.get("task") or {}, facts), ground, facts)


def is_seen(value: Mapping[str, Any], look: WatchTarget) -> bool:
    identity = ObjectId.of(value)
    return (
        value["apiVersion"] == look.api_version
        and identity.kind == look.kind
        and look.namespace in ("", identity.namespace)
        and look.name in ("", identity.name)
        and (not look.labels or _has(value["metadata"].get("labels") or {}, look.labels))
    )


def _has(labels: Mapping[str, str], selector: str) -> bool:
    wanted = dict(each.split("=") for each in selector.split(","))
    return label_selector.matches({"matchLabels": wanted}, labels)


def _declared(facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What was rendered: the same objects before anybody wrote a status."""
    for each in facts.get("objects") or ():
        if each["kind"] not in _MADE:
            yield {key: value for key, value in each.items() if key != "status"}


def _identity(written: str | None) -> ObjectId | None:
    """``apps/Deployment/web/web``; the namespace is empty for kinds that have none."""
    return ObjectId(*written.split("/")) if written else None


def _cluster(facts: Mapping[str, Any]) -> Cluster:
    return Cluster(
        name="lab",
        place=HERE,
        engine=Engine(facts["engine"]) if "engine" in facts else None,
        url=facts.get("url", ""),
        machines=tuple(
            Machine(name=name, role=MachineRole(role), place=HERE, address=address)
            for name, (role, address) in (facts.get("machines") or {}).items()
        ),
        network=Network(cni=facts.get("cni", "")),
    )


def _task(written: Mapping[str, Any], facts: Mapping[str, Any]) -> Task:
    if "secret" in written:
        name, namespace = written["secret"]["name"], written["secret"]["namespace"]
        data = dict.fromkeys(written["secret"]["keys"], "env:X")
        return CreateSecret(
            secret=FoundationSecret(name=name, namespace=namespace, data=data, place=HERE), manager="firstlight"
        )
    if "watch" in written:
        return Watch(revision=written["watch"])
    if "talos" in written:
        return TalosApplies()
    objects = written.get("apply") or [*_declared(facts)]
    return Apply(objects=tuple(map(Object, objects)), manager="firstlight")


def _own(written: Mapping[str, Any]) -> own_gates.OwnGate:
    ((kind, fields),) = written.items()
    fields = dict(fields)
    if "kind" in fields:
        names = {"api_version": fields.pop("apiVersion"), "kind": fields.pop("kind"), "name": fields.pop("name")}
        fields["object"] = own_gates.WatchedObject(**names, namespace=fields.pop("namespace", ""))
    if "run" in fields:
        fields["run"] = tuple(fields["run"])
    made: own_gates.OwnGate = _OWN[kind](place=HERE, **fields)
    return made


def told(verdict: Verdict) -> str:
    """A verdict as scenarios expect it."""
    match verdict:
        case Passed():
            word = "passed"
        case Waiting():
            word = "waiting"
        case Failed():
            word = "failed"
        case Skipped():
            word = "skipped"
    return f"{word}: {verdict.reason}\n"
