"""The status of custom resources whose controller is not real, by the table in custom_resources.yaml."""

import base64
import contextlib
import ipaddress
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from firstlight.clients import kube
from firstlight.lab import lab_settings
from firstlight.lab.simulations.simulated_cluster import (
    MANAGER,
    Object,
    SimulatedCluster,
    condition,
    is_ready,
    key,
    now,
)
from firstlight.model import argocd_names


def custom_resource_rules() -> tuple[lab_settings.CustomResourceRule, ...]:
    """The table."""
    raw = yaml.load(Path(__file__).with_name("custom_resources.yaml").read_text(), Loader=yaml.CSafeLoader)
    return msgspec.convert(raw, tuple[lab_settings.CustomResourceRule, ...])


class CustomResourceSimulation:
    """Controllers that are not real."""

    what = "conditions of resources whose controller is a simulated pod"

    async def start(self, world: SimulatedCluster) -> None:
        """Read the table; kinds are followed once they are defined."""
        self._rules = (*world.settings.custom_resources, *custom_resource_rules())

    async def act(self, world: SimulatedCluster) -> None:
        """Write what a controller that is up would have written."""
        for rule in self._rules:
            definition = world.definition(rule.group, rule.kind)
            if definition is None or not world.has_ready_pod(rule.controller):
                continue

            async def settle(found: Object, rule: lab_settings.CustomResourceRule = rule) -> None:
                await self._settle(world, rule, found)

            await world.each([definition], settle)

    async def _settle(self, world: SimulatedCluster, rule: lab_settings.CustomResourceRule, definition: Object) -> None:
        store = await world.follow(f"{rule.group}/{_storage_version(definition)}", rule.kind)

        async def write(obj: Object) -> None:
            namespace, name = key(obj)
            patched = await world.client.patch(
                obj["apiVersion"], obj["kind"], name, {"status": missing_status(rule, obj)}, form="merge",
                manager=MANAGER, namespace=namespace or None, subresource="status",
            )  # fmt: skip
            world.put(store, patched)

        await world.each([obj for obj in list(store.values()) if missing_status(rule, obj)], write)


def missing_status(rule: lab_settings.CustomResourceRule, obj: Object) -> dict[str, Any]:
    """The status that a rule wants and an object does not have; empty if it has it for this generation."""
    present = {each["type"]: each for each in obj.get("status", {}).get("conditions") or ()}
    generation = obj["metadata"].get("generation", 1)
    wanted = {kind: (rule.status.get(kind, "True"), reason) for kind, reason in rule.conditions.items()}
    if all(
        kind in present
        and present[kind]["status"] == status
        and present[kind].get("observedGeneration", generation) == generation
        for kind, (status, _) in wanted.items()
    ):
        return {}
    others = [each for each in present.values() if each["type"] not in wanted]
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": "simulated by the lab",
         "observedGeneration": generation, "lastTransitionTime": now()}
        for kind, (status, reason) in wanted.items()
    ]  # fmt: skip
    return {"conditions": [*others, *conditions]}


def _storage_version(definition: Object) -> str:
    return next(str(version["name"]) for version in definition["spec"]["versions"] if version["storage"])


# An external provisioner for every StorageClass: a claim that waits gets a volume; the controller manager binds it.


PROVISIONER = "volume.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


class VolumeSimulation:
    """The provisioner."""

    what = "claims get PersistentVolumes; nothing is stored"

    async def start(self, world: SimulatedCluster) -> None:
        """Follow claims, volumes and classes."""
        self._claims = await world.follow("v1", "PersistentVolumeClaim")
        self._volumes = await world.follow("v1", "PersistentVolume")
        self._classes = await world.follow("storage.k8s.io/v1", "StorageClass")

    async def act(self, world: SimulatedCluster) -> None:
        """Make volumes for claims that wait, and delete those that were released."""

        async def provision(claim: Object) -> None:
            storage_class = self._classes.get(("", claim["spec"].get("storageClassName", "")))
            if storage_class is not None and is_claim_due(claim, storage_class):
                made = volume_for(claim, storage_class)
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


def is_claim_due(claim: Object, storage_class: Object) -> bool:
    """A class that waits for the first consumer is due when the scheduler has chosen a node."""
    if storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
        return True
    return SELECTED_NODE in claim["metadata"].get("annotations", {})


def volume_for(claim: Object, storage_class: Object) -> Object:
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


# Addresses for LoadBalancer services, from pools of Cilium and MetalLB, or the declared ones where neither is there.


REQUESTED = ("lbipam.cilium.io/ips", "io.cilium/lb-ipam-ips")
SATISFIED = "cilium.io/IPAMRequestSatisfied"


class LoadBalancerSimulation:
    """The address manager."""

    what = "LoadBalancer services get addresses from pools"

    async def start(self, world: SimulatedCluster) -> None:
        """Follow services."""
        self._services = await world.follow("v1", "Service")

    async def act(self, world: SimulatedCluster) -> None:
        """Give addresses to services that have none, one after the other, so that no two get the same."""
        for service in list(self._services.values()):
            if service["spec"].get("type") == "LoadBalancer" and not ingress_addresses(service):
                await world.each([service], lambda obj: self._assign(world, obj))

    async def _assign(self, world: SimulatedCluster, service: Object) -> None:
        taken = {address for each in self._services.values() for address in ingress_addresses(each)}
        chosen = choose_addresses(requested_addresses(service), await _pools(world), taken)
        if not chosen and condition(service, SATISFIED) == "False":
            return
        entry = {
            "type": SATISFIED,
            "status": "True" if chosen else "False",
            "reason": "satisfied" if chosen else "no_pool",
            "message": "" if chosen else "no pool has the requested or any free address",
            "lastTransitionTime": now(),
        }
        addresses = [{"ip": address, "ipMode": "VIP"} for address in chosen]
        status = {"conditions": [entry], **({"loadBalancer": {"ingress": addresses}} if chosen else {})}
        namespace, name = key(service)
        patched = await world.client.patch(
            "v1", "Service", name, {"status": status}, form="merge", manager=MANAGER, namespace=namespace,
            subresource="status",
        )  # fmt: skip
        world.put(self._services, patched)


