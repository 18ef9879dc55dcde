"""Which pods of a node a drain evicts, which it leaves, and what holds those that do not go."""

import dataclasses
import enum
import json
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import mapping, number, sequence, text
from firstlight.gates import label_selector
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.verdict import Passed, Verdict, Waiting

# What becomes of a node while its machine is worked on: the mark on it, its pods, and what stands in the way.


MAINTENANCE_MARK = "firstlight.dev/maintenance"
"""On a Node that firstlight works on: a Mark, so that whoever runs next goes on where this one was killed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceMark:
    """What was true of a node when firstlight began to work on it."""

    command: str
    """Who began: ``node maintain``."""
    boot: str
    """The boot that the machine lived in; another one now means that it has rebooted."""
    is_ours: bool
    """Whether firstlight has cordoned it; a node that was cordoned before stays so."""


class DrainFate(enum.StrEnum):
    """What a drain does with a pod."""

    EVICT = "evict"
    LEAVE = "leave"
    """It belongs to the node, or is over."""
    REFUSE = "refuse"
    """Something would be lost that nobody has agreed to."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PodFate:
    """One pod of a node."""

    namespace: str
    name: str
    uid: str
    fate: DrainFate
    why: str = ""
    is_leaving: bool = False
    """Whether it is on its way out already."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrainOptions:
    """What a drain may do, and how long it may take."""

    may_lose_scratch: bool = False
    """Whether pods may go whose emptyDir volumes hold data."""
    is_forced: bool = False
    """Whether pods may go that nobody will make again."""
    patience: float = 900.0
    """Seconds for budgets to let pods go, and for pods to end."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceForecast:
    """What maintaining a machine would mean."""

    machine: str
    node: str
    pods: tuple[PodFate, ...]
    concerns: tuple[Diagnostic, ...]
    """What happens to storage: an error where the last healthy copy of something would go, a warning where a person
    must agree."""
    etcd: Verdict | None
    """Whether etcd can do without it; of control planes only."""
    is_cordoned: bool
    begun: str
    """The command that has begun and not ended it; empty where none has."""


_MIRROR = "kubernetes.io/config.mirror"
_OVER = frozenset({"Succeeded", "Failed"})


def fates(pods: Sequence[Mapping[str, Any]], wishes: DrainOptions) -> tuple[PodFate, ...]:
    """What becomes of the pods of a node, in the order of their names."""
    found = [_fate(each, wishes) for each in pods]
    return tuple(sorted(found, key=lambda each: (each.namespace, each.name)))


def _fate(pod: Mapping[str, Any], wishes: DrainOptions) -> PodFate:
    fate, why = _judged(pod, wishes)
    return PodFate(
        namespace=text(pod, "metadata", "namespace"), name=text(pod, "metadata", "name"),
        uid=text(pod, "metadata", "uid"), fate=fate, why=why,
        is_leaving=bool(text(pod, "metadata", "deletionTimestamp")),
    )  # fmt: skip


def _judged(pod: Mapping[str, Any], wishes: DrainOptions) -> tuple[DrainFate, str]:
    if _MIRROR in mapping(pod, "metadata", "annotations"):
        return DrainFate.LEAVE, "a static pod of the machine"
    if _is_over(pod):
        return DrainFate.LEAVE, "it has ended"
    owner = _controller(pod)
    if text(owner, "kind") == "DaemonSet":
        return DrainFate.LEAVE, "of a DaemonSet"
    if text(pod, "metadata", "deletionTimestamp"):
        return DrainFate.EVICT, "on its way out"
    lost = []
    if not owner and not wishes.is_forced:
        lost.append("nobody would make it again: it has no controller (--force)")
    scratch = [text(each, "name") for each in sequence(pod, "spec", "volumes") if "emptyDir" in mapping(each)]
    if scratch and not wishes.may_lose_scratch:
        lost.append(f"what is in its emptyDir {', '.join(scratch)} would be lost (--delete-emptydir-data)")
    return (DrainFate.REFUSE, "; ".join(lost)) if lost else (DrainFate.EVICT, "")


def pod_owner(pod: Mapping[str, Any]) -> str:
    """Whose a pod is, for people: ``Deployment web``; empty where nobody's."""
    found = _controller(pod)
    kind, name = text(found, "kind"), text(found, "name")
    template = text(pod, "metadata", "labels", "pod-template-hash")
    if kind == "ReplicaSet" and template and name.endswith(f"-{template}"):
        return f"Deployment {name.removesuffix(f'-{template}')}"
    return f"{kind} {name}" if kind else ""


