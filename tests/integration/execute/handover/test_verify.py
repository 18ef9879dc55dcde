"""Certificates looked at later: by whom they are signed, what controllers may do, and a label through Git."""

import dataclasses
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.git import Git
from firstlight.commands.handover import canary, verify_certificate
from firstlight.drawing import certificate_text
from firstlight.execute.actions import certify
from firstlight.execute.handover import certificate_store, live_evidence
from firstlight.lab.sources.declarations import Access
from firstlight.model.certificate import CertificateClaim
from firstlight.model.owner import ObjectOwner, Party
from firstlight.observe import audit_log
from firstlight.ownership import apply_form, certificate_seal
from firstlight.ownership import proofs as ownership_proofs
from tests.integration.execute.handover.handed_over import (
    MANAGER,
    HandedOver,
    config_map,
    kept_of,
    passing_of,
    perform,
    proofs_of,
)
from tests.labs import until


class TestControllers:
    async def test_an_autoscaler_writes_the_scale_and_takes_pods_away(self, handed: HandedOver) -> None:
        await handed.flux.kube.patch(
            "apps/v1", "Deployment", "autoscaled", {"spec": {"replicas": 0}}, manager="an-autoscaler",
            namespace=handed.namespace, subresource="scale",
        )  # fmt: skip

        async def is_gone() -> bool:
            return not await handed.pods("autoscaled")

        await until(is_gone, "the pod to go")

        made = await handed.certified("autoscaled")

        assert made.is_complete, certificate_text.failures(made)
        assert "an autoscaler took 1 away" in proofs_of(made.objects[0])[CertificateClaim.SAME_PODS].says

    async def test_who_injects_a_bundle_may_own_it_although_git_has_one(self, handed: HandedOver) -> None:
        kube, name = handed.flux.kube, f"{handed.namespace}.example.org"
        webhook = {
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [
                {"apiGroups": ["example.org"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}
            ],
        }  # fmt: skip
        value: dict[str, Any] = {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name}, "webhooks": [webhook],
        }  # fmt: skip
        owner = ObjectOwner(Party.FLUX, f"Kustomization {handed.namespace}/all")
        try:
            await kube.apply(apply_form.marked(value, owner), manager=MANAGER)
            bundle = {"name": name, "clientConfig": {"caBundle": "LS0tLS1CRUdJTg=="}}
            await kube.apply({**value, "webhooks": [bundle]}, manager="cert-manager-cainjector", force=True)
            in_git = {
                **value,
                "webhooks": [{**webhook, "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": "Cg=="}}],
            }

            (found,) = await live_evidence.gather(passing_of([in_git], owner, MANAGER), {}, kube, is_repeated=True)
        finally:
            await kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name)

        proofs = {each.claim: each for each in ownership_proofs.prove(found, None, is_final=True, is_repeated=True)}
        assert proofs[CertificateClaim.NO_OP].holds, proofs[CertificateClaim.NO_OP].says
        assert "left to controllers" in proofs[CertificateClaim.NO_OP].says
        assert proofs[CertificateClaim.ALONE].holds, proofs[CertificateClaim.ALONE].says
        assert proofs[CertificateClaim.REPEATED].holds
        assert proofs[CertificateClaim.REPEATED].is_tried


