"""Whether a change weakens what protects the cluster: compared before and after, and with what is live."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, ObjectPair
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.change import Matter
from firstlight.model.decision import CheckState, Decision
from firstlight.model.rendition import Object
from firstlight.observe import live_objects
from firstlight.plan import pod_needs


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Each thing that exposes more than before, with its place."""
    pairs = check_input.pairs(decision, scene)
    answers = [found for each in pairs for found in added_exposures(each)]
    machines = [each for each in decision.items if each.change.matter == Matter.MACHINE]
    if machines:
        names = ", ".join(dict.fromkeys(each.change.place.path for each in machines[:3]))
        answers.append(
            answer.person(
                "exposure-unchecked", f"machine configs differ: {names}", fix="see what they open, and to whom"
            )
        )
    if unseen := check_input.unseen(decision, scene):
        says = f"what {', '.join(unseen)} deploys could not be compared, since it was not rendered before and after"
        answers.append(answer.person("exposure-unchecked", says, fix="see what its pods and accounts may from now on"))
    if scene.client is not None:
        answers += await _live(pairs, scene, scene.client)
    elif any(_is_looked_for(each) for each in pairs):
        answers.append(answer.skipped(f"what is live: {scene.unreached}"))
    if pairs and not any(each.state in (CheckState.FAILED, CheckState.PERSON) for each in answers):
        differ = "1 object differs" if len(pairs) == 1 else f"{len(pairs)} objects differ"
        answers.append(answer.passed(f"{differ}, and nothing is exposed that was not before"))
    return answers


def _is_looked_for(pair: ObjectPair) -> bool:
    return pair.after is not None and (pod_needs.makes_pods(Object(pair.after)) or pair.id.kind == "Service")


async def _live(pairs: tuple[ObjectPair, ...], scene: CheckInput, client: kube.Client) -> list[CheckAnswer]:
    """What is live and exposes more than Git says: somebody's hand, or a webhook."""
    wanted = [each for each in pairs if _is_looked_for(each) and scene.is_reached(each.cluster) and each.id.name]
    kinds = await live_objects.read(
        [Object(each.after) for each in wanted if each.after is not None], client, namespace=client.config.namespace
    )
    answers = []
    for pair in wanted:
        assert pair.after is not None
        kind = kinds[str(pair.after.get("apiVersion") or ""), pair.id.kind]
        live = kind.live.get(kind.key(pair.id, namespace=client.config.namespace))
        if live is not None:
            answers += live_only_exposures(pair, live)
    return answers


# How exposed objects are, and what a change adds to it: rights of pods, of accounts and of networks.


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


def exposures_of(value: Mapping[str, Any] | None) -> frozenset[Exposure]:
    """How an object that makes pods, or a Service, is exposed."""
    if value is None:
        return frozenset()
    item = Object(value)
    if item.id.kind == "Service" and item.id.group == "":
        return frozenset(_of_service(value))
    return frozenset(_of_pod(mapping(pod_needs.template(item), "spec"))) if pod_needs.makes_pods(item) else frozenset()


def added_exposures(pair: ObjectPair) -> list[CheckAnswer]:
    """What an object exposes that it did not expose before."""
    answers = [_told(pair, each) for each in sorted(exposures_of(pair.after) - exposures_of(pair.before))]
    fix = "see that it needs them, or give it less"
    answers += [answer.failed("rights-widened", each, fix=fix, at=pair.place) for each in widened(pair)]
    is_policy = (pair.id.group, pair.id.kind) in _POLICIES
    if is_policy and pair.before is not None and pair.after is not None:
        answers.append(
            answer.person("policy-changed", f"{pair} is another policy than before", fix=_ALLOWED, at=pair.place)
        )
    if is_policy and pair.is_gone:
        says = f"{pair} is removed, and allows what it forbade"
        answers.append(
            answer.failed("policy-removed", says, fix="see what protects the same from now on", at=pair.place)
        )
    if lowered := _lowered(pair):
        answers.append(
            answer.failed(
                "pod-security-lowered", lowered, fix="keep the level, and exempt the one that needs more", at=pair.place
            )
        )
    return answers


def live_only_exposures(declared: ObjectPair, live: Mapping[str, Any]) -> list[CheckAnswer]:
    """What a live object exposes that Git has neither before nor after.

    Args:
        declared: As Git has it.
        live: As it is.
    """
    known = exposures_of(declared.before) | exposures_of(declared.after)
    return [
        answer.failed(
            "exposure-only-live",
            f"{declared} as it is: {each.what}, which Git does not say",
            fix="see firstlight owners and drift",
        )
        for each in sorted(exposures_of(live) - known)
        if each.is_grave
    ]


def _told(pair: ObjectPair, exposure: Exposure) -> CheckAnswer:
    says = f"{pair}: {exposure.what}"
    if exposure.is_grave:
        return answer.failed("exposure-added", says, fix="see that it needs this, or take it away", at=pair.place)
    return answer.person("exposure-added", says, fix="see that it needs this", at=pair.place)


