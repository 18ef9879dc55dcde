"""How exposed objects are, and what a change adds to it: rights of pods, of accounts and of networks."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.rendition import Object
from firstlight.plan import pods
from firstlight.policy.checking import note, rbac
from firstlight.policy.checking.note import Note
from firstlight.policy.checking.pair import Pair

_LEVELS = ("privileged", "baseline", "restricted")
_ENFORCE = "pod-security.kubernetes.io/enforce"
_HOST = {"hostNetwork": "the node's network", "hostPID": "the node's processes", "hostIPC": "the node's memory"}
_HARMLESS = frozenset({"NET_BIND_SERVICE"})
_POLICIES = {
    ("networking.k8s.io", "NetworkPolicy"), ("cilium.io", "CiliumNetworkPolicy"),
    ("cilium.io", "CiliumClusterwideNetworkPolicy"), ("crd.projectcalico.org", "NetworkPolicy"),
    ("crd.projectcalico.org", "GlobalNetworkPolicy"), ("policy.networking.k8s.io", "AdminNetworkPolicy"),
    ("policy.networking.k8s.io", "BaselineAdminNetworkPolicy"), ("kyverno.io", "ClusterPolicy"),
    ("kyverno.io", "Policy"), ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
}  # fmt: skip
"""What forbids something; without it more is allowed."""
_ALLOWED = "see that it allows no more than is needed"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Exposure:
    """One thing that makes an object more dangerous."""

    what: str
    """``container web is privileged``."""
    is_grave: bool = True
    """Whether it leads out of the container, and not only to what the pod itself has."""


def of_object(value: Mapping[str, Any] | None) -> frozenset[Exposure]:
    """How an object that makes pods, or a Service, is exposed."""
    if value is None:
        return frozenset()
    item = Object(value)
    if item.id.kind == "Service" and item.id.group == "":
        return frozenset(_of_service(value))
    return frozenset(_of_pod(mapping(pods.template(item), "spec"))) if pods.makes_pods(item) else frozenset()


def added(pair: Pair) -> list[Note]:
    """What an object exposes that it did not expose before."""
    notes = [_told(pair, each) for each in sorted(of_object(pair.after) - of_object(pair.before))]
    todo = "see that it needs them, or give it less"
    notes += [note.failed(each, todo=todo, place=pair.place) for each in rbac.widened(pair)]
    is_policy = (pair.id.group, pair.id.kind) in _POLICIES
    if is_policy and pair.before is not None and pair.after is not None:
        notes.append(note.person(f"{pair} is another policy than before", todo=_ALLOWED, place=pair.place))
    if is_policy and pair.is_gone:
        says = f"{pair} is removed, and allows what it forbade"
        notes.append(note.failed(says, todo="see what protects the same from now on", place=pair.place))
    if lowered := _lowered(pair):
        notes.append(note.failed(lowered, todo="keep the level, and exempt the one that needs more", place=pair.place))
    return notes


def live_only(declared: Pair, live: Mapping[str, Any]) -> list[Note]:
    """What a live object exposes that Git has neither before nor after.

    Args:
        declared: As Git has it.
        live: As it is.
    """
    known = of_object(declared.before) | of_object(declared.after)
    return [
        note.failed(f"{declared} as it is: {each.what}, which Git does not say", todo="see firstlight owners and drift")
        for each in sorted(of_object(live) - known)
        if each.is_grave
    ]


def _told(pair: Pair, exposure: Exposure) -> Note:
    says = f"{pair}: {exposure.what}"
    if exposure.is_grave:
        return note.failed(says, todo="see that it needs this, or take it away", place=pair.place)
    return note.person(says, todo="see that it needs this", place=pair.place)


def _of_pod(spec: Mapping[str, Any]) -> Iterator[Exposure]:
    for key, what in _HOST.items():
        if at(spec, key) is True:
            yield Exposure(f"its pods use {what} ({key})")
    for volume in sequence(spec, "volumes"):
        if path := text(volume, "hostPath", "path"):
            yield Exposure(f"its pods see {path} of the node (hostPath)")
    pod_user = at(spec, "securityContext", "runAsUser")
    for container in pods.containers(spec):
        yield from _of_container(container, pod_user)


def _of_container(container: Mapping[str, Any], pod_user: Any) -> Iterator[Exposure]:
    name, context = text(container, "name"), mapping(container, "securityContext")
    if at(context, "privileged") is True:
        yield Exposure(f"container {name} is privileged")
    if at(context, "allowPrivilegeEscalation") is True:
        yield Exposure(f"container {name} may gain rights (allowPrivilegeEscalation)", is_grave=False)
    user = at(context, "runAsUser")
    if (pod_user if user is None else user) == 0:
        yield Exposure(f"container {name} runs as root", is_grave=False)
    added_caps = {str(each).removeprefix("CAP_") for each in sequence(context, "capabilities", "add")}
    for capability in sorted(added_caps - _HARMLESS):
        yield Exposure(f"container {name} has the capability {capability}")
    for port in sequence(container, "ports"):
        if at(port, "hostPort"):
            yield Exposure(f"container {name} opens port {at(port, 'hostPort')} of the node", is_grave=False)
    for variable in sequence(container, "env"):
        if secret := text(variable, "valueFrom", "secretKeyRef", "name"):
            yield Exposure(f"container {name} has the Secret {secret} in its environment", is_grave=False)
    for source in sequence(container, "envFrom"):
        if secret := text(source, "secretRef", "name"):
            yield Exposure(f"container {name} has all of the Secret {secret} in its environment", is_grave=False)


def _of_service(value: Mapping[str, Any]) -> Iterator[Exposure]:
    kind = text(value, "spec", "type")
    if kind in ("NodePort", "LoadBalancer"):
        yield Exposure(f"it is reached from outside of the cluster ({kind})", is_grave=False)
    for address in sequence(value, "spec", "externalIPs"):
        yield Exposure(f"it takes what is sent to {address} (externalIPs)")


def _lowered(pair: Pair) -> str:
    """That a namespace enforces less of Pod Security than before; without a label everything is allowed."""
    if pair.id.kind != "Namespace" or pair.before is None or pair.after is None:
        return ""
    old, new = (text(each, "metadata", "labels", _ENFORCE) or _LEVELS[0] for each in (pair.before, pair.after))
    if old not in _LEVELS or new not in _LEVELS or _LEVELS.index(new) >= _LEVELS.index(old):
        return ""
    return f"{pair} enforces {new} instead of {old} pods"
