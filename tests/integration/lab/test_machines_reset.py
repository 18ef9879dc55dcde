"""Machines of a running cluster that reboot, are upgraded and reset; they come after tests of machines as they are."""

import pytest

from firstlight.clients import kube, talosctl
from tests import machines
from tests.journeys.test_machines import reboot_and_upgrade, reset_and_remove


async def test_a_machine_is_bootstrapped_once(cluster: machines.Cluster) -> None:
    with pytest.raises(talosctl.TalosAlreadyDone):
        await cluster.talos.bootstrap(cluster.here("cp-1"))


async def test_a_worker_reboots_is_upgraded_reset_and_joins_anew(cluster: machines.Cluster) -> None:
    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as client:
        await reboot_and_upgrade(cluster, client, drain=False)
        await reset_and_remove(cluster, client)
