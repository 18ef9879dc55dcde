"""One handover for all tests of certificates."""

import dataclasses
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from firstlight.execute.handover import baseline, certification
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.work import Certify
from firstlight.ownership import normal_values
from tests.flux import Flux
from tests.integration.execute.handover.handed_over import (
    MANAGER,
    WORKLOADS,
    HandedOver,
    objects_of,
    passing_of,
    world_of,
)
from tests.labs import until


@pytest_asyncio.fixture(scope="package")
async def handed(flux: Flux, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HandedOver]:
    """A handover in small: applied as Flux's manager, a baseline, and Flux takes over."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    objects = objects_of(namespace)
    told: list[str] = []
    state = tmp_path_factory.mktemp("certificates") / ".firstlight"
    world = await world_of(flux.lab.kubeconfig, state, f"run-{namespace}")
    world.tell = lambda step, text: told.append(text)
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, manager="tests")
    for each in objects:
        await flux.kube.apply(normal_values.without_string_data(each), manager=MANAGER)
    owner = ObjectOwner(Party.FLUX, f"Kustomization {namespace}/all")
    passing = passing_of(objects, owner, MANAGER)
    made = HandedOver(flux, world, namespace, Certify(passing=passing), told)
    for name in WORKLOADS:
        await until(lambda name=name: made.pods(name), f"the pod of {name}")  # type: ignore[misc]
    taken = await baseline.take([each.id for each in passing], flux.kube)
    await baseline.store(dataclasses.replace(taken, cluster=await certification.uid_of(flux.kube)), flux.kube)
    files = {f"all/{each['kind']}-{number}.yaml": each for number, each in enumerate(objects)}
    commit = await flux.repository(namespace, namespace, files)
    spec = {
        "path": "./all", "prune": True, "sourceRef": {"kind": "GitRepository", "name": namespace}, "interval": "1h",
    }  # fmt: skip
    await flux.apply("Kustomization", "all", namespace, spec)
    await flux.ready("Kustomization", "all", namespace, revision=commit)
    made.task = dataclasses.replace(made.task, revision=commit)
    yield made
    await world.close()
    for each in (await flux.kube.list("v1", "ConfigMap", namespace="kube-system")).items:
        if each["metadata"]["name"].startswith("firstlight-"):
            await flux.kube.delete("v1", "ConfigMap", each["metadata"]["name"], namespace="kube-system")
    await flux.kube.delete("v1", "Namespace", namespace)
