"""A certificate held against the cluster again, any time: its seal, its signature, and what it claims, tried anew.

Nothing is written: reads and dry runs alone. What was claimed of the handover itself, such as that no pod was replaced,
is not tried again; what became of it since is told.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.drawing import certificate_text
from firstlight.execute.handover import baseline as handover_baseline
from firstlight.execute.handover import certificate_store, certification, live_evidence
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.handover.upgrade_preview import UpgradePreview
from firstlight.model.certificate import (
    OF_THE_MOMENT,
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    MachineProof,
    ObjectProof,
)
from firstlight.model.handover import Baseline, ObjectSeen, Passing
from firstlight.ownership import certificate_scope, certificate_seal


async def verify(
    certificate: Certificate,
    client: kube.Client,
    *,
    passing: Sequence[Passing],
    talos: TalosState | None = None,
    upgrade: UpgradePreview | None = None,
    content: bytes | None = None,
    signers: Path | None = None,
    kept: Collection[str] = (),
) -> Certificate:
    """What a certificate claims, tried again now: one like it, whose failures are what no longer holds.

    Args:
        certificate: As it was made.
        client: The API.
        passing: What Git has today.
        talos: What Talos has today of the released manifests; None where the machines were not asked.
        upgrade: What an upgrade of Kubernetes would do to its objects; None where nobody was asked.
        content: The JSON that it was read from, which is what is sealed; None for one that was just made.
        signers: A file of allowed signers, one of whom must have signed it.
        kept: Components that bootstrap keeps today.

    Raises:
        errors.Refused: It is of another cluster.
        errors.FirstlightError: It was changed after it was sealed.
        errors.ClientError: Its signature is not good, or the API does not answer.
    """
    await check(certificate, content=content, signers=signers)
    uid = await certification.uid_of(client)
    if uid != certificate.uid:
        raise errors.Refused(
            f"the certificate is of another cluster: kube-system had the UID {certificate.uid}, and here it has {uid}",
            hint="Check the kubeconfig, or give the certificate of this cluster.",
        )
    others = {each.id for each in certificate_scope.uncovered(passing, certificate.objects)}
    wanted = [each for each in passing if each.id not in others]
    held = await live_evidence.holders((each.owner for each in wanted), client)
    is_final = certificate.stage == CertificateStage.FINAL or bool(certificate.staying)
    baseline = await _baseline(certificate, client)
    tried = await certification.prove(
        wanted, held, client, baseline=baseline, is_final=is_final, is_repeated=False, staying=certificate.staying
    )  # fmt: skip
    now = {each.id: each for each in tried}
    objects = [
        _again(each, now[each.id], certificate) if each.id in now else await _dropped(each, client, kept)
        for each in certificate.objects
    ]
    return certificate_seal.seal(
        dataclasses.replace(
            certificate, at=round(time.time()), objects=tuple(objects), machines=_machines(certificate, talos, upgrade),
            missing=tuple(str(each.id) for each in objects if not each.uid and not each.is_proven),
        )
    )  # fmt: skip


async def check(certificate: Certificate, *, content: bytes | None = None, signers: Path | None = None) -> str:
    """Whether a certificate is as it was sealed and signed; who signed it, empty if nobody did.

    Args:
        certificate: As it was made, or read.
        content: The JSON that it was read from.
        signers: A file of allowed signers, one of whom must have signed it.

    Raises:
        errors.FirstlightError: It was changed after it was sealed.
        errors.ClientError: Its signature is not good.
    """
    if not certificate_seal.is_sealed(certificate, content):
        raise errors.FirstlightError(
            "the certificate was changed after it was sealed: its content and its seal do not agree",
            hint="Nothing in it can be trusted. The cluster keeps one in ConfigMap kube-system/firstlight-certificate.",
        )
    return await certificate_store.check_signature(certificate, signers=signers)


def _again(before: ObjectProof, now: ObjectProof, certificate: Certificate) -> ObjectProof:
    """What is tried again, and what was so then."""
    then = certificate_text.moment(before.at or certificate.at)
    fresh = {each.claim: each for each in now.proofs}
    proofs = [each for each in now.proofs if each.claim not in OF_THE_MOMENT]
    for old in before.proofs:
        if old.claim in OF_THE_MOMENT and old.is_tried:
            new = fresh.get(old.claim)
            since = f"; since then: {new.says}" if new is not None and not new.holds else ""
            what = "held" if old.holds else "did not hold"
            says = f"{what} at {then}{since}"
            proofs.append(dataclasses.replace(old, is_tried=False, is_overtaken=bool(since), says=says))
    return dataclasses.replace(now, before=before.before, proofs=tuple(proofs))


async def _dropped(before: ObjectProof, client: kube.Client, kept: Collection[str]) -> ObjectProof:
    """An object that does not pass any more: the engine must have taken it away, unless bootstrap keeps it now."""
    if before.component in kept:
        says = f"bootstrap keeps {before.component} now: firstlight.yaml says owner: bootstrap"
        proof = ClaimProof(claim=CertificateClaim.VANISHES, holds=True, is_tried=False, says=says)
        return dataclasses.replace(before, proofs=(proof,), at=round(time.time()))
    catalog = await client.catalog()
    versions = [
        each.api_version
        for each in catalog.resources.values()
        if (each.group, each.kind) == (before.id.group, before.id.kind)
    ]
    try:
        if not versions:
            raise LookupError
        await client.get(
            versions[0], before.id.kind, before.id.name, namespace=before.id.namespace or None, metadata_only=True
        )
        proof = ClaimProof(
            claim=CertificateClaim.VANISHES, holds=False, says="Git does not have it any more, and it is still there"
        )
    except (kube.NotFound, LookupError):
        proof = ClaimProof(
            claim=CertificateClaim.VANISHES, holds=True, says="Git does not have it any more, and it is gone"
        )
    return dataclasses.replace(before, proofs=(proof,), at=round(time.time()))


async def _baseline(certificate: Certificate, client: kube.Client) -> Baseline:
    """What objects are held against: those of the certificate, with what the cluster still knows of before."""
    try:
        kept = await handover_baseline.load(client)
    except errors.ClientError:
        kept = None
    known = {(each.group, each.kind, each.namespace, each.name): each for each in kept.objects} if kept else {}
    objects = []
    for each in certificate.objects:
        id = each.id
        seen = known.get((id.group, id.kind, id.namespace, id.name))
        plain = ObjectSeen(group=id.group, kind=id.kind, namespace=id.namespace, name=id.name)
        objects.append(dataclasses.replace(seen or plain, uid=each.uid))
    return Baseline(cluster=certificate.uid, objects=tuple(objects), pods=kept.pods if kept else ())


def _machines(
    certificate: Certificate, talos: TalosState | None, upgrade: UpgradePreview | None
) -> tuple[MachineProof, ...]:  # fmt: skip
    then = certificate_text.moment(certificate.at)
    old = [each for each in certificate.machines if talos is None or _is_canary(each)]
    asked = upgrade or UpgradePreview(unknown="nobody was asked")
    kept = [
        dataclasses.replace(
            each,
            proofs=tuple(
                dataclasses.replace(one, is_tried=False, says=f"not tried again; held at {then}") if one.holds else one
                for one in each.proofs
            ),
        )
        for each in old
    ]
    return (*(certification.talos_proofs(talos, asked) if talos is not None else ()), *kept)


def _is_canary(proof: MachineProof) -> bool:
    return any(one.claim == CertificateClaim.CANARY for one in proof.proofs)
