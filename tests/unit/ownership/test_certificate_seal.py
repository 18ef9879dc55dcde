"""The seal of a certificate breaks with everything that is changed in it, and other programs can make it."""

import dataclasses
import hashlib
import json
from typing import Any

import pytest

from firstlight.model.certificate import Certificate, CertificateClaim, CertificateStage, ClaimProof, ObjectProof
from firstlight.model.component import ObjectId
from firstlight.ownership import certificate_seal

PROOF = ClaimProof(claim=CertificateClaim.OWNED, holds=True, says="ä › 3 fields")
OBJECT = ObjectProof(
    id=ObjectId("apps", "Deployment", "web", "main"), component="web", manager="helm-controller", owner="flux",
    uid="1", proofs=(PROOF,),
)  # fmt: skip
CERTIFICATE = Certificate(
    cluster="infra", uid="u", engine="flux", revision="abc", run="r", at=1794823900, baseline_at=1794822212,
    stage=CertificateStage.FINAL, objects=(OBJECT,),
)  # fmt: skip


def test_sealed() -> None:
    sealed = certificate_seal.seal(CERTIFICATE)

    assert certificate_seal.is_sealed(sealed)
    assert not certificate_seal.is_sealed(CERTIFICATE), "without a seal"
    assert certificate_seal.seal(sealed) == sealed


@pytest.mark.parametrize(
    "change",
    [
        {"cluster": "other"},
        {"uid": "v"},
        {"revision": "abd"},
        {"at": 1794823901},
        {"stage": CertificateStage.PROVISIONAL},
        {"objects": ()},
        {"missing": ("ConfigMap a",)},
        {"kept": ("x",)},
        {"released": ("cilium",)},
        {"version": 2},
        {"objects": (dataclasses.replace(OBJECT, uid="2"),)},
        {"objects": (dataclasses.replace(OBJECT, proofs=(dataclasses.replace(PROOF, holds=False),)),)},
        {"objects": (dataclasses.replace(OBJECT, proofs=(dataclasses.replace(PROOF, is_tried=False),)),)},
    ],
    ids=lambda change: "-".join(change),
)
def test_every_change_breaks_it(change: dict[str, Any]) -> None:
    assert not certificate_seal.is_sealed(dataclasses.replace(certificate_seal.seal(CERTIFICATE), **change))


def test_a_signature_is_beside_the_seal_and_goes_with_it() -> None:
    signed = dataclasses.replace(certificate_seal.seal(CERTIFICATE), signature="by me")

    assert certificate_seal.is_sealed(signed)
    assert certificate_seal.seal(signed).signature == "by me"
    assert certificate_seal.seal(dataclasses.replace(signed, at=1)).signature == "", "of another seal"


def test_others_can_make_it_of_the_json() -> None:
    """As docs/certificate.md says it: keys sorted, no space, UTF-8."""
    sealed = certificate_seal.seal(CERTIFICATE)
    read = json.loads(json.dumps(dataclasses.asdict(sealed)))
    digest, _ = read.pop("digest"), read.pop("signature")

    text = json.dumps(read, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert certificate_seal.signed_message(sealed) == f"{digest}\n".encode()
