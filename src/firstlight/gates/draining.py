"""Which pods of a node a drain evicts, which it leaves, and what holds those that do not go."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, number, sequence, text
from firstlight.gates import node_marks, selecting, status
from firstlight.model.draining import Drain, Fate, PodFate
from firstlight.model.verdict import Passed, Verdict, Waiting

_MIRROR = "kubernetes.io/config.mirror"
_OVER = frozenset({"Succeeded", "Failed"})


def fates(pods: Sequence[Mapping[str, Any]], wishes: Drain) -> tuple[PodFate, ...]:
    """What becomes of the pods of a node, in the order of their names."""
    found = [_fate(each, wishes) for each in pods]
    return tuple(sorted(found, key=lambda each: (each.namespace, each.name)))


def _fate(pod: Mapping[str, Any], wishes: Drain) -> PodFate:
    fate, why = _judged(pod, wishes)
    return PodFate(
        namespace=text(pod, "metadata", "namespace"), name=text(pod, "metadata", "name"),
        uid=text(pod, "metadata", "uid"), fate=fate, why=why,
        is_leaving=bool(text(pod, "metadata", "deletionTimestamp")),
    )  # fmt: skip


def _judged(pod: Mapping[str, Any], wishes: Drain) -> tuple[Fate, str]:
    if _MIRROR in mapping(pod, "metadata", "annotations"):
        return Fate.LEAVE, "a static pod of the machine"
    if _is_over(pod):
        return Fate.LEAVE, "it has ended"
    owner = _controller(pod)
    if text(owner, "kind") == "DaemonSet":
        return Fate.LEAVE, "of a DaemonSet"
    if text(pod, "metadata", "deletionTimestamp"):
        return Fate.EVICT, "on its way out"
    lost = []
    if not owner and not wishes.is_forced:
        lost.append("nobody would make it again: it has no controller (--force)")
    scratch = [text(each, "name") for each in sequence(pod, "spec", "volumes") if "emptyDir" in mapping(each)]
    if scratch and not wishes.may_lose_scratch:
        lost.append(f"what is in its emptyDir {', '.join(scratch)} would be lost (--delete-emptydir-data)")
    return (Fate.REFUSE, "; ".join(lost)) if lost else (Fate.EVICT, "")


def owner(pod: Mapping[str, Any]) -> str:
    """Whose a pod is, for people: ``Deployment web``; empty where nobody's."""
    found = _controller(pod)
    kind, name = text(found, "kind"), text(found, "name")
    template = text(pod, "metadata", "labels", "pod-template-hash")
    if kind == "ReplicaSet" and template and name.endswith(f"-{template}"):
        return f"Deployment {name.removesuffix(f'-{template}')}"
    return f"{kind} {name}" if kind else ""


def held(pod: Mapping[str, Any], budgets: Sequence[Mapping[str, Any]], *, said: str = "") -> str:
    """Why a pod does not go now: which budget of whom, and how many it wants.

    Args:
        pod: One whose eviction was refused.
        budgets: The disruption budgets of the cluster.
        said: What the server said, for where no budget explains it.
    """
    name = f"{text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
    whose = f" of {found}" if (found := owner(pod)) else ""
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
    own = [each for each in pods if _judged(each, Drain())[0] is Fate.LEAVE and not _is_over(each)]
    missing = [
        f"{text(each, 'metadata', 'namespace')}/{text(each, 'metadata', 'name')}"
        for each in own
        if text(status.condition(each, "Ready"), "status") != "True"
    ]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return Waiting(f"not ready yet: {', '.join(sorted(missing)[:3])}{more}")
    is_open = "is cordoned" if node_marks.is_cordoned(node) else "takes pods"
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
    return is_all or selecting.matches(selector, mapping(pod, "metadata", "labels"))


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
