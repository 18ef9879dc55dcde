"""The rollout of a network plugin as the cluster shows it, and what is said of its preflight and of connectivity."""

from typing import Any

import pytest

from firstlight.commands.change.bootstrap.bootstrap_path import BootstrapScope
from firstlight.commands.change.cni import cni_manifests, cni_path, cni_preflight
from firstlight.gates import gate_parts
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.component import ObjectId, Side
from firstlight.model.decision import ChangeCheck, CheckState, Decision, DecisionItem, Moment, Risk
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, VerificationCheck, Waiting

AGENTS = ObjectId("apps", "DaemonSet", "kube-system", "cilium")
PODS = WatchTarget(api_version="v1", kind="Pod", namespace="kube-system")
NODES = ("cp-1", "cp-2", "worker-1")


def daemon_set(version: str, **status: int) -> dict[str, Any]:
    containers = [{"name": "cilium-agent", "image": f"quay.example.org/cilium/cilium:v{version}@sha256:ab"}]
    return {
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "cilium", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": containers}}}, "status": status,
    }  # fmt: skip


def pod(node: str, version: str, *, owner: str = "cilium", kind: str = "DaemonSet", going: bool = False) -> Any:
    metadata: dict[str, Any] = {"name": f"{owner}-{node}", "ownerReferences": [{"kind": kind, "name": owner}]}
    if going:
        metadata["deletionTimestamp"] = "2026-11-16T20:00:00Z"
    image = f"quay.example.org/cilium/cilium:v{version}"
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [{"image": image}]}}


def judged(live: dict[str, Any] | None, pods: list[Any]) -> Verdict:
    workload = cni_manifests.agents_of([Object(daemon_set("1.19.2"))])
    assert workload is not None
    nodes = [{"metadata": {"name": each}} for each in NODES]
    objects: dict[WatchTarget, Any] = {workload.look: [live] if live else [], PODS: pods, gate_parts.NODES: nodes}
    return cni_manifests.rollout(workload).judge(GateView(now=0.0, objects=objects))


FULL = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}
OLD = [pod(each, "1.18.4") for each in NODES]
NEW = [pod(each, "1.19.2") for each in NODES]


@pytest.mark.parametrize(
    ("live", "pods", "expected"),
    [
        (None, [], Waiting("DaemonSet kube-system/cilium is not there")),
        (
            daemon_set("1.18.4", **FULL), OLD,
            Waiting("DaemonSet kube-system/cilium still says 1.18.4: nobody has applied 1.19.2 yet"),
        ),
        (
            daemon_set("1.19.2", **{**FULL, "updatedNumberScheduled": 1}), [NEW[0], *OLD[1:]],
            Waiting("cilium: 1 of 3 run 1.19.2; cp-2 has 1.18.4, worker-1 has 1.18.4"),
        ),
        # The controller says that all are updated before the last one is gone.
        (daemon_set("1.19.2", **FULL), [*NEW[:2], OLD[2]], Waiting("cilium: 2 of 3 run 1.19.2; worker-1 has 1.18.4")),
        (daemon_set("1.19.2", **{**FULL, "numberAvailable": 2}), NEW, Waiting("cilium: 2/3")),
        (daemon_set("1.19.2", **FULL), [*NEW, pod("cp-1", "1.18.4", going=True)], Passed("cilium 1.19.2 3/3")),
        (daemon_set("1.19.2", **FULL), [*NEW, pod("cp-1", "1.0.0", owner="other")], Passed("cilium 1.19.2 3/3")),
    ],
)  # fmt: skip
def test_rollout(live: dict[str, Any] | None, pods: list[Any], expected: Verdict) -> None:
    assert judged(live, pods) == expected


def test_pods_of_an_operator_belong_to_its_replica_sets() -> None:
    operator = ObjectId("apps", "Deployment", "kube-system", "cilium-operator")
    pods = [pod("cp-1", "1.19.2", owner="cilium-operator-7d9f", kind="ReplicaSet"), pod("cp-2", "1.18.4")]

    assert cni_manifests.versions_by_node(pods, operator) == {"cp-1": "1.19.2"}


