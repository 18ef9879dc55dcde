"""What was seen of an object after a handover: itself, and what the server answered to applies as the engine."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from firstlight.model.certificate import CertificateClaim, ClaimProof
from firstlight.model.component import ObjectId
from firstlight.model.handover import ObjectSeen, Passing, PodSeen
from firstlight.ownership.field_set import FieldSet, Path


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApplyAttempt:
    """What the server answered to an apply that was only tried."""

    after: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The object as it would be; None where the server would not."""
    is_same: bool = False
    changed: tuple[str, ...] = ()
    """Paths of fields that would change."""
    refusal: str = ""
    """Why the server would not take it."""
    is_possible: bool = True
    """False where it cannot be tried at all, such as for a webhook that does not take dry runs."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What a repeated apply did."""

    before: str
    after: str
    """Resource versions; equal where nothing was written."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """What became of a field that was left out, in a dry run."""

    path: Path
    is_gone: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HandoverEvidence:
    """Everything that was seen of one object."""

    passing: Passing
    id: ObjectId
    """With the namespace that it is in."""
    live: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    has_holder: bool = True
    """Whether the engine's object that is to have it is there."""
    fault: str = ""
    """Why that one does not work on what it has: suspended, failing, being deleted; empty if it does."""
    is_listed: bool | None = None
    """Whether that one lists it as its own; None where it keeps no list."""
    fields: FieldSet = dataclasses.field(default_factory=FieldSet)
    """What Git has, with the marks of the engine, as the server sees it."""
    extra: FieldSet = dataclasses.field(default_factory=FieldSet)
    """What the engine adds by itself, and would stay as it is if it did not."""
    attempt: ApplyAttempt | None = None
    repetition: Repetition | None = None
    omission: Omission | None = None
    is_client_side: bool = False
    """Whether Helm or Argo CD wrote it without server-side apply."""
    left: tuple[str, ...] = ()
    """Fields that Git has and a controller is meant to write: they were left out of what was tried."""
    restless: str = ""
    """Why nothing could be told: somebody writes it all the time."""


# Whether what makes pods makes the same ones as before: template, ReplicaSet or ControllerRevision, the pods.


_LASTING = frozenset({"Deployment", "DaemonSet", "StatefulSet", "ReplicaSet"})
"""What keeps pods; those of Jobs end by themselves."""
_SCALED = "scale"
_SHOWN = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PodProofs:
    """All pods of a cluster before and after, and the nodes that are there."""

    before: Sequence[PodSeen]
    after: Sequence[PodSeen]
    nodes: Collection[str]


def prove_same_pods(
    before: ObjectSeen | None, after: ObjectSeen, pods: PodProofs, *, replicas: int | None = None
) -> tuple[ClaimProof, ...]:
    """The claims about what makes pods; none for what does not.

    Args:
        before: The object in the baseline; None if that does not name it.
        after: As it is now.
        pods: Before and after.
        replicas: How many it is to have, where Git does not say so: then somebody else may scale it.
    """
    if not after.template:
        return ()
    if before is None or not before.uid:
        why = "it was not there when the baseline was saved"
        return (ClaimProof(claim=CertificateClaim.SAME_TEMPLATE, holds=True, is_tried=False, says=why),)
    template = ClaimProof(
        claim=CertificateClaim.SAME_TEMPLATE, holds=before.template == after.template, says=after.template
    )
    if not template.holds:
        template = dataclasses.replace(template, says=f"it is {after.template}, and was {before.template}")
    if after.kind not in _LASTING:
        return (template,)
    then, now = _of(before, pods.before), _of(after, pods.after)
    return (
        template,
        _revision(then, now),
        _pods(then, now, pods.nodes, is_scaled=_is_scaled(after) or replicas == len(now)),
    )


def _of(workload: ObjectSeen, pods: Iterable[PodSeen]) -> list[PodSeen]:
    return [each for each in pods if each.namespace == workload.namespace and _maker(each) == _name(workload)]


def _name(workload: ObjectSeen) -> tuple[str, str]:
    return workload.kind, workload.name


def _maker(pod: PodSeen) -> tuple[str, str]:
    """What makes a pod in the end: a ReplicaSet is named after its Deployment and the hash of its template."""
    kind, _, name = pod.owner.partition("/")
    if kind == "ReplicaSet" and pod.revision and name.endswith(f"-{pod.revision}"):
        return "Deployment", name.removesuffix(f"-{pod.revision}")
    return kind, name


def _revision(then: Sequence[PodSeen], now: Sequence[PodSeen]) -> ClaimProof:
    claim = CertificateClaim.SAME_REVISION
    known = {each.revision for each in then if each.revision}
    if not known:
        return ClaimProof(claim=claim, holds=True, is_tried=False, says="it had no pods when the baseline was saved")
    fresh = sorted({each.revision for each in now if each.revision} - known)
    if fresh:
        return ClaimProof(
            claim=claim, holds=False, says=f"it is {', '.join(fresh)}, and was {', '.join(sorted(known))}"
        )
    return ClaimProof(claim=claim, holds=True, says=", ".join(sorted(known)))


def _pods(then: Sequence[PodSeen], now: Sequence[PodSeen], nodes: Collection[str], *, is_scaled: bool) -> ClaimProof:
    claim = CertificateClaim.SAME_PODS
    if not then:
        return ClaimProof(claim=claim, holds=True, is_tried=False, says="it had no pods when the baseline was saved")
    there = {each.uid: each for each in now}
    gone = [each for each in then if each.uid not in there]
    bad = [
        f"pod {each.name} was restarted {there[each.uid].restarts - each.restarts} times"
        for each in then
        if each.uid in there and there[each.uid].restarts > each.restarts
    ]
    fresh = [each for each in now if each.uid not in {one.uid for one in then}]
    lost = [each for each in gone if each.node and each.node not in nodes]
    scaled = [each for each in gone if each not in lost] if is_scaled and not fresh else []
    bad += [f"pod {each.name} is not there any more" for each in gone if each not in lost and each not in scaled]
    if bad:
        more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        return ClaimProof(claim=claim, holds=False, says=", ".join(bad[:_SHOWN]) + more)
    told = [f"{len(then) - len(gone)} of {len(then)}"]
    told += [f"{each.name} went with its node {each.node}" for each in lost[:_SHOWN]]
    told += [f"an autoscaler took {len(scaled)} away"] if scaled else []
    told += [f"{len(fresh)} came since"] if fresh else []
    return ClaimProof(claim=claim, holds=True, says=", ".join(told))


def _is_scaled(workload: ObjectSeen) -> bool:
    """Whether somebody wrote its scale; who scales it to nothing leaves no such trace."""
    return any(each.subresource == _SCALED for each in workload.owners)
