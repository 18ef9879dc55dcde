"""Certificates of what a HelmRelease and an Application have."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.drawing import certificate_text
from firstlight.execute.actions import certify, migrate_owners
from firstlight.execute.handover import baseline, certificate_store, certification
from firstlight.model.certificate import CertificateClaim, CertificateStage
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.work import Certify, MigrateOwners
from tests.argocd import ArgoCD
from tests.flux import chart
from tests.integration.execute.handover.handed_over import (
    HandedOver,
    config_map,
    deployment,
    passing_of,
    perform,
    proofs_of,
    world_of,
)

TEMPLATES = {
    "config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: release, labels: {a: b}}\ndata: {word: hello}\n",
    "service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: release}\nspec: {ports: [{port: 80}]}\n",
}


def of_chart(namespace: str) -> list[dict[str, Any]]:
    found = [dict(yaml.safe_load(each)) for each in TEMPLATES.values()]
    return [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in found]


class TestEngines:
    async def test_what_a_helm_release_has(self, handed: HandedOver) -> None:
        flux, namespace = handed.flux, handed.namespace
        made = await flux.sources.create_charts(namespace)
        await flux.sources.push_chart(namespace, chart("small", "1.0.0", TEMPLATES))
        await flux.apply("HelmRepository", "here", namespace, {"url": made.url, "interval": "1h"})
        source = {"kind": "HelmRepository", "name": "here"}
        spec = {
            "interval": "1h", "releaseName": "release",
            "chart": {"spec": {"chart": "small", "version": "1.0.0", "sourceRef": source}},
        }  # fmt: skip
        await flux.apply("HelmRelease", "small", namespace, spec)
        await flux.ready("HelmRelease", "small", namespace)
        owner = ObjectOwner(Party.FLUX, f"HelmRelease {namespace}/small")
        task = Certify(passing=passing_of(of_chart(namespace), owner, "helm-controller"))

        found = await certification.certify(task, handed.world, stage=CertificateStage.FINAL)

        assert found.is_complete, certificate_text.failures(found)
        for each in found.objects:
            proofs = proofs_of(each)
            assert all(
                proofs[claim].is_tried
                for claim in (
                    CertificateClaim.MARKED,
                    CertificateClaim.NO_OP,
                    CertificateClaim.REPEATED,
                    CertificateClaim.VANISHES,
                )
            )
            assert proofs[CertificateClaim.MARKED].says == f"HelmRelease {namespace}/small lists it"
        await _what_git_lacks_goes(handed, task)

    async def test_what_an_application_has(self, argocd: ArgoCD, site: str, tmp_path: Path) -> None:
        objects = [config_map(site, "app", word="hello"), deployment(site, "app"), *of_chart(site)[1:]]
        revision = await argocd.commit(site, {f"{each['kind']}.yaml": each for each in objects})
        await argocd.application(site, site, {"repoURL": argocd.git(site), "path": ".", "targetRevision": "main"})
        await argocd.synced(site, revision)
        owner = ObjectOwner(Party.ARGOCD, f"Application {site}")
        task = Certify(passing=passing_of(objects, owner, "argocd-controller"))
        world = await world_of(argocd.lab.kubeconfig, tmp_path / ".firstlight", f"run-{site}")
        taken = await baseline.take([each.id for each in task.passing], argocd.kube)
        await baseline.store(dataclasses.replace(taken, cluster=await certification.uid_of(argocd.kube)), argocd.kube)
        try:
            found = await certification.certify(task, world, stage=CertificateStage.FINAL)
        finally:
            await argocd.kube.delete("v1", "ConfigMap", baseline.NAME, namespace="kube-system")
            await world.close()

        assert found.is_complete, certificate_text.failures(found)
        assert (found.engine, found.revision) == ("argocd", revision)
        assert all(proofs_of(each)[CertificateClaim.REPEATED].is_tried for each in found.objects)


async def _what_git_lacks_goes(handed: HandedOver, task: Certify) -> None:
    """helm-controller takes nothing away before its next upgrade: a field that it got would stay, and look proven."""
    kube, namespace = handed.flux.kube, handed.namespace
    wanted = MigrateOwners(passing=task.passing, is_loss_allowed=True, is_again=True)
    await perform(handed, task)
    await kube.patch(
        "v1", "ConfigMap", "release", {"data": {"hacked": "yes"}}, manager="kubectl-patch", namespace=namespace
    )
    change = await migrate_owners.look(wanted, handed.world, "owners")
    assert change is not None
    await change.perform()
    assert (await handed.get("ConfigMap", "release"))["data"] == {"word": "hello"}
    assert await migrate_owners.look(wanted, handed.world, "owners") is None
    assert await certification.lapsed(task.passing, kube) == ()

    # A run that was killed between the two, or one of an older version.
    live = await handed.get("ConfigMap", "release")
    kept = {
        name: each for name, each in live["metadata"].items() if name in ("name", "namespace", "labels", "annotations")
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "data": {"word": "hello", "hacked": "yes"}}
    await kube.apply(body, manager="helm-controller")
    assert [each.id.name for each in await certification.lapsed(task.passing, kube)] == ["release"]
    assert await certify.look_certificate(task, handed.world, "test") is None
    again = await certify.look_certificate(dataclasses.replace(task, is_again=True), handed.world, "test")
    assert again is not None
    with pytest.raises(errors.FirstlightError, match=r"it would change data\.hacked"):
        await again.perform()
    change = await migrate_owners.look(wanted, handed.world, "owners")
    assert change is not None
    assert f"take from ConfigMap {namespace}/release the fields that Git does not have" in change.writes
    await change.perform()
    assert (await handed.get("ConfigMap", "release"))["data"] == {"word": "hello"}
    await kube.delete("v1", "ConfigMap", certificate_store.NAME, namespace="kube-system")
    shutil.rmtree(handed.world.state / "test")
