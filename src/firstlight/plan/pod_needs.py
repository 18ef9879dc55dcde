"""What the pods of an object need before they can run: Secrets, ConfigMaps, claims, images, a node that takes them."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.rendition import Object

CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"
HOSTNAME = "kubernetes.io/hostname"

TEMPLATES = {
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    ("", "Pod"): (),
}
"""Where kinds have their pod templates, by group and kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodReference:
    """An object of its own namespace that a pod names."""

    kind: str
    name: str
    how: str
    """``environment``, ``volume`` …"""


def makes_pods(item: Object) -> bool:
    """Whether an object makes pods."""
    return (item.id.group, item.id.kind) in TEMPLATES


def runs_at_start(item: Object) -> bool:
    """Whether its pods must run for the component to work; those of a CronJob come later."""
    return makes_pods(item) and item.id.kind != "CronJob"


def template(item: Object) -> Mapping[str, Any]:
    """The pod template of an object; empty if it makes no pods."""
    path = TEMPLATES.get((item.id.group, item.id.kind))
    return {} if path is None else mapping(item.value, *path)


def references(item: Object) -> Iterator[PodReference]:
    """What its pods cannot start without; what is optional is left out, and so are pull secrets."""
    spec = mapping(template(item), "spec")
    for container in containers(spec):
        for entry in sequence(container, "env"):
            yield from _named(at(entry, "valueFrom", "secretKeyRef"), "Secret", "name", "environment")
            yield from _named(at(entry, "valueFrom", "configMapKeyRef"), "ConfigMap", "name", "environment")
        for entry in sequence(container, "envFrom"):
            yield from _named(at(entry, "secretRef"), "Secret", "name", "environment")
            yield from _named(at(entry, "configMapRef"), "ConfigMap", "name", "environment")
    for volume in sequence(spec, "volumes"):
        yield from _named(at(volume, "secret"), "Secret", "secretName", "volume")
        yield from _named(at(volume, "configMap"), "ConfigMap", "name", "volume")
        for source in sequence(volume, "projected", "sources"):
            yield from _named(at(source, "secret"), "Secret", "name", "volume")
            yield from _named(at(source, "configMap"), "ConfigMap", "name", "volume")


def _named(value: Any, kind: str, key: str, how: str) -> Iterator[PodReference]:
    if (name := text(value, key)) and at(value, "optional") is not True:
        yield PodReference(kind, name, how)


def images(item: Object) -> Iterator[str]:
    """The images of its containers."""
    for container in containers(mapping(template(item), "spec")):
        if image := text(container, "image"):
            yield image


def registry(image: str) -> str:
    """The host that an image comes from, with its port; Docker Hub where the name has none."""
    first, slash, _ = image.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return first if is_host else "docker.io"


def containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All containers of a pod."""
    for key in ("initContainers", "containers"):
        for each in sequence(spec, key):
            yield mapping(each)


def tolerates_control_planes(item: Object) -> bool:
    """Whether its pods may run on a tainted control plane."""
    for each in sequence(template(item), "spec", "tolerations"):
        key, effect, exists = text(each, "key"), text(each, "effect"), text(each, "operator") == "Exists"
        # Talos's taint has no value; a toleration that asks for another does not match.
        matches = key == CONTROL_PLANE_TAINT and (exists or not at(each, "value"))
        if (matches or (exists and not key)) and effect in ("", "NoSchedule"):
            return True
    return False


def one_per_node(item: Object) -> str:
    """Why two of its pods cannot share a node; empty where they can."""
    found = template(item)
    labels = mapping(found, "metadata", "labels")
    path = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for rule in sequence(found, *path):
        selector = mapping(rule, "labelSelector")
        wanted, expressions = mapping(selector, "matchLabels"), sequence(selector, "matchExpressions")
        selects_itself = all(labels.get(key) == each for key, each in wanted.items()) and all(
            _holds(each, labels) for each in expressions
        )
        if text(rule, "topologyKey") == HOSTNAME and selector and selects_itself:
            return "required anti-affinity"
    for container in containers(mapping(found, "spec")):
        if any(at(port, "hostPort") for port in sequence(container, "ports")):
            return "a host port"
    return ""


def _holds(expression: Any, labels: Mapping[str, Any]) -> bool:
    key, values = text(expression, "key"), sequence(expression, "values")
    match text(expression, "operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
