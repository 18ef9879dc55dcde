"""Certificates that are kept: complete where a handover was harmless, provisional where Talos keeps something."""

import dataclasses
import time

import pytest

from firstlight import errors
from firstlight.commands.handover import verify_certificate
from firstlight.execute.actions import certify, talos_release
from firstlight.execute.handover import certificate_store, certification
from firstlight.model.certificate import CertificateClaim, CertificateStage
from firstlight.observe import audit_log
from firstlight.ownership import certificate_seal
from tests.integration.execute.handover.handed_over import (
    PASSWORD,
    HandedOver,
    config_map,
    kept_of,
    perform,
    proofs_of,
)
from tests.labs import until


class TestComplete:
    async def test_a_harmless_handover_is_proven_once_and_looking_again_writes_nothing(
        self, handed: HandedOver
    ) -> None:
        names = ("key", "main", "test:reader", "plain", "web")
        task = handed.only(*names)
        before = time.time()
        change = await certify.look_certificate(task, handed.world, "test")
        assert change is not None
        assert len(change.writes) == 1
        try:
            await change.perform()
        except errors.FirstlightError as error:
            raise AssertionError(f"{error}: {error.hint}") from error

        kept = await certificate_store.load(handed.flux.kube, uid=await certification.uid_of(handed.flux.kube))
        assert kept is not None
        assert kept.is_complete
        assert certificate_seal.is_sealed(kept)
        assert (kept.stage, kept.engine, kept.revision) == (CertificateStage.FINAL, "flux", handed.task.revision)
        assert {each.id.name for each in kept.objects} == set(names)
        by_name = {each.id.name: proofs_of(each) for each in kept.objects}
        for name, proofs in by_name.items():
            for claim in (
                CertificateClaim.SAME_OBJECT,
                CertificateClaim.MARKED,
                CertificateClaim.OWNED,
                CertificateClaim.ALONE,
                CertificateClaim.NO_OP,
                CertificateClaim.REPEATED,
            ):
                assert proofs[claim].is_tried, (name, claim)
            assert proofs[CertificateClaim.VANISHES].is_tried, name
        assert by_name["plain"][CertificateClaim.VANISHES].says == "metadata.labels.part"
        assert by_name["key"][CertificateClaim.VANISHES].says == "data.password"
        assert by_name["web"][CertificateClaim.SAME_PODS].says == "1 of 1"
        assert by_name["web"][CertificateClaim.SAME_REVISION].is_tried

        directory = handed.world.state / "test"
        assert certificate_store.read(directory / "certificate.json").certificate == kept
        assert not (directory / "certificate.incomplete.json").exists()
        for each in ("certificate.json", "certificate.html"):
            content = (directory / each).read_text()
            assert PASSWORD not in content
            assert "aHVudGVy" not in content, "nor encoded"

        written = time.time()
        assert await certify.look_certificate(task, handed.world, "test") is None
        mine = audit_log.writes(
            handed.flux.lab.home.audit_log, since=before, until=time.time(),
            is_asked=lambda _, agent: handed.world.run in agent,
        )  # fmt: skip
        assert mine
        assert [each for each in mine if each.at > written] == []

    async def test_what_comes_later_is_added_and_what_was_proven_stays_so(self, handed: HandedOver) -> None:
        await perform(handed, handed.only("plain"))
        # Its pods are others by now, which is no flaw of the handover.
        kept = await certificate_store.load(handed.flux.kube, uid=await certification.uid_of(handed.flux.kube))
        assert kept is not None
        first = next(each for each in kept.objects if each.id.name == "plain")

        await perform(handed, handed.only("plain", "main"))

        again = await certificate_store.load(handed.flux.kube, uid=await certification.uid_of(handed.flux.kube))
        assert again is not None
        assert first in again.objects
        assert "main" in {each.id.name for each in again.objects}


