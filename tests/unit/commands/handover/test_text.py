"""What is said of a certificate that was held against the cluster again."""

import dataclasses

from firstlight.commands.handover import text as handover_text
from firstlight.model.certificate import (
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    MachineProof,
    ObjectProof,
    VerifiedCertificate,
)
from firstlight.model.component import ObjectId
from firstlight.model.handover import OwnerSeen

THEN = ClaimProof(claim=CertificateClaim.SAME_PODS, holds=True, is_tried=False, says="held at 2026-11-16 10:00:00 UTC")
WEB = ObjectProof(
    id=ObjectId("apps", "Deployment", "web", "main"), component="web", manager="kustomize-controller",
    owner="flux (Kustomization flux-system/web)", uid="1", fields=2,
    before=(OwnerSeen(manager="talos", operation="Apply"),),
    after=(OwnerSeen(manager="kustomize-controller", operation="Apply"),),
    proofs=(ClaimProof(claim=CertificateClaim.OWNED, holds=True), THEN),
)  # fmt: skip
GIVEN = Certificate(
    cluster="infra", uid="u", engine="flux", revision="3f2a91c", run="r", at=1794823900, baseline_at=1794822212,
    stage=CertificateStage.FINAL, objects=(WEB,), digest="4f2c" * 16, signature="x",
)  # fmt: skip
NOW = dataclasses.replace(GIVEN, at=1794829999, digest="beef" * 16, signature="")
GOOD = VerifiedCertificate(given=GIVEN, now=NOW, signer="SHA256:abc")
BAD = dataclasses.replace(
    WEB, proofs=(ClaimProof(claim=CertificateClaim.NO_OP, holds=False, says="it would change data.word"), THEN)
)


def test_it_names_the_one_that_was_given_and_who_signed_it() -> None:
    lines = handover_text.verified_text(GOOD).splitlines()

    assert lines[0].startswith(f"certificate {GIVEN.digest} of 2026-")
    assert lines[1] == (
        "  seal     good: it is as it was made; signed by the key SHA256:abc; whose that is tells --signers FILE"
    )
    assert lines[3].startswith("holds   1 object: talos › flux   1 claim tried again and true")
    assert NOW.digest[:8] not in handover_text.verified_text(GOOD)
    assert "signed by me@example.org\n" in handover_text.verified_text(
        dataclasses.replace(GOOD, signer="me@example.org", is_known=True)
    )
    assert "nobody signed it" in handover_text.verified_text(dataclasses.replace(GOOD, signer=""))


def test_what_is_of_the_handover_itself_is_no_flaw() -> None:
    text = handover_text.verified_text(GOOD)

    assert "1 about the handover itself, as they were then" in text
    assert "not tried" not in text
    since = dataclasses.replace(THEN, says=f"{THEN.says}; since then: pod a is not there any more")
    moved = dataclasses.replace(NOW, objects=(dataclasses.replace(WEB, proofs=(since,)),))
    assert "since then: pod a is not there any more" in handover_text.verified_text(
        dataclasses.replace(GOOD, now=moved)
    )


def test_what_does_not_hold_comes_with_what_to_do() -> None:
    found = dataclasses.replace(GOOD, now=dataclasses.replace(NOW, objects=(BAD,)))
    lines = handover_text.verified_text(found).splitlines()

    assert lines[3].startswith("DOES NOT HOLD ANY MORE")
    assert lines[4].startswith("  ✘ Deployment web/main: it would change data.word")
    assert lines[5] == "  next     firstlight drift infra --correct"
    config = ClaimProof(claim=CertificateClaim.NOT_IN_CONFIG, holds=False, says="it still has cilium")
    talos = dataclasses.replace(NOW, machines=(MachineProof(machine="cp-1", proofs=(config,)),))
    assert "  next     firstlight handover infra\n" in handover_text.verified_text(dataclasses.replace(GOOD, now=talos))


def test_what_passes_and_is_not_in_it_is_said() -> None:
    ids = tuple(ObjectId("", "ConfigMap", "web", f"c{number}") for number in range(5))
    found = dataclasses.replace(GOOD, uncovered=ids)

    assert handover_text.verified_text(found).endswith(
        "  · 5 objects that pass today are not in it, and nothing was tried of them: "
        "ConfigMap web/c0, ConfigMap web/c1, ConfigMap web/c2 and 2 more"
    )
    told = handover_text.verified_data(found)
    assert told["complete"] is True
    assert told["verified"]["digest"] == GIVEN.digest
    assert (told["verified"]["sealed"], told["verified"]["signedBy"]) == (True, "SHA256:abc")
    assert len(told["verified"]["notCovered"]) == 5


def test_nothing_of_a_file_is_obeyed() -> None:
    strange = dataclasses.replace(GIVEN, engine="fl\x1bux", at=99999999999999)
    assert "\x1b" not in handover_text.verified_text(
        dataclasses.replace(GOOD, given=strange, signer="a\x1bb", is_known=True)
    )
