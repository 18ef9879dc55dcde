"""Failures of machines, etcd and the API, made with virtual machines and the real talosctl, and named."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from firstlight.clients import command, kube
from firstlight.observe.cluster import kubernetes_survey
from tests import stuck_crds
from tests.doctor.failure import cells, named
from tests.doctor.of_machines import BARE, CLUSTER, with_keys, without_keys
from tests.labs import condition, until
from tests.machines import Cluster, Make


@pytest.mark.parametrize("failure", cells(CLUSTER))
async def test_it_is_named(failure: str, cluster: Cluster) -> None:
    one = CLUSTER.failures[failure]
    looking = kube.Client(kube.load(cluster.lab.kubeconfig), policy=kubernetes_survey.POLICY)
    async with looking as client, one.make(cluster) as expected:
        await named(one, expected, with_keys(cluster, client))


@pytest.mark.long
async def test_the_command_for_a_stuck_crd_wakes_it_and_leaves_no_trace(
    cluster: Cluster, programs: dict[str, Path]
) -> None:
    one = CLUSTER.failures["crd-stuck"]
    looking = kube.Client(kube.load(cluster.lab.kubeconfig), policy=kubernetes_survey.POLICY)
    async with looking as client, one.make(cluster) as expected:
        symptom = (await named(one, expected, with_keys(cluster, client))).causes[0].symptom
        name = symptom.subject.rpartition(" ")[2]
        before = (await client.get(*stuck_crds.CRD, name))["metadata"]["managedFields"]
        kubectl, *words = shlex.split(symptom.next[0].command)
        assert kubectl == "kubectl"
        done = await command.run([str(programs["kubectl"]), "--kubeconfig", str(cluster.lab.kubeconfig), *words])

        async def established() -> dict[str, Any] | None:
            found = await client.get(*stuck_crds.CRD, name)
            return found if condition(found, "Established") == "True" else None

        after = await until(established, f"{name} to be established after {done}", timeout=15)

    assert [_owned(each) for each in after["metadata"]["managedFields"]] == [_owned(each) for each in before]


def _owned(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in entry.items() if key != "time"}


@pytest.mark.parametrize("failure", cells(BARE))
async def test_it_is_named_for_a_bare_machine(failure: str, fresh_machines: Make) -> None:
    one, bare = BARE.failures[failure], await fresh_machines(machines=1)
    async with one.make(bare) as expected:
        await named(one, expected, without_keys(bare))
