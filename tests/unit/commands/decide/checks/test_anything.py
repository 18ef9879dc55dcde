"""What strangers write may have any form: nothing here ends in a crash."""

import time
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from firstlight.commands.decide.checks import capacity, monitoring, object_schema, performance, rollback, security
from firstlight.commands.decide.checks.check_input import ObjectPair
from firstlight.commands.decide.checks.monitoring import WatchedComponent
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.rendition import Object

KINDS = [
    ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("v1", "Pod"), ("v1", "Service"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"), ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("v1", "Namespace"), ("v1", "PersistentVolumeClaim"), ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("monitoring.coreos.com/v1", "PrometheusRule"), ("monitoring.coreos.com/v1", "PodMonitor"),
    ("notification.toolkit.fluxcd.io/v1beta3", "Alert"), ("argoproj.io/v1alpha1", "Application"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"), ("networking.k8s.io/v1", "NetworkPolicy"),
]  # fmt: skip
KEYS = st.sampled_from(
    [
        "spec", "template", "containers", "initContainers", "name", "resources", "requests", "cpu", "replicas", "rules",
        "verbs", "apiGroups", "subjects", "roleRef", "metadata", "labels", "annotations", "selector", "matchLabels",
        "versions", "schema", "openAPIV3Schema", "properties", "type", "required", "enum", "items", "pattern", "group",
        "names", "kind", "groups", "alert", "expr", "eventSources", "securityContext", "capabilities", "add", "env",
        "volumeClaimTemplates", "storage", "size", "served", "status", "containerStatuses", "nullable",
        "additionalProperties", "x-kubernetes-int-or-string", "minimum", "allocatable",
    ]
)  # fmt: skip
LEAF = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["", "1", "a", "*", "object", "(", "10Gi", 'web=~"'])
)
VALUE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)
OBJECT = st.builds(
    lambda kind, inner: {**inner, "apiVersion": kind[0], "kind": kind[1]},
    st.sampled_from(KINDS),
    st.dictionaries(KEYS, VALUE, max_size=4),
)


@hypothesis.settings(max_examples=300)
@hypothesis.given(OBJECT, OBJECT | st.none())
def test_no_object_crashes_a_check(after: dict[str, Any], other: dict[str, Any] | None) -> None:
    before = {**other, "kind": after["kind"], "apiVersion": after["apiVersion"]} if other is not None else None
    for old, new in ((before, after), (after, before), (None, after)):
        if old is None and new is None:
            continue
        pair = ObjectPair(id=ObjectId.of(new or old or {}), place=Place("x"), before=old, after=new)
        rollback.irreversible_pairs([pair])
        security.added_exposures(pair)
        capacity.judged_capacity(capacity.resource_demands((pair,)), capacity.node_capacities([after], [after]))
    performance.restarts([after])
    watched = WatchedComponent(component=None, objects=(Object(after),))
    monitoring.covers_of(watched, [after, *([before] if before else [])])
    monitoring.node_covers([after])
    monitoring.example_alert(watched)


@hypothesis.settings(max_examples=300)
@hypothesis.given(VALUE, VALUE)
def test_no_schema_crashes_a_check(schema: Any, value: Any) -> None:
    version = {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}}}
    crd = {"spec": {"group": "example.org", "names": {"kind": "Box"}, "versions": [version, value]}}

    object_schema.schemas_of_crds([crd, {"spec": value}]).problems(
        {"apiVersion": "example.org/v1", "kind": "Box", "spec": value}
    )


@pytest.mark.parametrize(
    "expression", ['namespace=~"' + "(a|" * 5000, "a" * 100_000, '{pod=~"[[[["}', 'x{name="' * 2000]
)
def test_no_expression_takes_long(expression: str) -> None:
    value = {"groups": [{"rules": [{"alert": "A", "expr": expression}]}]}
    rule = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "spec": value}

    begun = time.process_time()
    monitoring.covers_of(WatchedComponent(component=None), [rule])
    assert time.process_time() - begun < 2.0
