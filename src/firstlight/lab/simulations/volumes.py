"""An external provisioner for every StorageClass: a claim that waits gets a volume; the controller manager binds it."""

from firstlight.lab.simulations.world import MANAGER, Object, World, key

PROVISIONER = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


class Simulation:
    """The provisioner."""

    what = "claims get PersistentVolumes; nothing is stored"

    async def start(self, world: World) -> None:
        """Follow claims, volumes and classes."""
        self._claims = await world.follow("v1", "PersistentVolumeClaim")
        self._volumes = await world.follow("v1", "PersistentVolume")
        self._classes = await world.follow("storage.k8s.io/v1", "StorageClass")

    async def act(self, world: World) -> None:
        """Make volumes for claims that wait, and delete those that were released."""

        async def provision(claim: Object) -> None:
            storage_class = self._classes.get(("", claim["spec"].get("storageClassName", "")))
            if storage_class is not None and is_due(claim, storage_class):
                made = volume(claim, storage_class)
                if key(made) not in self._volumes:
                    await world.client.apply(made, manager=MANAGER)

        async def delete(released: Object) -> None:
            await world.client.delete("v1", "PersistentVolume", released["metadata"]["name"])

        await world.each([claim for claim in list(self._claims.values()) if _waits(claim)], provision)
        await world.each([each for each in list(self._volumes.values()) if _is_released(each)], delete)


def _is_released(volume: Object) -> bool:
    mine = PROVISIONED_BY in volume["metadata"].get("annotations", {})
    released = volume.get("status", {}).get("phase") == "Released" and "deletionTimestamp" not in volume["metadata"]
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
