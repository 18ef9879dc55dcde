import fnmatch
from typing import Any

import pytest

from firstlight import errors
from firstlight.lab import lab_settings, loopback_network
from firstlight.lab.actors import actor_table
from firstlight.lab.machines import machine_node
from firstlight.tools import catalogue

FLUX = actor_table.rows(["flux"])


def pod(
    name: str = "source-controller-5d9f-abcde",
    *,
    image: str = "ghcr.io/fluxcd/source-controller:v1.9.0",
    namespace: str = "flux-system",
    workload: str = "source-controller",
    kind: str = "ReplicaSet",
    uid: str = "1",
    created: str = "2026-01-01T00:00:00Z",
    ready: bool = True,
    node: str = "worker-1",
    args: tuple[str, ...] = (),
    **metadata: Any,
) -> dict[str, Any]:
    owner = f"{workload}-5d9f" if kind == "ReplicaSet" else workload
    return {
        "metadata": {
            "name": name, "namespace": namespace, "uid": uid, "creationTimestamp": created,
            "labels": {"pod-template-hash": "5d9f"},
            "ownerReferences": [{"kind": kind, "name": owner, "controller": True}], **metadata,
        },
        "spec": {"nodeName": node, "containers": [{"name": "manager", "image": image, "args": list(args)}]},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }  # fmt: skip


NODES: dict[str, dict[str, Any]] = {
    "worker-1": {"metadata": {"name": "worker-1"}},
    "off": {"metadata": {"name": "off", "annotations": {machine_node.POWER: machine_node.OFF}}},
}


def chosen(*pods: dict[str, Any], current: dict[str, str] | None = None) -> dict[str, str]:
    found = actor_table.choose(FLUX, pods, NODES, current=current or {})
    return {name: one["metadata"]["uid"] for name, (_, one) in found.items()}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (pod(), ["source-controller"]),
        (pod(image="registry:5000/mirror/source-controller@sha256:00"), ["source-controller"]),
        (pod(kind="StatefulSet"), ["source-controller"]),
        (pod(namespace="other"), ["other.source-controller"]),
        (pod(workload="source-controller-shard1"), ["flux-system.source-controller-shard1"]),
        (pod(image="ghcr.io/fluxcd/notification-controller:v1.9.0"), []),
        (pod(image="evil/source-controller-but-not:1"), []),
        (pod(ready=False), []),
        (pod(node="gone"), []),
        (pod(node="off"), []),
        (pod(node=""), []),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), []),
        (pod(kind="DaemonSet"), []),
        (pod(ownerReferences=[]), []),
        (pod(ownerReferences=[{"kind": "ReplicaSet", "name": "by-hand", "controller": True}]), []),
    ],
)
def test_a_program_runs_for_a_ready_pod_of_a_workload_that_is_known(given: dict[str, Any], names: list[str]) -> None:
    assert list(chosen(given)) == names


def test_one_replica_is_enough_and_it_stays_the_same_one() -> None:
    old, new = pod(uid="old"), pod("b", uid="new", created="2026-01-02T00:00:00Z")

    assert chosen(new, old) == {"source-controller": "old"}
    assert chosen(new, old, current={"source-controller": "new"}) == {"source-controller": "new"}
    assert chosen(new, current={"source-controller": "old"}) == {"source-controller": "new"}


def test_only_what_was_asked_for_runs() -> None:
    operator = pod(image="ghcr.io/controlplaneio-fluxcd/flux-operator:v0.59.0", workload="flux-operator")

    assert chosen(operator) == {}
    assert actor_table.choose(actor_table.rows([]), [pod()], NODES, current={}) == {}
    assert "flux-operator" in actor_table.choose(actor_table.rows(["flux-operator"]), [operator], NODES, current={})


def test_names_are_short_enough_for_files_and_differ() -> None:
    one, other = (actor_table.actor_name(FLUX[0], "n" * 63, "w" * 200 + end) for end in "ab")

    assert one != other
    assert max(len(one), len(other)) <= actor_table.LONGEST


class TestAddresses:
    def test_an_actor_keeps_its_own_and_a_new_one_takes_the_lowest(self) -> None:
        assert actor_table.numbered("a", {"a": 7}, ["a"]) == {"a": 7}
        assert actor_table.numbered("b", {"a": 1, "c": 3}, ["a", "c"]) == {"a": 1, "b": 2, "c": 3}

    def test_those_of_actors_that_are_gone_are_taken_when_all_others_are(self) -> None:
        taken = {f"n{number}": number for number in range(1, loopback_network.ACTORS + 1)}

        assert actor_table.numbered("new", taken, [name for name in taken if name != "n7"])["new"] == 7
        with pytest.raises(errors.LabError, match="no address is free"):
            actor_table.numbered("new", taken, list(taken))

    def test_they_are_no_machines(self) -> None:
        net = loopback_network.LoopbackNetwork(4)
        last = int(net.machine(190).rsplit(".", 1)[1])

        assert last < int(net.actor(1).rsplit(".", 1)[1])
        assert int(net.actor(loopback_network.ACTORS).rsplit(".", 1)[1]) < 255


class TestTable:
    @pytest.mark.parametrize("row", actor_table.table(), ids=lambda row: row.name)
    def test_every_row_is_asked_for_by_the_settings_and_has_what_it_needs_in_the_catalogue(
        self, row: actor_table.ActorRow
    ) -> None:
        assert set(row.of) <= set(lab_settings.ACTOR_NAMES)
        known = catalogue.load()
        for name in actor_table.installed(row.of):
            assert name in known.names

    @pytest.mark.parametrize("name", lab_settings.ACTOR_NAMES)
    def test_all_that_can_be_asked_for_is_there(self, name: str) -> None:
        assert actor_table.rows([name])

    def test_rows_have_names_of_their_own(self) -> None:
        names = [row.name for row in actor_table.table()]

        assert len(names) == len(set(names))

    def test_an_operator_brings_what_it_installs(self) -> None:
        assert {row.name for row in actor_table.rows(["flux"])} < {
            row.name for row in actor_table.rows(["flux-operator"])
        }
        assert {"flux-operator", "flux-operator-manifests", "source-controller"} <= set(
            actor_table.installed(["flux-operator"])
        )
        assert 9090 in actor_table.actor_ports(["flux"])


@pytest.mark.parametrize(
    ("image", "name", "tag"),
    [
        ("redis", "redis", ""),
        ("a/b/c:1", "c", "1"),
        ("host:5000/c", "c", ""),
        ("host:5000/a/c:v1@sha256:12", "c", "v1"),
    ],
)
def test_images(image: str, name: str, tag: str) -> None:
    assert (actor_table.image_name(image), actor_table.image_tag(image)) == (name, tag)


@pytest.mark.parametrize("row", actor_table.table(), ids=lambda row: row.name)
def test_no_pod_can_have_commands_of_kubeconfigs_run(row: actor_table.ActorRow) -> None:
    """Flux leaves out the commands of a kubeconfig unless it is told otherwise."""
    assert not any(fnmatch.fnmatch("insecure-kubeconfig-exec", each) for each in row.keep)


@pytest.mark.parametrize("row", actor_table.rows(["argocd"]), ids=lambda row: row.name)
def test_whatever_a_repository_can_have_execute_something_is_confined(row: actor_table.ActorRow) -> None:
    assert row.program != "argocd" or row.executes is not None
    assert set(row.guarded) >= set(row.path) - {row.program}
    assert not {"sh", "bash", "env", "python3", "tar", "docker"} & set(row.executes or ())
