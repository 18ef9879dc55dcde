"""A gate made a question: what must be watched and asked, and the function that judges what was seen."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import text
from firstlight.model import argocd_names, flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.observation import AskRequest, GateView, WatchTarget
from firstlight.model.own_gates import OwnGate
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import Apply, Install, Task, Watch


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateQuestion:
    """What a gate needs to see, and its judgement."""

    gate: Gate
    name: str
    """For people: ``workload cert-manager/cert-manager-webhook``."""
    looks: tuple[WatchTarget, ...] = ()
    asks: tuple[AskRequest, ...] = ()
    judge: Callable[[GateView], Verdict] = dataclasses.field(repr=False)
    """Pure. A look that has not been listed yet is not in the view; the judge is called only when all of them are."""
    timeout: float = 600.0
    """Seconds after which a verdict that still waits ends the step."""
    hint: str = ""
    """What to try next when it does not pass in time."""


# Questions that are made of several: each part has its looks and its judgement, and together they are one.


@dataclasses.dataclass(frozen=True, slots=True)
class GatePart:
    """What must be seen for one judgement."""

    looks: tuple[WatchTarget, ...]
    judge: Callable[[GateView], Verdict] = dataclasses.field(repr=False)
    asks: tuple[AskRequest, ...] = ()


def make_question(gate: Gate, name: str, part: GatePart, *, hint: str = "", timeout: float = 600.0) -> GateQuestion:
    """A part made a whole question."""
    return GateQuestion(
        gate=gate, name=name, looks=part.looks, asks=part.asks, judge=part.judge, hint=hint, timeout=timeout
    )


def together(parts: Sequence[GatePart]) -> GatePart:
    """All of them as one, judged at once."""
    return GatePart(
        looks=tuple(dict.fromkeys(look for each in parts for look in each.looks)),
        asks=tuple(dict.fromkeys(asked for each in parts for asked in each.asks)),
        judge=lambda view: worst(each.judge(view) for each in parts),
    )


def in_turn(parts: Sequence[GatePart], *, last: bool = False) -> GatePart:
    """All of them as one; what comes later is not worth a word before what comes first has passed.

    Args:
        parts: In their order.
        last: Whether the last one's reason speaks for all when they have passed.
    """

    def judge(view: GateView) -> Verdict:
        passed = []
        for each in parts:
            verdict = each.judge(view)
            if isinstance(verdict, Waiting | Failed):
                return verdict
            passed.append(verdict)
        return worst(passed[-1:] if last else passed)

    return dataclasses.replace(together(parts), judge=judge)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for several: what failed, else what waits, else everything that passed."""
    every = list(verdicts)
    for kind in (Failed, Waiting):
        if reasons := [each.reason for each in every if isinstance(each, kind)]:
            return kind(_listed(reasons))
    if every and all(isinstance(each, Skipped) for each in every):
        return Skipped(_listed([each.reason for each in every]))
    return Passed(_listed([each.reason for each in every]))


def _listed(reasons: Sequence[str]) -> str:
    told = [*dict.fromkeys(each for each in reasons if each)]
    more = f" and {len(told) - 4} more" if len(told) > 4 else ""
    return ", ".join(told[:4]) + more if all("," not in each for each in told) else "; ".join(told[:4]) + more


# What gates know of a run before they look: the cluster as declared, the commit, and what components deploy.


@dataclasses.dataclass(frozen=True)
class GateContext:
    """The ground that questions are made on."""

    cluster: Cluster
    revision: str
    """The commit that was rendered; empty where it is not known."""
    objects: Mapping[str, tuple[Object, ...]]
    """By the component's name."""
    own: Mapping[str, tuple[OwnGate, ...]] = dataclasses.field(default_factory=dict)
    """The gates that firstlight.yaml declares, by the component's name."""
    bringers: Mapping[str, tuple[ObjectId, ...]] = dataclasses.field(default_factory=dict)
    """The engine's objects that create what declares a component, the nearest first, by the component's name."""
    roots: tuple[ObjectId, ...] = ()
    """What makes the engine follow the repo, where the run does not create it: without it the engine brings nothing."""

    def declared(self, identity: ObjectId, task: Task) -> Mapping[str, Any]:
        """An object as it was rendered; empty if nothing that was rendered has it."""
        everything = (*task_objects(task), *(each for objects in self.objects.values() for each in objects))
        return next((each.value for each in everything if each.id == identity), {})


def gate_objects(gate: Gate, task: Task, ground: GateContext) -> tuple[Object, ...]:
    """What a gate's component deploys, or else what its step does."""
    return ground.objects.get(gate.component) or tuple(task_objects(task))


def task_objects(task: Task) -> Iterator[Object]:
    """The objects that a step deploys itself, or waits for."""
    if isinstance(task, Apply | Install | Watch):
        yield from task.objects


# What to watch, by what an object is called; and in which version a kind is asked for.


NODES = WatchTarget(api_version="v1", kind="Node")
"""All of them; few gates can judge without."""
_VERSIONS = {
    "": "v1",
    "apps": "v1",
    "batch": "v1",
    "discovery.k8s.io": "v1",
    "apiextensions.k8s.io": "v1",
    "admissionregistration.k8s.io": "v1",
    flux_names.KUSTOMIZE_GROUP: "v1",
    flux_names.HELM_GROUP: "v2",
    flux_names.SOURCE_GROUP: "v1",
    flux_names.OPERATOR_GROUP: "v1",
    argocd_names.GROUP: "v1alpha1",
    "cert-manager.io": "v1",
    "external-secrets.io": "v1",
}
"""Asked for where no rendered object says a version."""


def look_at(identity: ObjectId, declared: Mapping[str, Any] | None = None, *, with_content: bool = True) -> WatchTarget:
    """The look at one object; its version is the one that it was rendered with."""
    version = text(declared, "apiVersion")
    if not version:
        found = _VERSIONS.get(identity.group, "v1")
        version = f"{identity.group}/{found}" if identity.group else found
    return WatchTarget(
        api_version=version,
        kind=identity.kind,
        namespace=identity.namespace,
        name=identity.name,
        with_content=with_content,
    )


def short_name(identity: ObjectId) -> str:
    """An object without its kind: ``cert-manager/cert-manager-webhook``."""
    return f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
