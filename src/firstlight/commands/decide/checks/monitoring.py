"""Whether somebody would be told if the change broke something: alerts and monitors that cover it."""

import dataclasses
import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import label_selector
from firstlight.model import argocd_names, flux_names
from firstlight.model.change import Matter
from firstlight.model.component import Component, ObjectId, SourceForm
from firstlight.model.decision import Decision, Touched
from firstlight.model.rendition import Object
from firstlight.plan import pod_needs

# Alerts and monitors that would tell if a component broke: found among objects by what they select.


_RULES = {("monitoring.coreos.com", "PrometheusRule"), ("operator.victoriametrics.com", "VMRule")}
_MONITORS = {
    ("monitoring.coreos.com", "ServiceMonitor"): "Service",
    ("monitoring.coreos.com", "PodMonitor"): "Pod",
    ("operator.victoriametrics.com", "VMServiceScrape"): "Service",
    ("operator.victoriametrics.com", "VMPodScrape"): "Pod",
}
"""What scrapes, with what it selects."""
_FLUX_ALERT = (flux_names.NOTIFICATION_GROUP, flux_names.ALERT)
_FLUX_KINDS = {SourceForm.KUSTOMIZATION: flux_names.KUSTOMIZATION, SourceForm.HELM_RELEASE: flux_names.HELM_RELEASE}
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
class WatchedComponent:
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
        return frozenset(each.id.namespace for each in self.objects if each.id.namespace and pod_needs.makes_pods(each))


def covers_of(watched: WatchedComponent, objects: Iterable[Mapping[str, Any]]) -> tuple[Cover, ...]:
    """What of many objects watches a component; alerts first."""
    found = [each for value in objects for each in _covering_of(watched, value)]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: (not each.is_alert, each.name)))


