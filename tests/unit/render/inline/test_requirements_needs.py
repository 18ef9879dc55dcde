"""Kinds, namespaces and webhooks that must be there when Talos applies something."""

from typing import Any

import pytest

from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Severity
from firstlight.model.rendition import Object
from firstlight.render.inline import requirements
from tests.unit.render.inline.sample import PLACE, a_crd, an_object

GATEWAY = "gateway.networking.k8s.io"
KINDS = {
    "GatewayClass": "gatewayclasses", "Gateway": "gateways", "HTTPRoute": "httproutes", "GRPCRoute": "grpcroutes",
    "ReferenceGrant": "referencegrants",
}  # fmt: skip
CRDS = [a_crd(kind, plural, GATEWAY) for kind, plural in KINDS.items()] + [a_crd("TLSRoute", "tlsroutes", GATEWAY)]
CILIUM = an_object("ConfigMap", "cilium-config", namespace="kube-system", data={"enable-gateway-api": "true", "x": "y"})
MONITOR = an_object("ServiceMonitor", "m", namespace="kube-system", api="monitoring.coreos.com/v1")


def crds(*objects: Object, others: Any = (), elsewhere: Any = ()) -> requirements.NeededCrds:
    return requirements.needed_crds(objects, others=others, elsewhere=elsewhere, place=PLACE)


def crd_id(name: str) -> ObjectId:
    return ObjectId("apiextensions.k8s.io", "CustomResourceDefinition", "", name)


def test_what_a_component_asks_for_when_it_starts_comes_along() -> None:
    found = crds(CILIUM, others=CRDS)

    assert [each.id.name for each in found.crds] == sorted(f"{each}.{GATEWAY}" for each in KINDS.values())
    assert found.diagnostics == ()


def test_without_gateway_api_nothing_comes_along() -> None:
    off = an_object("ConfigMap", "cilium-config", namespace="kube-system", data={"enable-gateway-api": "false"})

    assert crds(off, others=CRDS) == requirements.NeededCrds()


def test_the_kind_of_an_object_comes_along() -> None:
    definition = a_crd("ServiceMonitor", "servicemonitors", "monitoring.coreos.com")

    assert crds(MONITOR, others=[*CRDS, definition]).crds == (definition,)


def test_kinds_that_nobody_brings_are_told_once() -> None:
    found = crds(CILIUM, MONITOR, MONITOR)

    assert [each.severity for each in found.diagnostics] == [Severity.WARNING, Severity.WARNING]
    assert found.diagnostics[0].message.startswith(
        f"no CRD for GatewayClass, Gateway, HTTPRoute, GRPCRoute, ReferenceGrant ({GATEWAY}) is there when Talos"
    )
    assert "ServiceMonitor kube-system/m is passed over" in found.diagnostics[1].message


def test_ones_own_definitions_and_those_of_other_manifests_are_enough() -> None:
    definition = a_crd("ServiceMonitor", "servicemonitors", "monitoring.coreos.com")
    names = [crd_id(f"{plural}.{GATEWAY}") for plural in KINDS.values()]

    assert crds(MONITOR, definition, CILIUM, others=CRDS, elsewhere=names) == requirements.NeededCrds()


def test_one_definition_of_a_group_is_not_all() -> None:
    found = crds(CILIUM, elsewhere=[crd_id(f"gatewayclasses.{GATEWAY}")])

    assert found.diagnostics[0].message.startswith("no CRD for Gateway, HTTPRoute, GRPCRoute, ReferenceGrant (")


def test_kinds_of_kubernetes_need_nothing() -> None:
    objects = [
        an_object("FlowSchema", "f", api="flowcontrol.apiserver.k8s.io/v1"),
        an_object("Lease", "l", namespace="x", api="coordination.k8s.io/v1"),
    ]

    assert crds(*objects) == requirements.NeededCrds()


def test_namespaces_that_nothing_creates() -> None:
    objects = [
        an_object("Namespace", "own"),
        an_object("ConfigMap", "a", namespace="own"),
        an_object("ConfigMap", "b", namespace="kube-system"),
        an_object("ConfigMap", "c", namespace="other"),
        an_object("ConfigMap", "d", namespace="lost"),
        an_object("Secret", "e", namespace="lost"),
    ]

    missing = requirements.missing_namespaces(objects, elsewhere=[ObjectId("", "Namespace", "", "other")])
    (diagnostic,) = requirements.namespace_diagnostics(missing, place=PLACE)

    assert {name: [str(each.id) for each in found] for name, found in missing.items()} == {
        "lost": ["ConfigMap lost/d", "Secret lost/e"]
    }
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.message == (
        "nothing inline creates the namespace lost of ConfigMap lost/d, Secret lost/e: Talos stops there, every time"
    )


def hook(**fields: Any) -> Object:
    rule = {"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
    one = {"name": "w.example.org", "rules": [rule | fields.pop("rule", {})], **fields}
    return an_object("ValidatingWebhookConfiguration", "hook", webhooks=[one])


WIDGET = an_object("Widget", "w", namespace="x", api="example.org/v1")


def test_a_webhook_that_stops_talos() -> None:
    (diagnostic,) = requirements.webhook_diagnostics([hook(), WIDGET], behind=["cilium"], place=PLACE)

    assert diagnostic.severity is Severity.WARNING
    assert diagnostic.message == (
        "ValidatingWebhookConfiguration hook asks a webhook about Widget x/w: until its pods run, Talos stops there,"
        " and does not come to cilium"
    )


@pytest.mark.parametrize(
    "rule", [{"apiGroups": ["*"]}, {"resources": ["*"]}, {"operations": ["*"]}, {"resources": ["others", "widgets"]}]
)
def test_rules_that_catch_it(rule: dict[str, Any]) -> None:
    assert requirements.webhook_diagnostics([hook(rule=rule), WIDGET], behind=[], place=PLACE)


@pytest.mark.parametrize(
    "fields",
    [
        {"failurePolicy": "Ignore"},
        {"namespaceSelector": {"matchLabels": {"a": "b"}}},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"rule": {"operations": ["DELETE"]}},
        {"rule": {"apiGroups": ["example.com"]}},
        {"rule": {"resources": ["gadgets"]}},
    ],
)
def test_webhooks_that_do_not(fields: dict[str, Any]) -> None:
    assert requirements.webhook_diagnostics([hook(**fields), WIDGET], behind=[], place=PLACE) == []


def test_the_plural_is_that_of_the_definition() -> None:
    mouse = an_object("Mouse", "m", namespace="x", api="example.org/v1")
    objects = [hook(rule={"resources": ["mice"]}), mouse]

    assert requirements.webhook_diagnostics(objects, behind=[], place=PLACE) == []
    assert requirements.webhook_diagnostics([*objects, a_crd("Mouse", "mice", "example.org")], behind=[], place=PLACE)


def test_groups_that_somebody_else_must_define() -> None:
    own = a_crd("ServiceMonitor", "servicemonitors", "monitoring.coreos.com")

    assert requirements.missing_groups([CILIUM, MONITOR, WIDGET, own]) == {GATEWAY, "example.org"}