def held_reason(pod: Mapping[str, Any], budgets: Sequence[Mapping[str, Any]], *, said: str = "") -> str:
    """Why a pod does not go now: which budget of whom, and how many it wants.

    Args:
        pod: One whose eviction was refused.
        budgets: The disruption budgets of the cluster.
        said: What the server said, for where no budget explains it.
    """
    name = f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
    whose = f" of {found}" if (found := pod_owner(pod)) else ""
    mine = [each for each in budgets if _covers(each, pod)]
    if len(mine) > 1:
        names = ", ".join(_name(each) for each in mine)
        return f"{name}{whose} has several budgets, which nobody can evict: {names}"
    strict = [each for each in mine if number(each, "status", "disruptionsAllowed") < 1]
    if not strict:
        return f"{name}{whose}: {said or 'the server asks to wait'}"
    return f"{name}{whose} is held by the budget {_name(strict[0])} ({_wants(strict[0])})"


def is_stuck(pod: Mapping[str, Any], budgets: Sequence[Mapping[str, Any]]) -> bool:
    """Whether waiting does not help: the API evicts no pod that several budgets cover."""
    return sum(_covers(each, pod) for each in budgets) > 1


def settled(node: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> Verdict:
    """Whether what belongs to a node runs on it: its static pods, and those of DaemonSets.

    Args:
        node: The node, given back.
        pods: Those on it.
    """
    own = [each for each in pods if _judged(each, DrainOptions())[0] is DrainFate.LEAVE and not _is_over(each)]
    missing = [
        f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"
        for each in own
        if text(conditions.condition(each, "Ready"), "status") != "True"
    ]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return Waiting(f"not ready yet: {', '.join(sorted(missing)[:3])}{more}")
    is_open = "is cordoned" if is_cordoned(node) else "takes pods"
    many = "its own pod is" if len(own) == 1 else f"its {len(own)} own pods are"
    return Passed(f"{text(node, 'metadata', 'name')} {is_open}; {many} ready")


def _is_over(pod: Mapping[str, Any]) -> bool:
    return text(pod, "status", "phase") in _OVER


def _wants(budget: Mapping[str, Any]) -> str:
    wanted, healthy = number(budget, "status", "desiredHealthy"), number(budget, "status", "currentHealthy")
    expected = number(budget, "status", "expectedPods")
    if wanted and wanted >= expected:
        return f"wants {wanted} of {expected} healthy, and so never lets one go"
    return f"wants {wanted} healthy, has {healthy}"


def _covers(budget: Mapping[str, Any], pod: Mapping[str, Any]) -> bool:
    if text(budget, "metadata", "namespace") != text(pod, "metadata", "namespace"):
        return False
    selector = mapping(budget, "spec").get("selector")
    if selector is None:
        return False
    is_all = not mapping(selector, "matchLabels") and not sequence(selector, "matchExpressions")
    return is_all or label_selector.matches(selector, mapping(pod, "metadata", "labels"))


def _name(budget: Mapping[str, Any]) -> str:
    return f"{text(budget, 'metadata', 'namespace')}/{text(budget, 'metadata', 'name')}"


def _controller(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    for each in sequence(pod, "metadata", "ownerReferences"):
        if isinstance(each, Mapping) and each.get("controller") is True:
            return each
    return {}


# A budget that lets nobody go now:
#
# status:
#   conditions: [{type: DisruptionAllowed, status: "False", reason: InsufficientPods}]
#   currentHealthy: 1
#   desiredHealthy: 1
#   disruptionsAllowed: 0
#   expectedPods: 1


# The mark that firstlight leaves on a node that it works on, as an annotation has it.


def mark_of(node: Mapping[str, Any]) -> MaintenanceMark | None:
    """The mark on a node; None where there is none, or none that can be read."""
    try:
        said = json.loads(text(node, "metadata", "annotations", MAINTENANCE_MARK) or "null")
    except ValueError:
        return None
    if not isinstance(said, Mapping):
        return None
    return MaintenanceMark(command=text(said, "command"), boot=text(said, "boot"), is_ours=said.get("cordoned") is True)


def written_mark(mark: MaintenanceMark) -> str:
    """The annotation's value."""
    return json.dumps({"command": mark.command, "boot": mark.boot, "cordoned": mark.is_ours})


def is_cordoned(node: Mapping[str, Any]) -> bool:
    """Whether nothing new is scheduled on a node."""
    spec = node.get("spec")
    return isinstance(spec, Mapping) and spec.get("unschedulable") is True


def boot_id(node: Mapping[str, Any]) -> str:
    """The boot that a node lives in, as its kubelet tells."""
    return text(node, "status", "nodeInfo", "bootID")


# A node in maintenance:
#
# metadata:
#   annotations:
#     firstlight.dev/maintenance: '{"command": "node maintain", "boot": "7b0f4d3c-…", "cordoned": true}'
# spec:
#   unschedulable: true
