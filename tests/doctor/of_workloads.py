"""What can be wrong with pods and their volumes."""

from collections.abc import AsyncIterator

from tests.doctor.failure import Expected, Registry
from tests.doctor.lab_ground import KUBELET, Ground
from tests.doctor.things import deployment, service

WORKLOADS: Registry[Ground] = Registry("lab")


@WORKLOADS.failure("image-pull", "an image that cannot be pulled", how="a Deployment of an image that is nowhere",
             simulated=KUBELET, sample=True)  # fmt: skip
async def image_pull(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(deployment("web", on.space, image="example.org/broken:1"))
    yield on.expect("image-pull", "Deployment", "web")


@WORKLOADS.failure("quota", "a quota that is used up", how="a ResourceQuota of no pods, and a Deployment", sample=True)
async def quota(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": on.space},
         "spec": {"hard": {"pods": "0"}}},
        deployment("web", on.space),
    )  # fmt: skip
    yield on.expect("quota-exceeded", "Deployment", "web")


@WORKLOADS.failure(
    "limit-range", "a limit of the namespace that pods do not keep", how="a LimitRange, and a container above it"
)
async def limit_range(on: Ground) -> AsyncIterator[Expected]:
    limits = [{"type": "Container", "max": {"memory": "64Mi"}}]
    await on.apply(
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small", "namespace": on.space},
         "spec": {"limits": limits}},
        deployment("web", on.space, container={"resources": {"limits": {"memory": "1Gi"}}}),
    )  # fmt: skip
    yield on.expect("limit-range", "Deployment", "web")


@WORKLOADS.failure("pod-security", "pods that the namespace's security level refuses",
             how="a namespace that enforces restricted, and a privileged container")  # fmt: skip
async def pod_security(on: Ground) -> AsyncIterator[Expected]:
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    await on.kube.patch("v1", "Namespace", on.space, {"metadata": {"labels": label}}, manager="tests")
    await on.apply(deployment("web", on.space, container={"securityContext": {"privileged": True}}))
    yield on.expect("pod-security", "Deployment", "web")


@WORKLOADS.failure("claim", "a volume of a storage class that does not exist",
             how="a Deployment with a claim of the class fast, which nobody has", sample=True)  # fmt: skip
async def claim(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": on.space},
         "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                  "resources": {"requests": {"storage": "1Gi"}}}},
        deployment("web", on.space, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
    )  # fmt: skip
    yield on.expect("storage-class-missing", "PersistentVolumeClaim", "data")


@WORKLOADS.failure("unschedulable", "a pod that no node takes", how="a Deployment with a nodeSelector that no node has")
async def unschedulable(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(deployment("web", on.space, nodeSelector={"disk": "tape"}))
    yield on.expect("unschedulable", "Deployment", "web")


@WORKLOADS.failure("account", "pods of a ServiceAccount that does not exist", how="a Deployment that names one")
async def account(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(deployment("web", on.space, serviceAccountName="nobody"))
    yield on.expect("pods-refused", "Deployment", "web")


@WORKLOADS.failure("operator", "an operator that stays at one replica",
             how="two replicas that keep apart, and another pod that they avoid on one of two nodes")  # fmt: skip
async def operator(on: Ground) -> AsyncIterator[Expected]:
    await on.apply(deployment("db", on.space, nodeSelector={"kubernetes.io/hostname": "worker-2"}))
    nodes = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["worker-1", "worker-2"]}
    both = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [nodes]}]}}
    apart = [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": each}}}
        for each in ("web", "db")
    ]
    affinity = {"nodeAffinity": both, "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}
    await on.apply(deployment("web", on.space, replicas=2, affinity=affinity))
    yield on.expect("unschedulable", "Deployment", "web")


@WORKLOADS.failure(
    "pool", "a load balancer that no pool has an address for",
    how="a Service of type LoadBalancer that asks for an address outside of all pools",
    simulated="the lab plays the address manager",
)  # fmt: skip
async def pool(on: Ground) -> AsyncIterator[Expected]:
    asked = service("web", on.space, type="LoadBalancer")
    asked["metadata"]["annotations"] = {"lbipam.cilium.io/ips": "203.0.113.9"}
    await on.apply(asked)
    yield on.expect("lb-no-pool", "Service", "web")
