"""Failures of machines, etcd and the API, made with virtual machines and the real talosctl, and named."""

import pytest

from firstlight.clients import kube as kube_client
from firstlight.observe.doctor import api
from tests.doctor.failure import cells, named
from tests.doctor.of_machines import BARE, CLUSTER, with_keys, without_keys
from tests.machines import Cluster, Make


@pytest.mark.parametrize("failure", cells(CLUSTER))
async def test_it_is_named(failure: str, cluster: Cluster) -> None:
    one = CLUSTER.failures[failure]
    looking = kube_client.Client(kube_client.load(cluster.lab.kubeconfig), policy=api.POLICY)
    async with looking as client, one.make(cluster) as expected:
        await named(one, expected, with_keys(cluster, client))


@pytest.mark.parametrize("failure", cells(BARE))
async def test_it_is_named_for_a_bare_machine(failure: str, fresh_machines: Make) -> None:
    one, bare = BARE.failures[failure], await fresh_machines(machines=1)
    async with one.make(bare) as expected:
        await named(one, expected, without_keys(bare))