def test_agents_of_others_are_those_that_write_cni_s_configuration() -> None:
    plain = daemon_set("1.0.0") | {"metadata": {"name": "node-exporter", "namespace": "a"}}
    plain["spec"]["template"]["spec"]["containers"] = [{"image": "a/node-exporter:1.8.0"}]
    network = daemon_set("1.0.0") | {"metadata": {"name": "kube-flannel-ds", "namespace": "a"}}
    network["spec"]["template"]["spec"] = {
        "containers": [{"image": "a/flannel:v0.27.4"}], "volumes": [{"hostPath": {"path": "/etc/cni/net.d"}}],
    }  # fmt: skip

    found = cni_manifests.agents_of([Object(plain), Object(network)])

    assert found is not None
    assert (found.id.name, found.version) == ("kube-flannel-ds", "0.27.4")
    assert cni_manifests.agents_of([Object(plain)]) is None


def check(id: str, state: CheckState, says: str) -> ChangeCheck:
    return ChangeCheck(id=id, moment=Moment.PRE, title=id, state=state, says=says)


def test_a_failed_check_stops_an_upgrade_and_not_the_way_back() -> None:
    steps = check("cni-steps", CheckState.PASSED, "Cilium 1.18.4 › 1.19.2: the next minor version")
    ill = check("cni-health", CheckState.FAILED, "agents 1/2")
    asked = check("cni-defaults", CheckState.PERSON, "upgradeCompatibility is not set")

    assert cni_preflight.judge_preflight([steps]) == Passed(steps.says)
    assert cni_preflight.judge_preflight([steps, ill]) == Failed("agents 1/2")
    assert cni_preflight.judge_preflight([steps, ill], is_ill_allowed=True) == Passed(steps.says)
    assert cni_preflight.judge_preflight([steps, asked]) == Passed(
        f"{steps.says}; for somebody to look at: upgradeCompatibility is not set"
    )


@pytest.mark.parametrize(
    ("steps", "kind", "others"),
    [
        (("cluster", "inlineManifests", "[name=cilium]", "contents"), "v1alpha1", ()),
        (("manifest",), "KubeInlineManifestConfig", ()),
        (("machine", "sysctls", "vm.max_map_count"), "v1alpha1", ("machine config",)),
    ],
)
def test_machine_configs_go_with_it_only_as_far_as_they_hold_it(
    steps: tuple[str, ...], kind: str, others: tuple[str, ...]
) -> None:
    field = ChangedField(steps=steps, verb=ChangeVerb.CHANGED, place=Place("a", 1), before="a", after="b")
    change = Change(
        matter=Matter.MACHINE, verb=ChangeVerb.CHANGED, place=Place("a", 1), title="machine config", kind=kind,
        fields=(field,),
    )  # fmt: skip
    item = DecisionItem(change=change, side=Side.BOOTSTRAP, risk=Risk.HIGH, rulings=(), clusters=("home",))
    decision = Decision(side=Side.HYBRID, risk=Risk.HIGH, items=(item,))

    assert cni_preflight.other_bootstrap_parts(decision, BootstrapScope(has_machines=True), "cilium") == others


def test_nothing_else_of_bootstrap_goes_with_it() -> None:
    scope = BootstrapScope(components=("cilium", "coredns"), has_secrets=True)
    decision = Decision(side=Side.BOOTSTRAP, risk=Risk.HIGH, items=())

    assert cni_preflight.other_bootstrap_parts(decision, scope, "cilium") == ("coredns", "secrets of the foundation")


def test_what_was_not_tried_is_said() -> None:
    dns, cilium = (
        VerificationCheck(name="DNS", verdict=Passed("found")),
        VerificationCheck(name="Cilium", verdict=Skipped("not run")),
    )
    lost = VerificationCheck(name="pod to pod", verdict=Waiting("no answer"))

    assert cni_path.judge_connectivity([dns, cilium], is_lab=True) == Passed(
        "DNS: found; not run; simulated, since this is a lab"
    )
    assert cni_path.judge_connectivity([dns, lost]) == Failed("pod to pod: no answer")
