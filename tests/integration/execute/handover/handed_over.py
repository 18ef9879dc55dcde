"""Objects that real Flux has taken over in a lab, and what tests of certificates ask of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight.clients import kube
from firstlight.drawing import certificate_text
from firstlight.execute.actions import certify
from firstlight.execute.handover import certificate_store, certification
from firstlight.execute.world import RunPrograms, World
from firstlight.model.certificate import Certificate, CertificateClaim, CertificateStage, ClaimProof, ObjectProof
from firstlight.model.cluster import Cluster
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import Certify
from tests.flux import Flux

MANAGER = "kustomize-controller"
PASSWORD = "hunter-two-of-the-certificate"
NAMES = ("plain", "coowned", "edited", "unowned", "anew", "drifted", "verified", "dropped", "held", "paused")
WORKLOADS = ("web", "restarted", "replaced", "agreed", "rolled", "scaled", "autoscaled")


async def _resolve(reference: str) -> Secret:
    raise AssertionError(f"nobody asks for {reference}")


def config_map(namespace: str, name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"part": "settings"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(namespace: str, name: str) -> dict[str, Any]:
    container = {
        "name": "main", "image": "registry.example/main:1", "ports": [{"containerPort": 8080}],
        "resources": {"requests": {"cpu": "0.1", "memory": "64Mi"}},
    }  # fmt: skip
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }  # fmt: skip


def objects_of(namespace: str) -> list[dict[str, Any]]:
    """What bootstrap brings and Git has: an object for each thing that goes wrong in a test, and some for none."""
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": namespace},
        "stringData": {"password": PASSWORD},
    }  # fmt: skip
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "main", "namespace": namespace}}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "test:reader", "namespace": namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }  # fmt: skip
    maps = [config_map(namespace, each, word="hello", other="there") for each in NAMES]
    return [secret, account, role, *maps, *(deployment(namespace, each) for each in WORKLOADS)]


@dataclasses.dataclass
class HandedOver:
    """Objects that Flux has taken over, with the baseline of before."""

    flux: Flux
    world: World
    namespace: str
    task: Certify
    told: list[str]

    def only(self, *names: str) -> Certify:
        """The task about some objects alone."""
        return dataclasses.replace(
            self.task, passing=tuple(each for each in self.task.passing if each.id.name in names)
        )  # fmt: skip

    async def certified(self, *names: str) -> Certificate:
        """The certificate of some objects."""
        return await certification.certify(self.only(*names), self.world, stage=CertificateStage.FINAL)

    async def failed(self, name: str) -> dict[CertificateClaim, str]:
        """What fails of an object that must not pass."""
        made = await self.certified(name)
        assert not made.is_complete
        assert any(name in each for each in certificate_text.failures(made)), certificate_text.failures(made)
        return {each.claim: each.says for each in made.objects[0].proofs if not each.holds}

    async def get(self, kind: str, name: str) -> dict[str, Any]:
        """An object."""
        version = {"Deployment": "apps/v1"}.get(kind, "v1")
        return dict(await self.flux.kube.get(version, kind, name, namespace=self.namespace))

    async def pods(self, app: str) -> list[dict[str, Any]]:
        """The pods of a workload that run."""
        found = (await self.flux.kube.list("v1", "Pod", namespace=self.namespace, labels=f"app={app}")).items
        return [dict(each) for each in found if each.get("status", {}).get("phase") == "Running"]


async def world_of(kubeconfig: Path, state: Path, run: str) -> World:
    world = World(
        cluster=Cluster(name="test", place=Place("firstlight.yaml")), programs=RunPrograms(), resolve=_resolve,
        state=state, run=run,
    )  # fmt: skip
    await world.connect(kube.load(kubeconfig))
    return world


def passing_of(objects: Sequence[Mapping[str, Any]], owner: ObjectOwner, manager: str) -> tuple[Passing, ...]:
    return tuple(Passing(object=Object(each), component="all", manager=manager, owner=owner) for each in objects)


def proofs_of(proof: ObjectProof) -> dict[CertificateClaim, ClaimProof]:
    return {each.claim: each for each in proof.proofs}


async def perform(handed: HandedOver, task: Certify) -> None:
    change = await certify.look_certificate(task, handed.world, "test")
    if change is not None:
        await change.perform()


async def kept_of(handed: HandedOver) -> Certificate:
    found = await certificate_store.load(handed.flux.kube, uid=await certification.uid_of(handed.flux.kube))
    assert found is not None
    return found
