"""Gates that firstlight.yaml declares: a condition, a field, an expression, a URL, a command."""

from collections.abc import Mapping
from typing import Any, assert_never

from firstlight.document.within import text
from firstlight.gates import cel, fields, looking, parts, ready, status
from firstlight.gates.ground import GateGround
from firstlight.gates.parts import Part
from firstlight.gates.question import Question
from firstlight.model.component import ObjectId
from firstlight.model.observation import Ask, Asked, Look, View
from firstlight.model.own_gate import CelGate, CommandGate, ConditionGate, FieldGate, HttpGate, OwnGate, Watched
from firstlight.model.plan import Gate
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateGround) -> Question | None:
    """The declared gate that the gate counts to."""
    declared = ground.own.get(gate.component, ())
    if not 0 <= gate.number < len(declared):
        return None
    asked = declared[gate.number]
    hint = f"The gate is declared at {asked.place}."
    return parts.question(gate, f"own gate {gate.number + 1} of {gate.component}", _part(asked, gate), hint=hint)


def _part(asked: OwnGate, gate: Gate) -> Part:
    match asked:
        case ConditionGate():
            return _condition(asked)
        case FieldGate():
            return _field(asked)
        case CelGate():
            return _cel(asked)
        case HttpGate():
            expected = {"status": asked.status, "timeout": asked.timeout}
            http = Asked(Ask.HTTP, asked.url, expected)
            return _answered(http, name=asked.url, well="answers", otherwise="does not answer as it must")
        case CommandGate():
            words = {"run": list(asked.run), "timeout": asked.timeout}
            command = Asked(Ask.COMMAND, f"{gate.component}/{gate.number + 1}", words)
            return _answered(command, name=asked.run[0], well="ended well", otherwise="does not end well")
        case _:
            assert_never(asked)


def _identity(watched: Watched) -> ObjectId:
    group, _, _ = watched.api_version.rpartition("/")
    return ObjectId(group, watched.kind, watched.namespace, watched.name)


def _is_secret(identity: ObjectId) -> bool:
    return (identity.group, identity.kind) == ("", "Secret")


def _look(watched: Watched) -> Look:
    return looking.at(_identity(watched), {"apiVersion": watched.api_version})


def _condition(asked: ConditionGate) -> Part:
    look, identity = _look(asked.object), _identity(asked.object)
    name = str(identity)

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if found is None:
            return ready.absent(identity, is_served=look not in view.unserved)
        if not status.is_seen(found):
            return Waiting(f"{name}: its controller has not seen the last change")
        condition = status.condition(found, asked.type)
        if text(condition, "status") == asked.status:
            return Passed(f"{name}: {asked.type} is {asked.status}")
        if not condition:
            return Waiting(f"{name} has no condition {asked.type} yet")
        told = status.said(text(condition, "message")) or text(condition, "reason")
        what = f"{name}: {asked.type} is {text(condition, 'status')}, not {asked.status}{f' ({told})' if told else ''}"
        return status.waiting(what, now=view.now, since=status.since(found, asked.type))

    return Part((look,), judge)


def _field(asked: FieldGate) -> Part:
    look, identity = _look(asked.object), _identity(asked.object)
    name = str(identity)
    is_secret = _is_secret(identity)

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if found is None:
            return ready.absent(identity, is_served=look not in view.unserved)
        value = fields.at(found, asked.path)
        if fields.is_equal(value, asked.equals):
            return Passed(f"{name}: {asked.path} is as it must be")
        if value is None:
            return Waiting(f"{name} has no {asked.path} yet")
        if is_secret:  # what it holds is not told
            return Waiting(f"{name}: {asked.path} is not as it must be")
        return Waiting(f"{name}: {asked.path} is {_shown(value)}, not {_shown(asked.equals)}")

    return Part((look,), judge)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return status.said(str(value).lower() if isinstance(value, bool) else str(value))


def _cel(asked: CelGate) -> Part:
    look, identity = _look(asked.object), _identity(asked.object)

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if found is None:
            return ready.absent(identity, is_served=look not in view.unserved)
        return cel.judged(asked.expression, found, str(identity), is_secret=_is_secret(identity))

    return Part((look,), judge)


def _answered(asked: Asked, *, name: str, well: str, otherwise: str) -> Part:
    def judge(view: View) -> Verdict:
        answer = view.answers.get(asked)
        if answer is None:
            return Waiting(f"{name} was not asked yet")
        if answer.is_yes:
            return Passed(f"{name} {well}")
        return Waiting(f"{name} {otherwise}: {answer.said or 'no reason given'}")

    return Part((), judge, (asked,))


# What gates of one's own look at, here a database of CloudNativePG (condition Ready, or status.readyInstances):
#
# apiVersion: postgresql.cnpg.io/v1
# kind: Cluster
# metadata: {name: db, namespace: data, generation: 1}
# status:
#   instances: 3
#   readyInstances: 3
#   phase: Cluster in healthy state
#   conditions:
#   - {type: Ready, status: "True", reason: ClusterIsReady, message: Cluster is Ready,
#      lastTransitionTime: "2026-11-16T06:50:00Z"}