async def _pools(world: SimulatedCluster) -> Sequence[str]:
    cilium = await _objects(world, "cilium.io", "CiliumLoadBalancerIPPool")
    metallb = await _objects(world, "metallb.io", "IPAddressPool")
    if cilium is None and metallb is None:
        return world.settings.load_balancers
    blocks = [block for pool in cilium or () for block in pool["spec"].get("blocks", ())]
    spans = [block.get("cidr") or f"{block['start']}-{block.get('stop', block['start'])}" for block in blocks]
    return [*spans, *(str(each) for pool in metallb or () for each in pool["spec"].get("addresses", ()))]


async def _objects(world: SimulatedCluster, group: str, kind: str) -> Sequence[Object] | None:
    """All objects of a kind; None where nobody defines it."""
    definition = world.definition(group, kind)
    if definition is None:
        return None
    version = next(each["name"] for each in definition["spec"]["versions"] if each.get("served", True))
    return tuple((await world.follow(f"{group}/{version}", kind)).values())


def ingress_addresses(service: Object) -> list[str]:
    """The addresses that a service has."""
    entries = service.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    return [each["ip"] for each in entries if "ip" in each]


def requested_addresses(service: Object) -> list[str]:
    """The addresses that a service asks for, by annotation or field."""
    annotations = service["metadata"].get("annotations", {})
    for name in REQUESTED:
        if annotations.get(name):
            return [each.strip() for each in annotations[name].split(",")]
    single = service["spec"].get("loadBalancerIP")
    return [single] if single else []


def choose_addresses(wanted: Sequence[str], pools: Sequence[str], taken: set[str]) -> list[str]:
    """The requested addresses if all are free and lie in a pool, else the first free one; nothing if there is none."""
    ranges = [found for pool in pools if (found := _range(pool))]
    if wanted:
        numbers = [found[0] for each in wanted if (found := _range(each))]
        inside = len(numbers) == len(wanted) and all(
            any(low <= number <= high for low, high in ranges) for number in numbers
        )
        return list(wanted) if inside and not taken & set(wanted) else []
    for low, high in ranges:
        for number in range(low, high + 1):
            address = str(ipaddress.ip_address(number))
            if address not in taken:
                return [address]
    return []


def _range(pool: str) -> tuple[int, int] | None:
    """The first and last address of a pool; nothing if it is none, as with a variable that nobody has filled in."""
    try:
        return lab_settings.addresses_of(pool)
    except ValueError:
        return None


# The password of Argo CD's Redis: what its init container, or the chart's Job, makes where nobody else has.
#
# The command is ``argocd admin redis-initial-password``. Its pod runs nothing here, and Argo CD waits for the Secret.


REDIS_COMMAND = "redis-initial-password"
REDIS_SECRET, REDIS_KEY = argocd_names.REDIS, "auth"
REDIS_PASSWORD_LENGTH = 24
"""Bytes that it is made of."""


class RedisPasswordSimulation:
    """The command."""

    what = "Argo CD's Redis gets a password, as its init container makes it"

    async def start(self, world: SimulatedCluster) -> None:
        """Remember what was seen to: a Secret that is deleted later comes back with another pod only."""
        self._done: set[str] = set()

    async def act(self, world: SimulatedCluster) -> None:
        """Make the Secret in each namespace that has such a pod."""

        async def make(pod: Object) -> None:
            for namespace in password_namespaces(pod):
                with contextlib.suppress(kube.AlreadyExists):  # it is there
                    await world.client.create(password_secret(namespace), manager=MANAGER)
            self._done.add(pod["metadata"]["uid"])

        await world.each([pod for pod in list(world.pods.values()) if self._is_due(pod)], make)

    def _is_due(self, pod: Object) -> bool:
        has_run = is_ready(pod) or pod.get("status", {}).get("phase") == "Succeeded"
        return has_run and pod["metadata"]["uid"] not in self._done and bool(password_namespaces(pod))


def password_namespaces(pod: Object) -> tuple[str, ...]:
    """Where a pod makes a password; nowhere, for almost all pods."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    words = [[*(each.get("command") or ()), *(each.get("args") or ())] for each in containers]
    return tuple(_option(each) or pod["metadata"]["namespace"] for each in words if REDIS_COMMAND in each)


def _option(words: Iterable[str]) -> str:
    """The namespace that a command names; empty if it names none."""
    given = iter(words)
    for word in given:
        if word in ("-n", "--namespace"):
            return next(given, "")
        if word.startswith("--namespace="):
            return word.partition("=")[2]
    return ""


def password_secret(namespace: str) -> Object:
    """A new password."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": REDIS_SECRET, "namespace": namespace},
        "type": "Opaque",
        "data": {REDIS_KEY: base64.b64encode(secrets.token_urlsafe(REDIS_PASSWORD_LENGTH).encode()).decode()},
    }
