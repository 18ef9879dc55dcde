"""Whether kinds can be used: names accepted, established, and served by discovery, which comes a moment later."""

from collections.abc import Mapping
from typing import Any

from firstlight.document import conditions as gates_conditions
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import Ask, AskRequest, GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.work import Task

_GROUP = "apiextensions.k8s.io"


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """All kinds that a component defines."""
    found = [each for each in gate_parts.gate_objects(gate, task, ground) if each.is_crd]
    asked = [crd_part(each.id.name, each.value) for each in found]
    if not asked:
        return None
    hint = "See: kubectl describe crd"
    every = gate_parts.together(asked)

    def judge(view: GateView) -> Verdict:
        verdict = every.judge(view)
        count = f"{len(found)} kind{'s' if len(found) > 1 else ''} served"
        return Passed(count) if isinstance(verdict, Passed) else verdict

    name = f"crds {gate.component}".strip()
    return gate_parts.make_question(gate, name, GatePart(every.looks, judge, every.asks), hint=hint)


def crd_part(name: str, declared: Mapping[str, Any] | None = None, *, usually: str = "") -> GatePart:
    """The question about one definition; whether it is served is asked only where its kinds are known.

    Args:
        name: Of the definition.
        declared: As it is to be, where that is known.
        usually: Why it is not there, where somebody else than bootstrap makes it.
    """
    identity = ObjectId(_GROUP, "CustomResourceDefinition", "", name)
    look = gate_parts.look_at(identity, declared)
    asks = tuple(AskRequest(Ask.SERVED, each) for each in _served(declared))

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return gates_conditions.absent(identity, is_served=True, usually=usually)
        if (verdict := _established(found, name, view.now)) is not None:
            return verdict
        for asked in asks:
            answer = view.answers.get(asked)
            if answer is None or not answer.is_yes:
                kind = asked.of.rpartition("/")[2]
                return Waiting(f"{kind} ({name}) is established, and discovery does not serve {asked.of} yet")
        return Passed(name)

    return GatePart((look,), judge, asks)


def _served(declared: Mapping[str, Any] | None) -> list[str]:
    group, kind = text(declared, "spec", "group"), text(declared, "spec", "names", "kind")
    versions = [text(each, "name") for each in sequence(declared, "spec", "versions") if at(each, "served") is True]
    return [f"{group}/{version}/{kind}" for version in versions if group and kind and version]


def _established(found: Mapping[str, Any], name: str, now: float) -> Verdict | None:
    if gates_conditions.is_going(found):
        since = gates_conditions.moment(text(found, "metadata", "deletionTimestamp"))
        usually = "an object of the kind has a finalizer whose controller does not run"
        return gates_conditions.waiting(f"the CRD {name} is being deleted", now=now, since=since, usually=usually)
    if gates_conditions.is_false(found, "NamesAccepted"):
        accepted = mapping(gates_conditions.condition(found, "NamesAccepted"))
        told = f"{text(accepted, 'reason')}: {gates_conditions.said(text(accepted, 'message'))}"
        return Failed(f"the names of the CRD {name} are taken ({told}): another CRD has them")
    if gates_conditions.is_false(found, "Established"):
        why = text(gates_conditions.condition(found, "Established"), "reason") or "no reason given"
        usually = WHY_STUCK if is_stuck_crd(found, now) else ""
        told = f"the CRD {name} is not established yet ({why})"
        return gates_conditions.waiting(told, now=now, since=gates_conditions.created(found), usually=usually)
    if not gates_conditions.is_true(found, "NamesAccepted") or not gates_conditions.is_true(found, "Established"):
        return gates_conditions.waiting(
            f"the CRD {name} is not established yet", now=now, since=gates_conditions.created(found)
        )
    return None


# A CRD that is ready to be used:
#
# status:
#   acceptedNames: {kind: CiliumNode, listKind: CiliumNodeList, plural: ciliumnodes, singular: ciliumnode}
#   conditions:
#   - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found,
#      lastTransitionTime: "2026-11-16T06:38:40Z"}
#   - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted,
#      lastTransitionTime: "2026-11-16T06:38:40Z"}
#   storedVersions: [v2]


# CRDs stuck in Installing: their names are accepted, and the API server does not go on to establish them.
#
# The API server establishes a CRD when it sees it change, and keeps the queue for that in memory. If it dies between
# the two, the CRD is not new to the next one and does not change any more. Only the resync of its informers, every
# five minutes, comes to it by chance. Any write to the CRD gets it established at once.
#
# See customresource_handler.go and establishing_controller.go of k8s.io/apiextensions-apiserver (1.36.4): only the
# handler of updates queues a CRD; the handler of additions, which is all that a restarted API server calls, does not.


LONGEST_INSTALLING = 10.0
"""Seconds that a healthy API server may take: with others beside it, it waits five before it establishes a CRD."""
WHY_STUCK = "the API server was restarted before it finished installing it"
_INSTALLING = "Installing"


def is_installing(crd: Mapping[str, Any]) -> bool:
    """Whether a CRD waits for nothing but the API server, for a moment or for minutes."""
    return (
        not gates_conditions.is_going(crd)
        and gates_conditions.is_true(crd, "NamesAccepted")
        and gates_conditions.is_false(crd, "Established")
        # Others need more than a push: InvalidCABundle, NotAccepted.
        and text(gates_conditions.condition(crd, "Established"), "reason") == _INSTALLING
    )


def is_stuck_crd(crd: Mapping[str, Any], now: float) -> bool:
    """Whether it has been so for longer than a healthy API server needs, as far as clocks agree."""
    since = gates_conditions.condition_since(crd, "Established")
    return is_installing(crd) and since is not None and now - since > LONGEST_INSTALLING


def wake_patch(crd: Mapping[str, Any], now: float) -> list[dict[str, str]]:
    """A JSON patch of its status that makes the API server look at it again, and is undone by that.

    It writes the message of the condition that the API server writes next, so that the API server owns all of it
    again: neither a field nor a manager of the patch is left. The time makes every patch another one, since a write
    that changes nothing is not seen.
    """
    conditions = [text(each, "type") for each in sequence(crd, "status", "conditions")]
    path = f"/status/conditions/{conditions.index('Established')}"
    return [
        {"op": "test", "path": f"{path}/type", "value": "Established"},
        {"op": "test", "path": f"{path}/reason", "value": _INSTALLING},
        {"op": "replace", "path": f"{path}/message", "value": f"woken at {gates_conditions.clock(now, now)}"},
    ]


# A CRD that was created just before the API server was killed:
#
# status:
#   conditions:
#   - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found,
#      lastTransitionTime: "2026-11-18T13:24:07Z"}
#   - {type: Established, status: "False", reason: Installing, message: the initial names have been accepted,
#      lastTransitionTime: "2026-11-18T13:24:07Z"}
