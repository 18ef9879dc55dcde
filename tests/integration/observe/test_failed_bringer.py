"""A HelmRelease that real Flux never creates: its Kustomization fails at once, and nobody waits for it."""

import asyncio

from firstlight.gates import gate_table
from firstlight.gates.gate_parts import GateContext
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed
from firstlight.model.work import Watch
from firstlight.observe.gate_watch import Watching
from tests.flux import OFTEN, Flux

RELEASE = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "web"},
    "spec": {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "web"}, "valuesFiles": ["a.yaml"]},
}


async def test_a_field_that_the_schema_does_not_have_fails_what_it_would_bring(flux: Flux, space: str) -> None:
    files = {"apps/kustomization.yaml": {"resources": ["web.yaml"]}, "apps/web.yaml": RELEASE}
    commit = await flux.repository(space, space, files)
    source = {"kind": "GitRepository", "name": space}
    spec = {**OFTEN, "path": "./apps", "prune": True, "wait": True, "targetNamespace": space, "sourceRef": source}
    await flux.apply("Kustomization", "apps", space, spec)
    release = ObjectId("helm.toolkit.fluxcd.io", "HelmRelease", space, "web")
    ground = GateContext(
        Cluster(name="lab", place=Place("firstlight.yaml", 1), engine=Engine.FLUX), commit, {},
        bringers={"web": (ObjectId("kustomize.toolkit.fluxcd.io", "Kustomization", space, "apps"),)},
    )  # fmt: skip
    question = gate_table.question(Gate(Subject.RECONCILED, "web", release), Watch(revision=commit), ground)
    assert question is not None

    async with Watching(flux.kube) as watching:
        verdict = await asyncio.wait_for(watching.wait(question, on_verdict=lambda _: None), timeout=60)

    assert isinstance(verdict, Failed)
    assert f"HelmRelease {space}/web is not there: Kustomization {space}/apps cannot apply" in verdict.reason
    assert "valuesFiles" in verdict.reason