def _of_pod(spec: Mapping[str, Any]) -> Iterator[Exposure]:
    for key, what in _HOST.items():
        if at(spec, key) is True:
            yield Exposure(f"its pods use {what} ({key})")
    for volume in sequence(spec, "volumes"):
        if path := text(volume, "hostPath", "path"):
            yield Exposure(f"its pods see {path} of the node (hostPath)")
    pod_user = at(spec, "securityContext", "runAsUser")
    for container in pod_needs.containers(spec):
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


def _lowered(pair: ObjectPair) -> str:
    """That a namespace enforces less of Pod Security than before; without a label everything is allowed."""
    if pair.id.kind != "Namespace" or pair.before is None or pair.after is None:
        return ""
    old, new = (text(each, "metadata", "labels", _ENFORCE) or _LEVELS[0] for each in (pair.before, pair.after))
    if old not in _LEVELS or new not in _LEVELS or _LEVELS.index(new) >= _LEVELS.index(old):
        return ""
    return f"{pair} enforces {new} instead of {old} pods"


# Rights that a change gives: rules of roles that those before did not cover, and bindings of powerful roles.


GROUP = "rbac.authorization.k8s.io"
ROLES = ("Role", "ClusterRole")
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_POWERFUL = ("cluster-admin", "admin", "edit", "system:masters")
_MOST = 6
"""Rights that are named; the rest is counted."""
_DANGEROUS_VERBS = ("escalate", "bind", "impersonate")
_DANGEROUS = (
    ("", "secrets"), ("", "pods/exec"), ("", "pods/attach"), ("", "nodes/proxy"), ("", "serviceaccounts/token"),
    ("certificates.k8s.io", "certificatesigningrequests/approval"),
)  # fmt: skip
"""Whoever may use these can become somebody else."""

Right = tuple[str, str, str, str]
"""API group, resource, verb and name of the object; ``*`` for any. Of a URL the group is ``url``."""


def rights(role: Mapping[str, Any] | None) -> frozenset[Right]:
    """Everything that a role allows."""
    found: set[Right] = set()
    for rule in sequence(role, "rules"):
        verbs = _texts(rule, "verbs")
        urls = itertools.product(("url",), _texts(rule, "nonResourceURLs"), verbs, ("*",))
        names = _texts(rule, "resourceNames") or ("*",)
        found.update(urls, itertools.product(_texts(rule, "apiGroups"), _texts(rule, "resources"), verbs, names))
    return frozenset(found)


def is_covered(right: Right, by: frozenset[Right]) -> bool:
    """Whether rights include another one; stars and prefixes of URLs count as the API server counts them."""
    return right in by or any(_covers(each, right) for each in by)


def widened(pair: ObjectPair) -> Iterator[str]:
    """What a role or a binding gives that it did not give before, in words."""
    if pair.id.group != GROUP or pair.after is None:
        return
    if pair.id.kind in ROLES:
        yield from _of_role(pair)
    elif pair.id.kind in BINDINGS:
        yield from _of_binding(pair)


def _of_role(pair: ObjectPair) -> Iterator[str]:
    before, after = rights(pair.before), rights(pair.after)
    new = sorted(each for each in after if not is_covered(each, before))
    if pair.before is None:
        # A new role comes with what it is for; only what makes its holder somebody else is worth a word.
        new = [each for each in new if _is_dangerous(each)]
    if new:
        more = f" and {len(new) - _MOST} more" if len(new) > _MOST else ""
        yield f"{pair} allows {', '.join(map(_shown, new[:_MOST]))}{more}"


def _of_binding(pair: ObjectPair) -> Iterator[str]:
    role = text(pair.after, "roleRef", "name")
    old = {_subject(each) for each in sequence(pair.before, "subjects")}
    same = text(pair.before, "roleRef", "name") == role
    new = [name for each in sequence(pair.after, "subjects") if (name := _subject(each)) not in old or not same]
    if new and (pair.before is not None or role in _POWERFUL):
        yield f"{pair} gives {role} to {', '.join(new)}"


def _covers(wide: Right, right: Right) -> bool:
    if (wide[0] == "url") != (right[0] == "url"):
        return False
    if wide[2] not in ("*", right[2]):
        return False
    if wide[0] == "url":
        return wide[1] in ("*", right[1]) or (wide[1].endswith("*") and right[1].startswith(wide[1][:-1]))
    sub = f"*/{right[1].partition('/')[2]}" if "/" in right[1] else ""
    return (
        wide[0] in ("*", right[0])
        and (wide[1] in ("*", right[1]) or (bool(sub) and wide[1] == sub))
        and wide[3] in ("*", right[3])
    )


def _is_dangerous(right: Right) -> bool:
    group, resource, verb, _ = right
    return (
        (resource == "*" and group != "url")
        or (verb == "*" and group == "*")
        or verb in _DANGEROUS_VERBS
        or (group, resource) in _DANGEROUS
    )


def _shown(right: Right) -> str:
    group, resource, verb, name = right
    if group == "url":
        return f"{verb} {resource}"
    where = f".{group}" if group else ""
    return f"{verb} {resource}{where}" + (f" {name}" if name != "*" else "")


def _subject(value: Any) -> str:
    name = "/".join(each for each in (text(value, "namespace"), text(value, "name")) if each)
    return f"{text(value, 'kind')} {name}"


def _texts(value: Any, key: str) -> tuple[str, ...]:
    return tuple(each for each in sequence(value, key) if isinstance(each, str))
