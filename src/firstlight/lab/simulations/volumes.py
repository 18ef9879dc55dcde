"""An external provisioner for every StorageClass: a claim that waits gets a volume; the controller manager binds it."""

import asyncio

from firstlight.clients import kube
from firstlight.lab.simulations.world import MANAGER, Object, World, key

WHAT = "claims get PersistentVolumes; nothing is stored"

PROVISIONER = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


async def run(world: World) -> None:
    """Follow claims and released volumes."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_provision(world))
        tasks.create_task(_delete(world))


async def _provision(world: World) -> None:
    async for event in world.client.watch("v1", "PersistentVolumeClaim"):
        if isinstance(event, kube.Synced):
            world.start("volumes")
        elif not isinstance(event, kube.Deleted) and _waits(event.object):
            with world.forgiving(f"volume for {key(event.object)}"):
                storage_class = await world.client.get(
                    "storage.k8s.io/v1", "StorageClass", event.object["spec"]["storageClassName"]
                )
                if is_due(event.object, storage_class):
                    await world.client.apply(volume(event.object, storage_class), manager=MANAGER)


async def _delete(world: World) -> None:
    async for event in world.client.watch("v1", "PersistentVolume"):
        if isinstance(event, kube.Added | kube.Modified) and _is_released(event.object):
            name = event.object["metadata"]["name"]
            with world.forgiving(f"released volume {name}"):
                await world.client.delete("v1", "PersistentVolume", name)


def _is_released(volume: Object) -> bool:
    mine = PROVISIONED_BY in volume["metadata"].get("annotations", {})
    released = volume["status"].get("phase") == "Released"
    return mine and released and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"


def _waits(claim: Object) -> bool:
    pending = claim["status"].get("phase") == "Pending" and not claim["spec"].get("volumeName")
    return pending and PROVISIONER in claim["metadata"].get("annotations", {})


def is_due(claim: Object, storage_class: Object) -> bool:
    """A class that waits for the first consumer is due when the scheduler has chosen a node."""
    if storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
        return True
    return SELECTED_NODE in claim["metadata"].get("annotations", {})


def volume(claim: Object, storage_class: Object) -> Object:
    """The volume for a claim."""
    namespace, name = key(claim)
    uid = claim["metadata"]["uid"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pvc-{uid}", "annotations": {PROVISIONED_BY: storage_class["provisioner"]}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
            "storageClassName": storage_class["metadata"]["name"],
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            # A host path needs no attaching, which nobody would do.
            "hostPath": {"path": f"/simulated/{uid}"},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": uid,
            },
        },
    }  # fmt: skip
