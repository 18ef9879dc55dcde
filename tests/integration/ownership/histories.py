"""Objects with a past: kinds with every sort of list and map, and what several managers did to them."""

import dataclasses
from typing import Any

from hypothesis import strategies as st

OLD = ("talos", "helm", "kubectl-client-side-apply", "firstlight", "before-first-apply")
OTHERS = ("scaler", "injector", "argocd-controller")
ENGINE = "kustomize-controller"
GROUP = "tests.example.org"

Object = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Write:
    """One write of the past: an apply, or a merge patch."""

    manager: str
    is_apply: bool
    body: Object


@dataclasses.dataclass(frozen=True)
class History:
    """What was written, and what Git has now."""

    writes: tuple[Write, ...]
    wanted: Object


def crd(name: str = "samples", *versions: str) -> Object:
    """A kind with lists by key, sets, lists and maps as a whole, maps of structures, and defaults."""
    text = {"type": "string"}
    pair = {"type": "object", "properties": {"a": text, "b": text}}
    item = {
        "type": "object", "required": ["name"],
        "properties": {"name": text, "sort": {**text, "default": "plain"}, "value": text, "pair": pair},
    }  # fmt: skip
    spec = {
        "text": text, "filled": {**text, "default": "by the server"}, "pair": pair,
        "items": {
            "type": "array", "items": item, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "sort"],
        },
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "whole": {"type": "array", "items": text},
        "table": {"type": "object", "additionalProperties": pair},
        "closed": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }  # fmt: skip
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    served = versions or ("v1",)
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}.{GROUP}"},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": name, "kind": name.capitalize()[:-1]},
            "versions": [
                {"name": each, "served": True, "storage": each == served[-1], "schema": {"openAPIV3Schema": schema}}
                for each in served
            ],
        },
    }  # fmt: skip


def _some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=parts)


_word = st.sampled_from(["x", "y", "z"])
_words = st.dictionaries(st.sampled_from(["a", "b", "c", "d.example/e"]), _word, max_size=3)
_metadata = _some(labels=_words, annotations=_words)


def _listed(strategy: st.SearchStrategy[Any], *names: str, most: int = 3) -> st.SearchStrategy[list[Any]]:
    """Items that differ in some fields."""
    return st.lists(strategy, max_size=most, unique_by=lambda item: tuple(str(item.get(name)) for name in names))


_pair = _some(a=_word, b=_word)
_item = st.fixed_dictionaries(
    {"name": _word}, optional={"sort": st.sampled_from(["plain", "odd"]), "value": _word, "pair": _pair}
)
_sample = _some(
    text=_word, filled=_word, pair=_pair,
    # Those without a sort are plain ones, and no two may be the same.
    items=st.lists(_item, max_size=3, unique_by=lambda each: (each["name"], each.get("sort", "plain"))),
    tags=st.lists(_word, max_size=3, unique=True), whole=st.lists(_word, min_size=1, max_size=2),
    table=st.dictionaries(_word, _pair, max_size=2), closed=_words, free=st.dictionaries(_word, _pair, max_size=2),
)  # fmt: skip
_port = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([53, 80])},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "hostIP": st.just("10.0.0.1")},
)
_container = _some(
    env=_listed(st.fixed_dictionaries({"name": _word}, optional={"value": _word}), "name"),
    ports=st.lists(
        _port, max_size=3, unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP"))
    ),
    args=st.lists(_word, max_size=2), imagePullPolicy=st.sampled_from(["Always", "IfNotPresent"]),
    resources=_some(limits=_some(cpu=st.just("1"), memory=st.just("1Gi")), requests=_some(cpu=st.just("100m"))),
    securityContext=_some(runAsUser=st.just(7), capabilities=_some(add=st.just(["SYS_TIME"]))),
)  # fmt: skip
_pod = _some(
    nodeSelector=_words, tolerations=st.just([{"operator": "Exists"}]), hostNetwork=st.just(False),
    terminationGracePeriodSeconds=st.sampled_from([5, 30]), priorityClassName=st.just("system-node-critical"),
    volumes=_listed(st.builds(lambda name: {"name": name, "emptyDir": {}}, _word), "name", most=2),
)  # fmt: skip


@st.composite
def _template(draw: st.DrawFn) -> Object:
    names = draw(st.permutations(["main", *draw(st.lists(st.sampled_from(["log", "mesh"]), unique=True))]))
    containers = [{"name": name, "image": f"registry.example/{name}:1", **draw(_container)} for name in names]
    metadata = draw(_metadata)
    metadata["labels"] = {**metadata.get("labels", {}), "app": "main"}
    return {"metadata": metadata, "spec": {**draw(_pod), "containers": containers}}


@st.composite
def _deployment(draw: st.DrawFn) -> Object:
    more = draw(
        _some(
            minReadySeconds=st.just(3),
            revisionHistoryLimit=st.sampled_from([2, 10]),
            strategy=st.sampled_from([{"type": "Recreate"}, {"rollingUpdate": {"maxSurge": 2}}]),
        )
    )
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "main"}}, "template": draw(_template()), **more}
    return {"metadata": draw(_metadata), "spec": spec}


_service_port = st.fixed_dictionaries(
    {"port": st.sampled_from([53, 80])},
    optional={"protocol": st.sampled_from(["TCP", "UDP"]), "targetPort": st.sampled_from([8080, "http"])},
)


@st.composite
def _service(draw: st.DrawFn) -> Object:
    ports = draw(
        st.lists(
            _service_port,
            min_size=1,
            max_size=3,
            unique_by=lambda port: (port["port"], port.get("protocol", "TCP")),
        )
    )
    named = [{**port, "name": f"p{port['port']}-{str(port.get('protocol', 'tcp')).lower()}"} for port in ports]
    more = draw(
        _some(sessionAffinity=st.sampled_from(["None", "ClientIP"]), publishNotReadyAddresses=st.just(True),
              type=st.just("ClusterIP"))
    )  # fmt: skip
    return {"metadata": draw(_metadata), "spec": {"selector": draw(_words), "ports": named, **more}}


_config_map = st.builds(
    lambda metadata, parts: {"metadata": metadata, **parts}, _metadata, _some(data=_words, immutable=st.just(False))
)
_samples = st.builds(lambda metadata, spec: {"metadata": metadata, "spec": spec}, _metadata, _sample)
_templates = st.builds(lambda metadata, template: {"metadata": metadata, "template": template}, _metadata, _template())

KINDS: dict[str, tuple[str, st.SearchStrategy[Object]]] = {
    "ConfigMap": ("v1", _config_map),
    "PodTemplate": ("v1", _templates),
    "Deployment": ("apps/v1", _deployment()),
    "Service": ("v1", _service()),
    "Sample": (f"{GROUP}/v1", _samples),
}


@st.composite
def histories(draw: st.DrawFn, kind: str) -> History:
    """A past of an object, which began with a write of somebody who gives it up."""
    bodies = KINDS[kind][1]
    first = Write(draw(st.sampled_from((*OLD, ENGINE))), draw(st.booleans()), draw(bodies))
    later = st.builds(Write, st.sampled_from((*OLD, *OTHERS, ENGINE)), st.booleans(), bodies)
    return History((first, *draw(st.lists(later, max_size=3))), draw(bodies))
