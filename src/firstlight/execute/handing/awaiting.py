"""Waits until an engine has taken over what it is to own, by its own word: reconciled, and everything is in its list.

Watched, and not for ever: what does not come is then a claim that fails, with the reason.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import text
from firstlight.execute.world import World
from firstlight.gates import argocd, flux, parts, ready, status
from firstlight.gates.parts import Part
from firstlight.gates.question import Question
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.observation import Look, View
from firstlight.model.owner import ObjectOwner
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.ownership import listing

_READY = frozenset({"Kustomization", "HelmRelease"})
"""What says by a condition whether all is well."""
TIMEOUT = 300.0
"""Seconds: the commit has been waited for before; what is left is the engine's next round."""


async def settled(passing: Sequence[Passing], world: World, *, step: str = "", timeout: float | None = None) -> Verdict:
    """Wait until every owner is done and lists what is to be its own.

    Args:
        passing: What the engine is to own.
        world: The run.
        step: Who is told what is waited for.
        timeout: Seconds; TIMEOUT if it is not given.
    """
    owners = sorted({each.owner for each in passing})
    asked = [_part(each, [one for one in passing if one.owner == each]) for each in owners]
    question = Question(
        gate=Gate(Subject.CERTIFICATE), name="owners", timeout=TIMEOUT if timeout is None else timeout,
        looks=parts.together(asked).looks, judge=lambda view: parts.worst(each.judge(view) for each in asked),
    )  # fmt: skip
    return await world.watching.wait(
        question, on_verdict=lambda each: _tell(each, world, step)
    )  # fmt: skip


def fault(holder: Mapping[str, Any], *, now: float) -> str:
    """Why an engine's object does not work on what it has; empty if it does, or if it is just about to.

    Args:
        holder: As it is now.
        now: Seconds since the epoch.
    """
    name = str(ObjectId.of(holder))
    if (resting := flux.suspended(holder, name)) is not None:
        return resting.reason
    if holder.get("kind") == "Application":
        verdict = argocd.application(holder, name, expected="", url="", now=now)
        is_at_work = text(holder, "status", "operationState", "phase") == "Running"
        is_starting = text(holder, "status", "health", "status") == "Progressing"
        is_fine = isinstance(verdict, Passed) or is_at_work or is_starting
        return "" if is_fine and not status.is_going(holder) else verdict.reason
    is_bad = status.is_going(holder) or status.is_true(holder, "Stalled") or status.is_false(holder, "Ready")
    # Between two rounds it is ready or not; while it works it is neither.
    is_silent = holder.get("kind") in _READY and not status.condition(holder, "Ready")
    return ready.judged(holder, name, now=now, expected=("Ready",)).reason if is_bad or is_silent else ""


def _tell(verdict: Verdict, world: World, step: str) -> None:
    if step and isinstance(verdict, Waiting):
        world.tell(step, f"waits for the engine: {verdict.reason}")


def _part(owner: ObjectOwner, mine: Sequence[Passing]) -> Part:
    id = listing.holder_of(owner)
    if id is None:
        return Part((), lambda view: Skipped(f"{owner} keeps no list"))
    look = Look(api_version=listing.api_version(id), kind=id.kind, namespace=id.namespace, name=id.name)
    is_kustomization = id.kind == "Kustomization"

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if found is None:
            return ready.absent(id, is_served=look not in view.unserved)
        name = str(id)
        verdict: Verdict = Passed(name)
        if (resting := flux.suspended(found, name)) is not None:
            return Failed(resting.reason)
        match id.kind:
            case "Kustomization":
                sources = view.all(flux.GIT)
                verdict = flux.kustomization(found, name, expected="", url="", sources=sources, now=view.now)
            case "HelmRelease":
                verdict = flux.helm_release(found, name, now=view.now)
            case "Application":
                verdict = argocd.application(found, name, expected="", url="", now=view.now)
        if not isinstance(verdict, Passed):
            return verdict
        listed = listing.objects_of(found)
        names = {(each.group, each.kind, each.name) for each in listed or ()}
        left = [each.id for each in mine if (each.id.group, each.id.kind, each.id.name) not in names]
        if listed is not None and left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            return Waiting(f"{name} does not list {left[0]}{more}")
        return verdict

    return Part((look, flux.GIT) if is_kustomization else (look,), judge)
