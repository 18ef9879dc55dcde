"""Whether kinds can be used: names accepted, established, and served by discovery, which comes a moment later."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import ground as grounds
from firstlight.gates import looking, parts, ready, status, stuck_crds
from firstlight.gates.ground import GateGround
from firstlight.gates.parts import Part
from firstlight.gates.question import Question
from firstlight.model.component import ObjectId
from firstlight.model.observation import Ask, Asked, View
from firstlight.model.plan import Gate
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.work import Task

_GROUP = "apiextensions.k8s.io"


def question(gate: Gate, task: Task, ground: GateGround) -> Question | None:
    """All kinds that a component defines."""
    found = [each for each in grounds.objects(gate, task, ground) if each.is_crd]
    asked = [of(each.id.name, each.value) for each in found]
    if not asked:
        return None
    hint = "See: kubectl describe crd"
    every = parts.together(asked)

    def judge(view: View) -> Verdict:
        verdict = every.judge(view)
        count = f"{len(found)} kind{'s' if len(found) > 1 else ''} served"
        return Passed(count) if isinstance(verdict, Passed) else verdict

    name = f"crds {gate.component}".strip()
    return parts.question(gate, name, Part(every.looks, judge, every.asks), hint=hint)


def of(name: str, declared: Mapping[str, Any] | None = None, *, usually: str = "") -> Part:
    """The question about one definition; whether it is served is asked only where its kinds are known.

    Args:
        name: Of the definition.
        declared: As it is to be, where that is known.
        usually: Why it is not there, where somebody else than bootstrap makes it.
    """
    identity = ObjectId(_GROUP, "CustomResourceDefinition", "", name)
    look = looking.at(identity, declared)
    asks = tuple(Asked(Ask.SERVED, each) for each in _served(declared))

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if found is None:
            return ready.absent(identity, is_served=True, usually=usually)
        if (verdict := _established(found, name, view.now)) is not None:
            return verdict
        for asked in asks:
            answer = view.answers.get(asked)
            if answer is None or not answer.is_yes:
                kind = asked.of.rpartition("/")[2]
                return Waiting(f"{kind} ({name}) is established, and discovery does not serve {asked.of} yet")
        return Passed(name)

    return Part((look,), judge, asks)


def _served(declared: Mapping[str, Any] | None) -> list[str]:
    group, kind = text(declared, "spec", "group"), text(declared, "spec", "names", "kind")
    versions = [text(each, "name") for each in sequence(declared, "spec", "versions") if at(each, "served") is True]
    return [f"{group}/{version}/{kind}" for version in versions if group and kind and version]


def _established(found: Mapping[str, Any], name: str, now: float) -> Verdict | None:
    if status.is_going(found):
        since = status.moment(text(found, "metadata", "deletionTimestamp"))
        usually = "an object of the kind has a finalizer whose controller does not run"
        return status.waiting(f"the CRD {name} is being deleted", now=now, since=since, usually=usually)
    if status.is_false(found, "NamesAccepted"):
        accepted = mapping(status.condition(found, "NamesAccepted"))
        told = f"{text(accepted, 'reason')}: {status.said(text(accepted, 'message'))}"
        return Failed(f"the names of the CRD {name} are taken ({told}): another CRD has them")
    if status.is_false(found, "Established"):
        why = text(status.condition(found, "Established"), "reason") or "no reason given"
        usually = stuck_crds.WHY if stuck_crds.is_stuck(found, now) else ""
        told = f"the CRD {name} is not established yet ({why})"
        return status.waiting(told, now=now, since=status.created(found), usually=usually)
    if not status.is_true(found, "NamesAccepted") or not status.is_true(found, "Established"):
        return status.waiting(f"the CRD {name} is not established yet", now=now, since=status.created(found))
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