def is_any_cover(objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of many objects watches something at all, whatever it is."""
    for value in objects:
        kind = _kind(ObjectId.of(value))
        if kind in _MONITORS or kind == _FLUX_ALERT or (kind in _RULES and any(_alerts(value))):
            return True
        if any(
            str(key).startswith(argocd_names.NOTIFICATIONS_SUBSCRIBE_ANNOTATION)
            for key in mapping(value, "metadata", "annotations")
        ):
            return True
    return False


def node_covers(objects: Iterable[Mapping[str, Any]]) -> tuple[Cover, ...]:
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


def example_alert(watched: WatchedComponent) -> str:
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
        if origin.form == SourceForm.APPLICATION:
            annotation = f"{argocd_names.NOTIFICATIONS_SUBSCRIBE_ANNOTATION}.on-health-degraded.…"
            return f"annotate the Application {origin.name} with {annotation}"
    return "write a PrometheusRule with an alert that names it"


def _covering_of(watched: WatchedComponent, value: Mapping[str, Any]) -> Iterator[Cover]:
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
        str(key).startswith(argocd_names.NOTIFICATIONS_SUBSCRIBE_ANNOTATION)
        for key in mapping(value, "metadata", "annotations")
    ):
        yield Cover(name=f"notifications of {named}", is_alert=True)


def _alerts(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for group in sequence(value, "spec", "groups"):
        for rule in sequence(group, "rules"):
            if text(rule, "alert"):
                yield mapping(rule)


def _expression(rule: Mapping[str, Any]) -> str:
    return str(at(rule, "expr") or "")


def _is_about(expression: str, watched: WatchedComponent) -> bool:
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


def _selects(monitor: Mapping[str, Any], kind: str, watched: WatchedComponent) -> bool:
    selector = mapping(monitor, "spec", "selector")
    chosen = mapping(monitor, "spec", "namespaceSelector")
    own = text(monitor, "metadata", "namespace")
    names = [str(each) for each in sequence(chosen, "matchNames")] or [own]
    for each in watched.objects:
        is_there = at(chosen, "any") is True or each.id.namespace in names
        labels = (
            mapping(each.value, "metadata", "labels")
            if kind == "Service"
            else mapping(pod_needs.template(each), "metadata", "labels")
        )
        is_kind = each.id.kind == "Service" if kind == "Service" else pod_needs.makes_pods(each)
        if is_there and is_kind and (not selector or label_selector.matches(selector, labels)):
            return True
    return False


def _is_source(source: Any, alert: Mapping[str, Any], watched: WatchedComponent) -> bool:
    space = text(source, "namespace") or text(alert, "metadata", "namespace")
    kind, name = text(source, "kind"), text(source, "name")
    origins = watched.component.origins if watched.component else ()
    return any(
        _FLUX_KINDS.get(each.form) == kind and space == each.namespace and name in ("*", each.name) for each in origins
    )


def _is_declared_by(watched: WatchedComponent, named: ObjectId) -> bool:
    origins = watched.component.origins if watched.component else ()
    is_application = _kind(named) == (argocd_names.GROUP, argocd_names.APPLICATION)
    return is_application and any(each.form == SourceForm.APPLICATION and each.name == named.name for each in origins)


def _kind(named: ObjectId) -> tuple[str, str]:
    return named.group, named.kind


KINDS: Mapping[tuple[str, str], str] = {
    ("monitoring.coreos.com", "PrometheusRule"): "v1",
    ("monitoring.coreos.com", "ServiceMonitor"): "v1",
    ("monitoring.coreos.com", "PodMonitor"): "v1",
    ("operator.victoriametrics.com", "VMRule"): "v1beta1",
    ("operator.victoriametrics.com", "VMServiceScrape"): "v1beta1",
    ("operator.victoriametrics.com", "VMPodScrape"): "v1beta1",
    (flux_names.NOTIFICATION_GROUP, flux_names.ALERT): "v1beta3",
    (argocd_names.GROUP, argocd_names.APPLICATION): "v1alpha1",
}
_NODE_EXAMPLE = (
    "write a PrometheusRule with an alert whose expr is "
    'kube_node_status_condition{condition="Ready", status="true"} == 0'
)
_WATCHER = re.compile(r"prometheus|victoria|alert|mimir|thanos|monitoring|gatus|uptime|datadog", re.IGNORECASE)
"""Names of components that mostly bring alerts for all others."""
_MOST = 3


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """For each touched component, and for machines, what watches it."""
    touched = [
        each
        for each in check_input.meant(decision, scene)
        if scene.after.component(each.cluster, each.component) is not None
    ]
    machines = sorted(
        {cluster for item in decision.items if item.change.matter == Matter.MACHINE for cluster in item.clusters}
    )
    if not touched and not machines:
        return [answer.skipped("it touches nothing that runs and stays")]
    objects = [*check_input.objects_in_repo(scene.after, set(KINDS))]
    answers: list[CheckAnswer] = []
    where = "the repo"
    if scene.client is not None:
        live, unread = await check_input.live_objects(scene.client, KINDS)
        objects += live
        where = "the repo and the cluster"
        answers += [answer.skipped(each) for each in unread]
    changed = {each.id for each in check_input.pairs(decision, scene)}
    seen = _Seen(objects, where, changed)
    answers += [_of(each, scene, seen) for each in touched]
    if machines:
        covers = node_covers(objects)
        name = f"the machines of {', '.join(machines)}"
        answers.append(_told(name, covers) if covers else _uncovered(seen, scene, machines))
    return answers


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What was looked through."""

    objects: Sequence[Mapping[str, Any]]
    where: str
    changed: set[ObjectId]


def _uncovered(seen: _Seen, scene: CheckInput, clusters: Sequence[str]) -> CheckAnswer:
    """That nobody is told of nodes."""
    if unsure := _unsure(seen, scene, clusters):
        return answer.person("alert-unknown", f"who is told if nodes break: {unsure}", fix=_NODE_EXAMPLE)
    return answer.failed("alert-missing", f"no alert in {seen.where} is about nodes", fix=_NODE_EXAMPLE)


def _unsure(seen: _Seen, scene: CheckInput, clusters: Sequence[str]) -> str:
    """Why it is not wrong that nothing covers something: alerts may be elsewhere, and where none are, nobody means to.

    Empty where alerts of this repo cover other things only.
    """
    every = [each for name in clusters for each in scene.after.platform.components_of(name)]
    hidden = [
        each.name for each in every if _WATCHER.search(each.name) and not scene.after.rendered(each.cluster, each.name)
    ]
    if hidden:
        return f"{', '.join(hidden[:_MOST])} may bring alerts, and was not rendered"
    return "" if is_any_cover(seen.objects) else f"there is no alert or monitor at all in {seen.where}"


def _of(touched: Touched, scene: CheckInput, seen: _Seen) -> CheckAnswer:
    """What covers a component; the example is for what has changed of it."""
    mine = scene.after.objects(touched.cluster, touched.component).values()
    watched = WatchedComponent(
        component=scene.after.component(touched.cluster, touched.component),
        objects=tuple(sorted(mine, key=lambda each: each.id not in seen.changed)),
    )
    covers = covers_of(watched, seen.objects)
    name = f"{touched.component} of {touched.cluster}"
    if covers:
        return _told(name, covers)
    place = next((each.place for each in (watched.component.origins if watched.component else ())), None)
    says = f"no alert or monitor in {seen.where} covers {name}"
    if not scene.after.is_whole(touched.cluster, touched.component):
        # What it deploys is not known: it may bring its own monitors.
        says = f"{says}, as far as can be seen without rendering it"
        return answer.person("alert-unknown", says, fix=example_alert(watched), at=place)
    if unsure := _unsure(seen, scene, [touched.cluster]):
        return answer.person(
            "alert-unknown", f"who is told if {name} breaks: {unsure}", fix=example_alert(watched), at=place
        )
    return answer.failed("alert-missing", says, fix=example_alert(watched), at=place)


def _told(name: str, covers: tuple[Cover, ...]) -> CheckAnswer:
    shown = ", ".join(each.name for each in covers[:_MOST]) + (
        f" and {len(covers) - _MOST} more" if len(covers) > _MOST else ""
    )
    only = "" if any(each.is_alert for each in covers) else ", which measures and tells nobody"
    return answer.passed(f"{name}: covered by {shown}{only}")
