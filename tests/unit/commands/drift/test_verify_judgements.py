"""What ``verify`` makes of a cluster that it has seen: nodes, agents, operators, the inventory, the engine."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from firstlight.clients.cilium import Connectivity
from firstlight.commands.verify import connectivity, talos_inventory, verify
from firstlight.engines import adapters
from firstlight.engines.flux import verdicts as flux_verdicts
from firstlight.gates import cluster_health, gate_parts
from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

HERE = Place("talconfig.yaml", 1)
COMMIT = "3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594"


def see(**seen: list[dict[str, Any]]) -> GateView:
    """A view of what is given by kind; kinds that are not given have nothing."""
    looks: Mapping[str, WatchTarget] = {
        "nodes": gate_parts.NODES,
        "daemon_sets": cluster_health.DAEMON_SETS,
        "deployments": cluster_health.DEPLOYMENTS,
        "inventory": talos_inventory.INVENTORY,
        "kustomizations": adapters.followed(Engine.FLUX).everything,
        "applications": adapters.followed(Engine.ARGOCD).everything,
        "sources": flux_verdicts.GIT,
    }
    return GateView(now=1000.0, objects={look: tuple(seen.get(name, ())) for name, look in looks.items()})


def node(name: str, *, taints: tuple[str, ...] = (), **conditions: str) -> dict[str, Any]:
    found = {"Ready": "True", **conditions}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{"key": each, "effect": "NoSchedule"} for each in taints]},
        "status": {
            "conditions": [{"type": kind, "status": state} for kind, state in found.items()],
            "nodeInfo": {"osImage": "Talos (v1.13.0)"},
        },
    }


def daemon_set(name: str, desired: int, available: int, *, path: str = "/etc/cni/net.d") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"template": {"spec": {"volumes": [{"hostPath": {"path": path}}]}}},
        "status": {
            "observedGeneration": 1,
            "desiredNumberScheduled": desired,
            "updatedNumberScheduled": desired,
            "numberAvailable": available,
        },
    }


def deployment(name: str, available: int, *, scaled_by: str = "", replicas: int = 2) -> dict[str, Any]:
    labels = {"app": name}
    rule = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    fields = [{"manager": "helm", "operation": "Apply"}]
    if scaled_by:
        fields.append({"manager": scaled_by, "operation": "Update", "subresource": "scale"})
    return {
        "metadata": {"name": name, "generation": 1, "managedFields": fields},
        "spec": {
            "replicas": replicas,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}},
            },
        },
        "status": {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "availableReplicas": available,
        },
    }


TWO = [node("cp-1"), node("cp-2")]


@pytest.mark.parametrize(
    ("view", "verdict"),
    [
        (see(nodes=TWO), Skipped("there is no DaemonSet")),
        (see(nodes=TWO, daemon_sets=[daemon_set("cilium", 2, 2)]), Passed("cilium 2/2")),
        (see(nodes=TWO, daemon_sets=[daemon_set("cilium", 2, 1)]), Waiting("cilium 1/2")),
        (
            see(nodes=TWO, daemon_sets=[daemon_set("cilium", 1, 1)]),
            Waiting("cilium is to be on 1 of 2 nodes, and pods have no network without it"),
        ),
        (see(nodes=TWO, daemon_sets=[daemon_set("gpu", 1, 1, path="/dev")]), Passed("gpu 1/1")),
    ],
    ids=["none", "all", "one-missing", "not-on-all", "not-a-network"],
)
def test_agents(view: GateView, verdict: Verdict) -> None:
    assert cluster_health.judge_agents(view) == verdict


@pytest.mark.parametrize(
    ("view", "verdict"),
    [
        (see(nodes=TWO), Skipped("no Deployment keeps its replicas apart")),
        (
            see(nodes=TWO, deployments=[deployment("cilium-operator", 2)]),
            Passed("cilium-operator 2/2; none was scaled by hand"),
        ),
        (see(nodes=TWO, deployments=[deployment("cilium-operator", 1)]), Waiting("cilium-operator 1/2")),
        (
            see(nodes=TWO[:1], deployments=[deployment("cilium-operator", 1)]),
            Passed("cilium-operator 1/2, second replica waits for a second node; none was scaled by hand"),
        ),
        (
            see(nodes=TWO, deployments=[deployment("cilium-operator", 2, scaled_by="kubectl")]),
            Failed("cilium-operator was scaled by kubectl, not by the scheduler's finding a node"),
        ),
        (
            see(nodes=TWO, deployments=[deployment("web", 2, scaled_by="kube-controller-manager")]),
            Passed("web 2/2; none was scaled by hand"),
        ),
        (
            see(nodes=TWO, deployments=[deployment("web", 0, replicas=1)]),
            Skipped("no Deployment keeps its replicas apart"),
        ),
    ],
    ids=["none", "both", "second-missing", "one-node", "by-hand", "autoscaled", "one-replica"],
)
def test_operators(view: GateView, verdict: Verdict) -> None:
    assert cluster_health.judge_operators(view) == verdict


def test_what_is_being_deleted_is_not_held_against_anybody() -> None:
    going = {"deletionTimestamp": "2026-11-16T07:00:00Z"}
    agent, operator = daemon_set("cilium", 2, 0), deployment("cilium-operator", 0)
    view = see(
        nodes=TWO,
        daemon_sets=[{**agent, "metadata": {**agent["metadata"], **going}}],
        deployments=[{**operator, "metadata": {**operator["metadata"], **going}}],
    )

    assert isinstance(cluster_health.judge_agents(view), Skipped)
    assert isinstance(cluster_health.judge_operators(view), Skipped)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (TWO, Passed("2 nodes ready")),
        ([node("cp-1"), node("cp-2", MemoryPressure="True")], Waiting("cp-2 reports MemoryPressure")),
        (
            [node("cp-1", taints=("node.cilium.io/agent-not-ready",)), node("cp-2")],
            Waiting("cp-1 still has the taint node.cilium.io/agent-not-ready"),
        ),
        ([node("cp-1", taints=("node-role.kubernetes.io/control-plane",)), node("cp-2")], Passed("2 nodes ready")),
    ],
    ids=["ready", "pressure", "guard", "own-taint"],
)
def test_nodes(seen: list[dict[str, Any]], verdict: Verdict) -> None:
    machines = [Machine(name=each, role=MachineRole.CONTROL_PLANE, place=HERE) for each in ("cp-1", "cp-2")]

    assert cluster_health.judge_nodes(see(nodes=seen), machines) == verdict


def test_a_control_plane_that_has_not_joined_is_waited_for() -> None:
    machines = [Machine(name=each, role=MachineRole.CONTROL_PLANE, place=HERE) for each in ("cp-1", "cp-3")]

    verdict = cluster_health.judge_nodes(see(nodes=TWO), machines)

    assert isinstance(verdict, Waiting)
    assert "cp-3" in verdict.reason


@pytest.mark.parametrize(
    ("found", "talos", "has_inline", "verdict"),
    [
        ([{"data": {"a": "1", "b": "1"}}], "v1.13.0", True, Passed("2 objects")),
        ([{"data": {"a": "1"}}], "", False, Passed("1 object")),
        ([{}], "v1.13.0", True,
         Failed("the inventory is empty: Talos has lost what it applied, and would not prune or keep it")),
        ([], "v1.13.0", True, Failed("there is no inventory: Talos has not applied the inline manifests")),
        ([], "", True, Failed("there is no inventory: Talos has not applied the inline manifests")),
        ([], "v1.13.0", False, Skipped("there is none, and no inline manifest is declared")),
        ([], "v1.12.4", True, Skipped("Talos 1.12 keeps none")),
    ],
    ids=["there", "undeclared", "empty", "absent", "version-of-the-nodes", "no-inline", "older"],
)  # fmt: skip
def test_the_inventory(found: list[dict[str, Any]], talos: str, has_inline: bool, verdict: Verdict) -> None:
    assert (
        talos_inventory.judge_inventory(see(nodes=TWO, inventory=found), talos=talos, has_inline=has_inline) == verdict
    )


def test_without_talos_there_is_no_inventory_to_miss() -> None:
    verdict = talos_inventory.judge_inventory(see(), talos="", has_inline=True)

    assert verdict == Skipped("there is none, and nothing says that Talos 1.13 runs here")


def kustomization(name: str, commit: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "flux-system", "generation": 1},
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "flux-system"}, **spec},
        "status": {
            "observedGeneration": 1,
            "lastAppliedRevision": f"main@sha1:{commit}",
            "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}],
        },
    }


def repository(name: str, url: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "flux-system"}, "spec": {"url": url}}


REPO = "https://git.example.org/me/home"
OURS = repository("flux-system", f"{REPO}.git")


def judge_engine(view: GateView, which: Engine | None = Engine.FLUX, *, resting: Collection[ObjectId] = ()) -> Verdict:
    cluster = Cluster(name="infra", place=HERE, engine=which, url=REPO)
    return cluster_health.judge_engine(view, cluster=cluster, revision=COMMIT, resting=resting)


def test_an_engine_at_the_expected_commit() -> None:
    view = see(kustomizations=[kustomization("apps", COMMIT), kustomization("infra", COMMIT)], sources=[OURS])

    assert judge_engine(view) == Passed("2 Kustomizations synced at 3f2a91c")


def test_a_commit_is_named_only_where_the_engine_has_it() -> None:
    """What follows another repository was never held against the commit that was rendered."""
    other = kustomization("apps", "0" * 40, sourceRef={"kind": "GitRepository", "name": "other"})
    theirs = repository("other", "https://git.example.org/other")
    both = see(kustomizations=[other, kustomization("infra", COMMIT)], sources=[OURS, theirs])
    alone = see(kustomizations=[other], sources=[OURS, theirs])

    assert judge_engine(both) == Passed("2 Kustomizations synced, 1 of them at 3f2a91c")
    assert judge_engine(alone) == Passed(f"1 Kustomization synced, none of them from {REPO}")


def test_an_engine_at_another_commit_is_waited_for() -> None:
    verdict = judge_engine(see(kustomizations=[kustomization("apps", "0" * 40), kustomization("infra", COMMIT)]))

    assert isinstance(verdict, Waiting)
    assert "Kustomization flux-system/apps has applied main@0000000, not 3f2a91c" in verdict.reason


def test_what_is_suspended_is_not_synced() -> None:
    verdict = judge_engine(see(kustomizations=[kustomization("apps", COMMIT, suspend=True)]))

    assert isinstance(verdict, Waiting)
    assert "suspended" in verdict.reason


def test_nobody_waits_for_what_git_lets_rest() -> None:
    apps = ObjectId("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "apps")
    view = see(
        kustomizations=[kustomization("apps", "0" * 40, suspend=True), kustomization("infra", COMMIT)], sources=[OURS]
    )

    assert judge_engine(view, resting={apps}) == Passed("1 Kustomization synced at 3f2a91c, 1 at rest")


def test_an_application_at_rest() -> None:
    metadata = {"name": "web", "namespace": "argocd", "annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}
    view = see(applications=[{"metadata": metadata}])
    web = ObjectId("argoproj.io", "Application", "argocd", "web")

    assert judge_engine(view, Engine.ARGOCD, resting={web}) == Skipped("Application argocd/web rests, and Git says so")
    assert "is skipped" in judge_engine(view, Engine.ARGOCD).reason


def test_an_engine_that_is_not_there() -> None:
    missing = GateView(now=0.0, unserved=frozenset({adapters.followed(Engine.ARGOCD).everything}))

    assert judge_engine(see(), None) == Skipped("no engine is declared")
    assert judge_engine(see()) == Waiting("there is no Kustomization: flux follows nothing yet")
    assert judge_engine(missing, Engine.ARGOCD) == Waiting("Application is not served: argocd is not installed")


def test_one_application() -> None:
    app = {
        "metadata": {"name": "root", "namespace": "argocd"},
        "spec": {"syncPolicy": {"automated": {}}, "source": {"repoURL": REPO}},
        "status": {
            "reconciledAt": "2026-11-16T06:00:00Z",
            "sync": {"status": "Synced", "revision": COMMIT},
            "health": {"status": "Healthy"},
            "operationState": {"phase": "Succeeded"},
        },
    }

    assert judge_engine(see(applications=[app]), Engine.ARGOCD) == Passed("1 Application synced at 3f2a91c")


@pytest.mark.parametrize(
    ("endpoint", "machines", "verdict"),
    [
        (Passed(), {}, Passed("the endpoint is ready")),
        (Passed(), {"cp-1": Passed(), "cp-2": Passed()},
         Passed("the endpoint is ready; cp-1, cp-2 by their own address")),
        (Passed(), {"cp-1": Passed(), "cp-2": Skipped("no route")},
         Passed("the endpoint is ready; cp-1 by its own address; not reached from here: cp-2")),
        (Passed(), {"cp-1": Failed("not ready (etcd)"), "cp-2": Passed()}, Failed("cp-1: not ready (etcd)")),
        (Skipped("no route"), {"cp-1": Passed()}, Failed("the endpoint: no route")),
    ],
    ids=["endpoint", "all", "one-out-of-reach", "one-broken", "no-endpoint"],
)  # fmt: skip
def test_endpoints(endpoint: Verdict, machines: dict[str, Verdict], verdict: Verdict) -> None:
    assert verify.combined_endpoints(endpoint, machines) == verdict


def test_ciliums_own_test_proves_something_only_if_it_ran_and_nothing_failed() -> None:
    actions = tuple(f"no-policies/pod-to-pod/{n}: a -> b" for n in range(12))
    bad = Connectivity(tests=2, actions=52, skipped=9, failed=("no-policies",), actions_failed=actions)

    assert connectivity.judge_cilium(Connectivity(tests=2, actions=52, skipped=9)) == Passed(
        "2 tests, 52 actions; 9 tests skipped"
    )
    assert connectivity.judge_cilium(bad) == Failed("no-policies failed; 2 tests, 52 actions; 9 tests skipped")
    assert isinstance(connectivity.judge_cilium(Connectivity(tests=0, actions=0, skipped=109)), Failed)
