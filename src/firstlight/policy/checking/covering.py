"""Alerts and monitors that would tell if a component broke: found among objects by what they select."""

import dataclasses
import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import selecting
from firstlight.model.component import Component, Form, ObjectId
from firstlight.model.rendition import Object
from firstlight.plan import pods

_RULES = {("monitoring.coreos.com", "PrometheusRule"), ("operator.victoriametrics.com", "VMRule")}
_MONITORS = {
    ("monitoring.coreos.com", "ServiceMonitor"): "Service",
    ("monitoring.coreos.com", "PodMonitor"): "Pod",
    ("operator.victoriametrics.com", "VMServiceScrape"): "Service",
    ("operator.victoriametrics.com", "VMPodScrape"): "Pod",
}
"""What scrapes, with what it selects."""
_FLUX_ALERT = ("notification.toolkit.fluxcd.io", "Alert")
_ARGO = "notifications.argoproj.io/subscribe"
_FLUX_KINDS = {Form.KUSTOMIZATION: "Kustomization", Form.HELM_RELEASE: "HelmRelease"}
_OF_NODES = re.compile(
    r"\b(?:kube_node_|node_|etcd_|apiserver_|kubelet_|talos_)\w+|job=~?\"[^\"]*(?:node|etcd|apiserver|kubelet)"
)
_NAMESPACE = re.compile(r"\b(?:exported_)?namespace\s*(=~|!~|!=|=)\s*\"([^\"]*)\"")
_NAMED = re.compile(
    r"\b(deployment|statefulset|daemonset|pod|service|job|job_name|container|name|exported_name|release|app\w*)"
    r"\s*(=~|=)\s*\"([^\"]*)\""
)
_OF_ALL = re.compile(r"\bkube_(?:pod|deployment|statefulset|daemonset)_")
"""What is measured of every workload by one exporter, which ``job`` names."""
_PATTERN = 200
"""Characters of a pattern in an alert that are tried; longer ones are nobody's names."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Something that watches a component."""

    name: str
    """``PrometheusRule monitoring/web: WebDown``."""
    is_alert: bool
    """Whether it tells somebody; else it only measures."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is to be covered."""

    component: Component | None
    objects: tuple[Object, ...] = dataclasses.field(default=(), repr=False)

    @property
    def names(self) -> frozenset[str]:
        """What it is called in metrics: its workloads and Services, and itself."""
        kinds = ("Service", "Deployment", "StatefulSet", "DaemonSet", "Pod", "Job", "CronJob")
        own = {each.id.name for each in self.objects if each.id.kind in kinds}
        return frozenset({*own, *([self.component.name.rpartition("/")[2]] if self.component else [])})

    @property
    def namespaces(self) -> frozenset[str]:
        """Where its pods are."""
        return frozenset(each.id.namespace for each in self.objects if each.id.namespace and pods.makes_pods(each))


def covers(watched: Watched, objects: Iterable[Mapping[str, Any]]) -> tuple[Cover, ...]:
    """What of many objects watches a component; alerts first."""
    found = [each for value in objects for each in _of(watched, value)]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (not each.is_alert, each.name)))


