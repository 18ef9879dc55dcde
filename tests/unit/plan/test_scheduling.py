"""Whether a node takes pods, where not every machine is known, and how that is said."""

from typing import Any

import pytest

from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.plan import Plan
from firstlight.plan import build
from tests.unit.plan import platforms

CHOSEN = "Omni chooses 2 workers by the machine class small: which, only Omni knows"
CLASS = {"omni-machine-class": CHOSEN}
COMPONENTS = {
    "cilium": {"phase": "inline", "role": "cni", "inline": 1},
    "argocd": {"phase": "engine", "role": "engine", "chart": "argo-cd", "namespace": "argocd"},
}
PAIR = """
{apiVersion: apps/v1, kind: Deployment, metadata: {name: pair, namespace: argocd}, spec: {replicas: 2,
  template: {spec: {tolerations: [{operator: Exists}], containers: [{ports: [{hostPort: 80}]}]}}}}
"""


def built(count: int, **more: Any) -> Plan:
    cluster = {"engine": "argocd", "omni": True, "machines": {"controlplane": count}, "network": {"cni": "none"}}
    platform, renditions = platforms.make({"clusters": {"home": cluster}, "components": COMPONENTS, **more})
    return build.build(platform, platform.clusters[0], renditions=renditions)


def found(plan: Plan, rule: str = "pods-unschedulable") -> list[Diagnostic]:
    return [each for each in plan.problems if each.code == rule]


def test_machines_that_omni_chooses_may_take_the_pods() -> None:
    (problem,) = found(built(3, diagnostics={"talos.yaml": {"unknown": CLASS}}))

    assert problem.severity == Severity.WARNING
    assert problem.message == (
        "perhaps no node takes the pods of argocd: all 3 machines that the repo lists are tainted control planes"
    )
    assert [(each.text, str(each.place)) for each in problem.evidence][1] == (CHOSEN, "talos.yaml:20")


@pytest.mark.parametrize(
    "diagnostics",
    [
        {},
        {"other.yaml": {"unknown": CLASS}},
        {"talos.yaml": {"unknown": {"talos-template-not-evaluated": CHOSEN}}},
    ],
)
def test_other_diagnostics_leave_it_as_bad_as_it_is(diagnostics: dict[str, Any]) -> None:
    (problem,) = found(built(3, diagnostics=diagnostics))

    assert problem.severity == Severity.WARNING
    assert problem.message == "no node takes the pods of argocd: all 3 machines are tainted control planes"


def test_replicas_are_not_counted_against_nodes_that_are_not_known() -> None:
    renditions = {"argocd": {"bootstrap": PAIR}}

    assert found(built(1, renditions=renditions), "replicas-wait")
    assert not found(built(1, renditions=renditions, diagnostics={"talos.yaml": {"unknown": CLASS}}), "replicas-wait")


@pytest.mark.parametrize(
    ("count", "what", "message"),
    [
        (1, "1 machine; Omni bootstraps etcd", "the only machine is a tainted control plane"),
        (2, "2 machines; Omni bootstraps etcd", "all 2 machines are tainted control planes"),
    ],
)
def test_one_machine_is_not_many(count: int, what: str, message: str) -> None:
    plan = built(count)

    assert plan.by_id["machine:template"].what == what
    assert found(plan)[0].message.endswith(message)