class TestKept:
    async def test_what_talos_keeps_is_said_and_makes_it_provisional(self, handed: HandedOver) -> None:
        task = handed.only("plain", "main")
        keeping_all = dataclasses.replace(task, staying=tuple(each.id for each in task.passing[:1]))

        await perform(handed, keeping_all)

        kept = await kept_of(handed)
        assert (kept.stage, kept.is_complete) == (CertificateStage.PROVISIONAL, True)
        assert kept.staying == keeping_all.staying
        assert "provisional: Talos keeps 1 object" in handed.told[-1]
        assert await certify.look_certificate(keeping_all, handed.world, "test") is None, (
            "a second run finds nothing to do"
        )
        again = await verify_certificate.verify(kept, handed.flux.kube, passing=handed.task.passing)
        assert again.staying == kept.staying
        stays = [each.object for each in await certification.uncertified(task.passing, handed.flux.kube)]
        assert stays == [task.passing[0].object], "the other one is the engine's for good"

        await perform(handed, task)

        assert (await kept_of(handed)).stage == CertificateStage.FINAL, "Talos has released it since"

    async def test_pods_that_were_replaced_are_asked_about_once_and_said(self, handed: HandedOver) -> None:
        task = handed.only("agreed")
        (pod,) = await handed.pods("agreed")
        await handed.flux.kube.delete("v1", "Pod", pod["metadata"]["name"], namespace=handed.namespace)

        async def is_another() -> bool:
            return [each["metadata"]["uid"] for each in await handed.pods("agreed")] not in (
                [], [pod["metadata"]["uid"]],
            )  # fmt: skip

        await until(is_another, "another pod")
        accepted = await certify.look_certificate(
            dataclasses.replace(task, is_restart_accepted=True), handed.world, "test"
        )
        change = await certify.look_certificate(task, handed.world, "test")

        assert accepted is not None
        assert accepted.danger == ""
        assert change is not None
        assert change.danger == (
            f"pods of Deployment {handed.namespace}/agreed were replaced or restarted since the baseline; "
            "the certificate is kept with that said"
        )
        await change.perform()
        kept = await kept_of(handed)
        proof = proofs_of(next(each for each in kept.objects if each.id.name == "agreed"))[CertificateClaim.SAME_PODS]
        assert (proof.holds, proof.is_agreed) == (False, True)
        assert proof.says.startswith("replaced, as agreed: pod agreed-")
        assert "pods of 1 workload replaced or restarted, as agreed" in handed.told[-1]
        assert await certify.look_certificate(task, handed.world, "test") is None

    async def test_nobody_is_asked_where_pods_are_the_same(self, handed: HandedOver) -> None:
        assert await certification.replaced(handed.only("web", "plain").passing, handed.flux.kube) == ()

    async def test_one_that_was_lost_is_as_in_the_file_again(self, handed: HandedOver) -> None:
        task = handed.only("plain")
        await perform(handed, task)
        kept = await kept_of(handed)
        await handed.flux.kube.delete("v1", "ConfigMap", certificate_store.NAME, namespace="kube-system")

        change = await certify.look_certificate(task, handed.world, "test")

        assert change is not None
        assert change.writes == (
            "keep the certificate of the file in ConfigMap kube-system/firstlight-certificate again",
        )
        await change.perform()
        assert await kept_of(handed) == kept, "as it was, its pods may be others by now"
        assert await certify.look_certificate(task, handed.world, "test") is None


class TestProvisional:
    async def test_talos_keeps_what_the_engine_does_not_hold(self, handed: HandedOver) -> None:
        path = handed.world.state / "test" / "certificate.provisional.json"

        made = await talos_release.require_provisional(handed.only("plain", "main").passing, handed.world)

        assert (made.stage, made.is_complete) == (CertificateStage.PROVISIONAL, True)
        assert certificate_store.read(path).certificate == made
        kept = await certificate_store.load(handed.flux.kube, uid=made.uid)
        assert kept is None or kept.stage == CertificateStage.FINAL, "it is not the cluster's"
        await handed.flux.kube.apply(config_map(handed.namespace, "held", word="hello"), manager="talos")
        with pytest.raises(errors.Refused, match=r"Talos keeps everything.*talos \(Apply\) owns data.word"):
            await talos_release.require_provisional(handed.only("held").passing, handed.world)
        assert not certificate_store.read(path).certificate.is_complete
