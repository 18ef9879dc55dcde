"""Certificates that fail where something was broken."""

import dataclasses

import pytest

from firstlight import errors
from firstlight.commands.handover import verify_certificate
from firstlight.drawing import certificate_text
from firstlight.execute.actions import certify
from firstlight.execute.handover import certificate_store, certification, live_evidence
from firstlight.model.certificate import CertificateClaim, CertificateStage
from firstlight.model.rendition import Object
from firstlight.ownership import certificate_seal
from tests.integration.execute.handover.handed_over import MANAGER, HandedOver, config_map, proofs_of
from tests.labs import until


class TestBroken:
    async def test_a_stale_co_owner(self, handed: HandedOver) -> None:
        await handed.flux.kube.apply(config_map(handed.namespace, "coowned", word="hello"), manager="talos")

        failed = await handed.failed("coowned")

        assert "talos (Apply) owns data.word" in failed[CertificateClaim.ALONE]
        assert set(failed) <= {CertificateClaim.ALONE, CertificateClaim.VANISHES}

    async def test_somebody_changed_a_field(self, handed: HandedOver) -> None:
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "edited", {"data": {"word": "bye"}}, manager="kubectl-edit", namespace=handed.namespace
        )

        failed = await handed.failed("edited")

        assert "kubectl-edit owns data.word" in failed[CertificateClaim.NO_OP]
        assert "data.word: kubectl-edit owns it" in failed[CertificateClaim.OWNED]

    async def test_a_field_that_nobody_owns(self, handed: HandedOver) -> None:
        live = await handed.get("ConfigMap", "unowned")
        entries = live["metadata"]["managedFields"]
        for each in entries:
            each["fieldsV1"]["f:data"].pop("f:other", None)
        patch = [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "unowned", patch, form="json", manager="tests", namespace=handed.namespace
        )

        failed = await handed.failed("unowned")

        assert failed[CertificateClaim.OWNED] == "data.other: nobody owns it"
        assert CertificateClaim.REPEATED not in failed, "nothing is applied where it would change something"

    async def test_an_object_that_was_deleted_and_made_anew(self, handed: HandedOver) -> None:
        await handed.flux.kube.delete("v1", "ConfigMap", "anew", namespace=handed.namespace)
        assert (await handed.certified("anew")).missing == (f"ConfigMap {handed.namespace}/anew",)
        await handed.flux.reconcile("Kustomization", "all", handed.namespace)

        failed = await handed.failed("anew")

        assert list(failed) == [CertificateClaim.SAME_OBJECT]
        assert "it was deleted and made anew" in failed[CertificateClaim.SAME_OBJECT]

    async def test_a_restarted_pod(self, handed: HandedOver) -> None:
        (pod,) = await handed.pods("restarted")
        statuses = pod["status"]["containerStatuses"]
        statuses[0]["restartCount"] = 3
        await handed.flux.kube.patch(
            "v1", "Pod", pod["metadata"]["name"], {"status": {"containerStatuses": statuses}}, manager="tests",
            namespace=handed.namespace, subresource="status",
        )  # fmt: skip

        failed = await handed.failed("restarted")

        assert failed == {CertificateClaim.SAME_PODS: f"pod {pod['metadata']['name']} was restarted 3 times"}

    async def test_a_replaced_pod(self, handed: HandedOver) -> None:
        (pod,) = await handed.pods("replaced")
        await handed.flux.kube.delete("v1", "Pod", pod["metadata"]["name"], namespace=handed.namespace)

        async def is_another() -> bool:
            return [each["metadata"]["uid"] for each in await handed.pods("replaced")] not in (
                [], [pod["metadata"]["uid"]],
            )  # fmt: skip

        await until(is_another, "another pod")

        failed = await handed.failed("replaced")

        assert failed == {CertificateClaim.SAME_PODS: f"pod {pod['metadata']['name']} is not there any more"}

    async def test_an_engine_that_does_not_list_it(self, handed: HandedOver, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(live_evidence, "ENGINE_TIMEOUT", 0.5)
        stranger = {**config_map(handed.namespace, "stranger", word="hello")}
        await handed.flux.kube.apply(stranger, manager=MANAGER)
        one = dataclasses.replace(handed.task.passing[0], object=Object(stranger))
        handed.told.clear()

        made = await certification.certify(
            dataclasses.replace(handed.task, passing=(one,)), handed.world, stage=CertificateStage.FINAL, step="test"
        )

        failed = {each.claim: each.says for each in made.objects[0].proofs if not each.holds}
        assert failed[CertificateClaim.MARKED] == f"Kustomization {handed.namespace}/all does not list it"
        assert proofs_of(made.objects[0])[CertificateClaim.SAME_OBJECT].says == "the baseline does not name it"
        assert any("does not list ConfigMap" in each for each in handed.told)

    async def test_a_mark_by_which_somebody_keeps_the_engine_away(self, handed: HandedOver) -> None:
        name = "kustomize.toolkit.fluxcd.io/reconcile"
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "paused", {"metadata": {"annotations": {name: "disabled"}}}, manager="node-fetch",
            namespace=handed.namespace,
        )  # fmt: skip

        failed = await handed.failed("paused")

        assert f"metadata.annotations[{name}]" in failed[CertificateClaim.MARKED]
        assert "which Git does not have" in failed[CertificateClaim.MARKED]

    async def test_an_engine_that_rests(self, handed: HandedOver) -> None:
        kube, name = handed.flux.kube, f"Kustomization {handed.namespace}/all"
        version = "kustomize.toolkit.fluxcd.io/v1"

        async def suspend(wanted: bool) -> None:
            await kube.patch(
                version, "Kustomization", "all", {"spec": {"suspend": wanted}}, manager="tests",
                namespace=handed.namespace,
            )  # fmt: skip

        made = await handed.certified("plain")
        await suspend(True)
        try:
            failed = await handed.failed("plain")
            again = await verify_certificate.verify(made, kube, passing=handed.only("plain").passing)
        finally:
            await suspend(False)
            await handed.flux.ready("Kustomization", "all", handed.namespace)

        says = f"{name} is suspended: nothing reconciles it until it is resumed"
        assert failed == {CertificateClaim.MARKED: says}
        assert not again.is_complete
        assert says in certificate_text.failures(again)[0]

    async def test_an_incomplete_one_is_kept_for_reading_and_never_looks_complete(self, handed: HandedOver) -> None:
        await handed.flux.kube.patch(
            "v1", "ConfigMap", "drifted", {"data": {"word": "bye"}}, manager="kubectl-edit", namespace=handed.namespace
        )
        change = await certify.look_certificate(handed.only("drifted"), handed.world, "test")
        assert change is not None

        with pytest.raises(
            errors.FirstlightError, match=r"drifted: .*kubectl-edit owns.*not so: an unforced apply"
        ) as caught:
            await change.perform()

        path = handed.world.state / "test" / "certificate.incomplete.json"
        assert str(path) in caught.value.hint
        found = certificate_store.read(path).certificate
        assert not found.is_complete
        assert certificate_seal.is_sealed(found)
        assert await certify.look_certificate(handed.only("drifted"), handed.world, "test") is not None
