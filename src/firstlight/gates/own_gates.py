"""Gates that firstlight.yaml declares: a condition, a field, an expression, a URL, a command."""

import importlib
import re
from collections.abc import Mapping
from typing import Any, assert_never

from firstlight.document import conditions
from firstlight.document.within import text
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import Ask, AskRequest, GateView, WatchTarget
from firstlight.model.own_gates import CelGate, CommandGate, ConditionGate, FieldGate, HttpGate, OwnGate, WatchedObject
from firstlight.model.plan import Gate
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The declared gate that the gate counts to."""
    declared = ground.own.get(gate.component, ())
    if not 0 <= gate.number < len(declared):
        return None
    asked = declared[gate.number]
    hint = f"The gate is declared at {asked.place}."
    return gate_parts.make_question(
        gate, f"own gate {gate.number + 1} of {gate.component}", _part(asked, gate), hint=hint
    )


def _part(asked: OwnGate, gate: Gate) -> GatePart:
    match asked:
        case ConditionGate():
            return _condition(asked)
        case FieldGate():
            return _field(asked)
        case CelGate():
            return _cel(asked)
        case HttpGate():
            expected = {"status": asked.status, "timeout": asked.timeout}
            http = AskRequest(Ask.HTTP, asked.url, expected)
            return _answered(http, name=asked.url, well="answers", otherwise="does not answer as it must")
        case CommandGate():
            words = {"run": list(asked.run), "timeout": asked.timeout}
            command = AskRequest(Ask.COMMAND, f"{gate.component}/{gate.number + 1}", words)
            return _answered(command, name=asked.run[0], well="ended well", otherwise="does not end well")
        case _:
            assert_never(asked)


def _identity(watched: WatchedObject) -> ObjectId:
    group, _, _ = watched.api_version.rpartition("/")
    return ObjectId(group, watched.kind, watched.namespace, watched.name)


def _is_secret(identity: ObjectId) -> bool:
    return (identity.group, identity.kind) == ("", "Secret")


def _look(watched: WatchedObject) -> WatchTarget:
    return gate_parts.look_at(_identity(watched), {"apiVersion": watched.api_version})


def _condition(asked: ConditionGate) -> GatePart:
    look, identity = _look(asked.object), _identity(asked.object)
    name = str(identity)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(identity, is_served=look not in view.unserved)
        if not conditions.is_seen(found):
            return Waiting(f"{name}: its controller has not seen the last change")
        condition = conditions.condition(found, asked.type)
        if text(condition, "status") == asked.status:
            return Passed(f"{name}: {asked.type} is {asked.status}")
        if not condition:
            return Waiting(f"{name} has no condition {asked.type} yet")
        told = conditions.said(text(condition, "message")) or text(condition, "reason")
        what = f"{name}: {asked.type} is {text(condition, 'status')}, not {asked.status}{f' ({told})' if told else ''}"
        return conditions.waiting(what, now=view.now, since=conditions.condition_since(found, asked.type))

    return GatePart((look,), judge)


def _field(asked: FieldGate) -> GatePart:
    look, identity = _look(asked.object), _identity(asked.object)
    name = str(identity)
    is_secret = _is_secret(identity)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(identity, is_served=look not in view.unserved)
        value = field_at(found, asked.path)
        if is_equal(value, asked.equals):
            return Passed(f"{name}: {asked.path} is as it must be")
        if value is None:
            return Waiting(f"{name} has no {asked.path} yet")
        if is_secret:  # what it holds is not told
            return Waiting(f"{name}: {asked.path} is not as it must be")
        return Waiting(f"{name}: {asked.path} is {_shown(value)}, not {_shown(asked.equals)}")

    return GatePart((look,), judge)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return conditions.said(str(value).lower() if isinstance(value, bool) else str(value))


def _cel(asked: CelGate) -> GatePart:
    look, identity = _look(asked.object), _identity(asked.object)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(identity, is_served=look not in view.unserved)
        return judged_by_cel(asked.expression, found, str(identity), is_secret=_is_secret(identity))

    return GatePart((look,), judge)


def _answered(asked: AskRequest, *, name: str, well: str, otherwise: str) -> GatePart:
    def judge(view: GateView) -> Verdict:
        answer = view.answers.get(asked)
        if answer is None:
            return Waiting(f"{name} was not asked yet")
        if answer.is_yes:
            return Passed(f"{name} {well}")
        return Waiting(f"{name} {otherwise}: {answer.said or 'no reason given'}")

    return GatePart((), judge, (asked,))


# Expressions in CEL, the language of Kubernetes' own rules; the library for it is an optional extra.


_MISSING = "install firstlight with it: pip install 'firstlight[cel]'"


def judged_by_cel(expression: str, found: Mapping[str, Any], name: str, *, is_secret: bool = False) -> Verdict:
    """The verdict of an expression over an object; of a Secret nothing is told that the library says."""
    try:
        celpy = importlib.import_module("celpy")  # no stubs, and mostly not there
    except ImportError:
        return Failed(f"{name}: gates in CEL need the library cel-python, which is not there: {_MISSING}")
    try:
        environment = celpy.Environment()
        program = environment.program(environment.compile(expression))
    except Exception as error:  # noqa: BLE001  # the library raises errors of its parser's as well
        return Failed(f"{name}: {conditions.said(expression)} is no CEL: {conditions.said(str(error))}")
    try:
        answer = program.evaluate({"object": celpy.json_to_cel(dict(found))})
    except Exception as error:  # noqa: BLE001  # a field that is not there yet is an error in CEL
        # Errors of operators show what they were given.
        why = "" if is_secret else f": {conditions.said(str(error))}"
        return Waiting(f"{name}: {conditions.said(expression)} has no answer yet{why}")
    if bool(answer) is True:
        return Passed(f"{name}: {conditions.said(expression)}")
    return Waiting(f"{name}: {conditions.said(expression)} is not true yet")


# Paths into objects, as people write them: ``status.members[0].state``, ``metadata.labels['example.org/name']``.


_STEP = re.compile(
    r"""\.?(?P<key>[A-Za-z0-9_/-]+)|\[(?P<index>[0-9]{1,6})\]|\[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]"""
)


def field_steps(path: str) -> tuple[str | int, ...] | None:
    """The steps of a path; None if it is no path."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at > 0 and step["key"] is not None and path[at] != "."):
            return None
        index = step["index"]
        found.append(int(index) if index is not None else step["key"] or step["quoted"])
        at = step.end()
    return tuple(found) or None


def field_at(value: Any, path: str) -> Any:
    """The value at a path; None where there is none."""
    for step in field_steps(path) or ():
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def is_equal(value: Any, wanted: Any) -> bool:
    """Whether a value is the one that is wanted; true is not 1."""
    if isinstance(value, bool) != isinstance(wanted, bool):
        return False
    return bool(value == wanted)


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