class TestVerify:
    async def test_any_time_later_and_says_what_no_longer_holds(self, handed: HandedOver) -> None:
        made = await handed.certified("scaled", "rolled", "verified", "dropped")
        assert made.is_complete, certificate_text.failures(made)
        wanted = handed.only("scaled", "rolled", "verified").passing
        before = time.time()

        again = await verify_certificate.verify(
            made, handed.flux.kube, passing=handed.only("rolled", "verified").passing
        )

        assert not again.is_complete
        dropped = [each for each in certificate_text.failures(again) if "dropped" in each]
        assert len(dropped) == 1
        assert "Git does not have it any more, and it is still there" in dropped[0]
        assert sum("Git does not have" in each for each in certificate_text.failures(again)) == 2

        # What bootstrap keeps by now is not the engine's to take away.
        kept = await verify_certificate.verify(
            made, handed.flux.kube, passing=(), kept=sorted({each.component for each in made.objects})
        )
        assert kept.is_complete, certificate_text.failures(kept)
        assert any("says owner: bootstrap" in each for each in certificate_text.notes(kept))

        await handed.flux.kube.delete("v1", "ConfigMap", "dropped", namespace=handed.namespace)
        again = await verify_certificate.verify(made, handed.flux.kube, passing=wanted)
        assert again.is_complete, certificate_text.failures(again)
        assert certificate_seal.is_sealed(again)

        # Pods that are replaced later are no flaw of the handover; an owner that comes later is one of the cluster.
        (pod,) = await handed.pods("rolled")
        await handed.flux.kube.delete("v1", "Pod", pod["metadata"]["name"], namespace=handed.namespace)
        await handed.flux.kube.apply(config_map(handed.namespace, "verified", word="hello"), manager="helm")
        again = await verify_certificate.verify(made, handed.flux.kube, passing=wanted)

        assert {each.split(":")[0] for each in certificate_text.failures(again)} == {
            f"ConfigMap {handed.namespace}/verified"
        }
        assert "helm (Apply) owns data.word" in certificate_text.failures(again)[0]
        rolled = next(each for each in again.objects if each.id.name == "rolled")
        assert "since then: pod" in proofs_of(rolled)[CertificateClaim.SAME_PODS].says
        mine = audit_log.writes(
            handed.flux.lab.home.audit_log, since=before, until=time.time(),
            is_asked=lambda _, agent: handed.world.run in agent,
        )  # fmt: skip
        assert mine == ()

    async def test_a_tampered_one_and_one_of_another_cluster(self, handed: HandedOver) -> None:
        made = await handed.certified("plain")
        passing = handed.only("plain").passing

        for bad in (dataclasses.replace(made, at=1), dataclasses.replace(made, objects=(), digest="")):
            with pytest.raises(errors.FirstlightError, match="changed after it was sealed"):
                await verify_certificate.verify(bad, handed.flux.kube, passing=passing)
        other = certificate_seal.seal(dataclasses.replace(made, uid="another"))
        with pytest.raises(errors.Refused, match="of another cluster"):
            await verify_certificate.verify(other, handed.flux.kube, passing=passing)

    async def test_signed(self, handed: HandedOver, tmp_path: Path) -> None:
        key, stranger = tmp_path / "key", tmp_path / "stranger"
        for each in (key, stranger):
            await command.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", each.name, "-f", str(each)])
        signers, strangers = tmp_path / "signers", tmp_path / "strangers"
        signers.write_text(f"me@example.org {key.with_suffix('.pub').read_text()}")
        strangers.write_text(f"you@example.org {stranger.with_suffix('.pub').read_text()}")
        task = dataclasses.replace(handed.only("plain", "main"), key=key)

        await perform(handed, task)

        assert await certify.look_certificate(task, handed.world, "test") is None, "it is signed already"
        kept = certificate_store.read(handed.world.state / "test" / "certificate.json").certificate
        assert await verify_certificate.check(kept, signers=signers) == "me@example.org"
        assert (await verify_certificate.check(kept)).startswith("SHA256:")
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await verify_certificate.check(kept, signers=strangers)
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await verify_certificate.check(dataclasses.replace(kept, signature=kept.signature.replace("A", "B")))
        forged = dataclasses.replace(certificate_seal.seal(dataclasses.replace(kept, at=1)), signature=kept.signature)
        with pytest.raises(errors.ClientError, match="the signature is not good"):
            await verify_certificate.check(forged)
        with pytest.raises(errors.ClientError, match="is not signed"):
            await verify_certificate.check(dataclasses.replace(kept, signature=""), signers=signers)

        # Whoever signs with another key means it.
        change = await certify.look_certificate(dataclasses.replace(task, key=stranger), handed.world, "test")
        assert change is not None
        assert change.writes == ("sign the certificate in ConfigMap kube-system/firstlight-certificate",)
        await change.perform()
        again = await kept_of(handed)
        assert again.digest == kept.digest, "nothing is proven anew"
        assert await verify_certificate.check(again, signers=strangers) == "you@example.org"


class TestCanary:
    async def test_a_label_comes_and_goes_through_git(self, handed: HandedOver) -> None:
        name = f"tests/{handed.namespace}"
        await handed.flux.sources.create_git(name, access=Access(anonymous="write"))
        url = next(each.url for each in await handed.flux.sources.list_git() if each.name == name)
        program = shutil.which("git")
        assert program is not None
        branch = canary.CanaryBranch(git=Git(Path(program), schemes=("http",)), url=url, name="main")
        passing = handed.only("plain", "web", "key").passing
        asked: list[str] = []
        claims: list[int] = []

        def confirm(text: str) -> bool:
            asked.append(text)
            return len(asked) > 1

        async def claim() -> None:
            claims.append(len(asked))

        with pytest.raises(errors.Refused, match="nothing was pushed"):
            await canary.prove(passing, handed.flux.kube, branch, confirm=confirm, claim=claim)
        assert claims == []
        proof = await canary.prove(passing, handed.flux.kube, branch, confirm=confirm, claim=claim, timeout=60)
        assert len(claims) == 1

        assert proof.holds, proof.says
        assert proof.is_tried
        assert f"ConfigMap {handed.namespace}/plain" in proof.says
        assert "two commits are pushed to main" in asked[0]
        assert (await handed.get("ConfigMap", "plain"))["metadata"]["labels"].keys() == {
            "part", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace",
        }  # fmt: skip
        await perform(handed, handed.only("plain"))
        kept = certificate_store.read(handed.world.state / "test" / "certificate.json").certificate
        made = await canary.record(kept, proof, handed.flux.kube, handed.world.state / "test")
        assert made.is_complete
        assert certificate_seal.is_sealed(made)
        assert certificate_store.read(handed.world.state / "test" / "certificate.json").certificate == made