def is_any(objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of many objects watches something at all, whatever it is."""
    for value in objects:
        kind = _kind(ObjectId.of(value))
        if kind in _MONITORS or kind == _FLUX_ALERT or (kind in _RULES and any(_alerts(value))):
            return True
        if any(str(key).startswith(_ARGO) for key in mapping(value, "metadata", "annotations")):
            return True
    return False


def of_nodes(objects: Iterable[Mapping[str, Any]]) -> tuple[Cover, ...]:
    """What watches the nodes themselves, for changes of machines."""
    return tuple(
        dict.fromkeys(
            Cover(name=f"{ObjectId.of(value)}: {text(rule, 'alert')}", is_alert=True)
            for value in objects
            if _kind(ObjectId.of(value)) in _RULES
            for rule in _alerts(value)
            if _OF_NODES.search(_expression(rule))
        )
    )


def example(watched: Watched) -> str:
    """An alert that would cover it, for somebody to write."""
    for kind, metric in (
        ("Deployment", "kube_deployment_status_replicas_unavailable"),
        ("StatefulSet", "kube_statefulset_replicas - kube_statefulset_status_replicas_ready"),
        ("DaemonSet", "kube_daemonset_status_number_unavailable"),
    ):
        for each in watched.objects:
            if each.id.kind == kind:
                label = kind.lower()
                where = f'{{namespace="{each.id.namespace}", {label}="{each.id.name}"}}'
                expression = " - ".join(f"{part}{where}" for part in metric.split(" - "))
                return f"write a PrometheusRule with an alert whose expr is {expression} > 0"
    for origin in watched.component.origins if watched.component else ():
        if kind := _FLUX_KINDS.get(origin.form, ""):
            source = f"{{kind: {kind}, name: {origin.name}, namespace: {origin.namespace}}}"
            return f"write an Alert of Flux with eventSources: [{source}]"
        if origin.form == Form.APPLICATION:
            return f"annotate the Application {origin.name} with {_ARGO}.on-health-degraded.…"
    return "write a PrometheusRule with an alert that names it"


def _of(watched: Watched, value: Mapping[str, Any]) -> Iterator[Cover]:
    named = ObjectId.of(value)
    kind = _kind(named)
    if kind in _RULES:
        for rule in _alerts(value):
            if _is_about(_expression(rule), watched):
                yield Cover(name=f"{named}: {text(rule, 'alert')}", is_alert=True)
    elif kind in _MONITORS:
        if _selects(value, _MONITORS[kind], watched):
            yield Cover(name=str(named), is_alert=False)
    elif kind == _FLUX_ALERT and at(value, "spec", "suspend") is not True:
        if any(_is_source(each, value, watched) for each in sequence(value, "spec", "eventSources")):
            yield Cover(name=str(named), is_alert=True)
    elif _is_declared_by(watched, named) and any(
        str(key).startswith(_ARGO) for key in mapping(value, "metadata", "annotations")
    ):
        yield Cover(name=f"notifications of {named}", is_alert=True)


def _alerts(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for group in sequence(value, "spec", "groups"):
        for rule in sequence(group, "rules"):
            if text(rule, "alert"):
                yield mapping(rule)


def _expression(rule: Mapping[str, Any]) -> str:
    return str(at(rule, "expr") or "")


def _is_about(expression: str, watched: Watched) -> bool:
    """Whether an expression names the component and no other namespace; or its namespace, or all, as a whole."""
    spaces: list[tuple[str, str]] = _NAMESPACE.findall(expression)
    if watched.namespaces and not any(_takes(spaces, space) for space in watched.namespaces):
        return False
    found: list[tuple[str, str, str]] = _NAMED.findall(expression)
    named = [(mark, value) for label, mark, value in found if label != "job" or not _OF_ALL.search(expression)]
    if named:
        return any(_fits(mark, value, name) for mark, value in named for name in watched.names)
    if _OF_ALL.search(expression) or any(mark in ("=", "=~") for mark, _ in spaces):
        return bool(watched.namespaces)
    # A component's own metrics begin with its name: certmanager_certificate_ready_status, cilium_bpf_map_pressure.
    words = {re.sub(r"[^a-z0-9]", "", name.lower()) for name in watched.names}
    return any(metric in words for metric in re.findall(r"\b([a-z][a-z0-9]*)_[a-z0-9_]+", expression))


def _takes(spaces: Sequence[tuple[str, str]], name: str) -> bool:
    return all(
        _fits(mark.replace("!~", "=~").replace("!=", "="), value, name) != ("!" in mark) for mark, value in spaces
    )


def _fits(mark: str, value: str, name: str) -> bool:
    """Whether a matcher takes a name, or that of one of its pods, which goes on after it.

    Of patterns only what people write there is understood, words, stars and alternatives: that cannot run for ever.
    """
    if mark == "=":
        return value == name
    if len(value) > _PATTERN:
        return False
    for one in value.strip("^$()").split("|"):
        pattern = re.sub(r"\.[*+]", "*", one).replace("\\", "")
        if special := re.search(r"[\[\](){}+?^$]", pattern):
            pattern = f"{pattern[: special.start()]}*"
        if any(fnmatch.fnmatchcase(each, pattern) for each in (name, f"{name}-0")):
            return True
    return False


def _selects(monitor: Mapping[str, Any], kind: str, watched: Watched) -> bool:
    selector = mapping(monitor, "spec", "selector")
    chosen = mapping(monitor, "spec", "namespaceSelector")
    own = text(monitor, "metadata", "namespace")
    names = [str(each) for each in sequence(chosen, "matchNames")] or [own]
    for each in watched.objects:
        is_there = at(chosen, "any") is True or each.id.namespace in names
        labels = (
            mapping(each.value, "metadata", "labels")
            if kind == "Service"
            else mapping(pods.template(each), "metadata", "labels")
        )
        is_kind = each.id.kind == "Service" if kind == "Service" else pods.makes_pods(each)
        if is_there and is_kind and (not selector or selecting.matches(selector, labels)):
            return True
    return False


def _is_source(source: Any, alert: Mapping[str, Any], watched: Watched) -> bool:
    space = text(source, "namespace") or text(alert, "metadata", "namespace")
    kind, name = text(source, "kind"), text(source, "name")
    origins = watched.component.origins if watched.component else ()
    return any(
        _FLUX_KINDS.get(each.form) == kind and space == each.namespace and name in ("*", each.name) for each in origins
    )


def _is_declared_by(watched: Watched, named: ObjectId) -> bool:
    origins = watched.component.origins if watched.component else ()
    is_application = _kind(named) == ("argoproj.io", "Application")
    return is_application and any(each.form == Form.APPLICATION and each.name == named.name for each in origins)


def _kind(named: ObjectId) -> tuple[str, str]:
    return named.group, named.kind
