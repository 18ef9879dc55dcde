"""The shared lab can be put back to where it was: a cold copy of etcd's data."""

from firstlight.clients import kube
from firstlight.lab.running_lab import Lab
from tests.labs import NETWORK, manifests


async def test_what_was_done_since_is_gone_and_what_was_there_is_back(lab: Lab) -> None:
    marker = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "since", "namespace": "default"}}
    (network,) = manifests(NETWORK)
    await lab.save("base")
    try:
        async with kube.Client(kube.load(lab.kubeconfig)) as client:
            await client.apply(marker, manager="tests")
            await client.delete("apps/v1", "DaemonSet", network["metadata"]["name"], namespace="kube-system")
    finally:
        await lab.restore("base")

    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        found = {each["metadata"]["name"] for each in (await client.list("v1", "ConfigMap", namespace="default")).items}
        back = await client.get("apps/v1", "DaemonSet", network["metadata"]["name"], namespace="kube-system")
    assert "since" not in found
    assert back["metadata"]["name"] == network["metadata"]["name"]
