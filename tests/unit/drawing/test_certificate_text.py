"""A certificate for people and programs: what failed comes first, and nothing of a stranger is obeyed."""

import dataclasses
import html.parser

from firstlight.commands.handover import text as text_module
from firstlight.drawing import certificate_page, certificate_text, handover_text
from firstlight.model.certificate import (
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    MachineProof,
    ObjectProof,
)
from firstlight.model.component import ObjectId
from firstlight.model.handover import OwnerSeen
from firstlight.ownership import certificate_seal


def proof(claim: CertificateClaim, *, holds: bool = True, says: str = "", is_tried: bool = True) -> ClaimProof:
    """One claim."""
    return ClaimProof(claim=claim, holds=holds, says=says, is_tried=is_tried)


WEB = ObjectProof(
    id=ObjectId("apps", "Deployment", "web", "main"), component="web", manager="kustomize-controller",
    owner="flux (Kustomization flux-system/web)", uid="11111111-2222", fields=12,
    before=(OwnerSeen(manager="talos", operation="Apply"),),
    after=(OwnerSeen(manager="kustomize-controller", operation="Apply"),),
    proofs=(proof(CertificateClaim.OWNED), proof(CertificateClaim.SAME_PODS, says="1 of 1")),
)  # fmt: skip
DNS = dataclasses.replace(
    WEB,
    id=ObjectId("", "ConfigMap", "kube-system", "dns"),
    component="dns",
    fields=3,
    proofs=(
        proof(CertificateClaim.OWNED),
        proof(CertificateClaim.SAME_OBJECT, is_tried=False, says="it was not there"),
    ),
)
MACHINE = MachineProof(machine="cp-1", proofs=(proof(CertificateClaim.NOT_IN_CONFIG),))
GOOD = Certificate(
    cluster="infra", uid="u", engine="flux", revision="3f2a91c", run="r", at=1794823900, baseline_at=1794822212,
    stage=CertificateStage.FINAL, objects=(WEB, DNS), machines=(MACHINE,), released=("cilium",), kept=("approver",),
)  # fmt: skip
BROKEN = dataclasses.replace(
    GOOD,
    objects=(
        dataclasses.replace(
            WEB, proofs=(proof(CertificateClaim.ALONE, holds=False, says="talos (Apply) owns spec.replicas"),)
        ),
        DNS,
    ),
    machines=(
        MachineProof(
            machine="cp-2", proofs=(proof(CertificateClaim.NOT_IN_CONFIG, holds=False, says="it still has cilium"),)
        ),
    ),
    missing=("Secret web/key",),
)


class Page(html.parser.HTMLParser):
    """The tags and words of a page; every tag that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_complete() -> None:
    line = certificate_text.headline(certificate_seal.seal(GOOD))

    assert GOOD.is_complete
    assert "complete" in line
    assert "2 objects: talos › flux" in line
    assert "15 fields owned" in line
    assert "no pod replaced or restarted" in line
    assert certificate_text.failures(GOOD) == []


def test_what_fails_is_said_with_its_place_and_comes_first() -> None:
    text = certificate_text.text(certificate_seal.seal(BROKEN))

    assert not BROKEN.is_complete
    assert certificate_text.failures(BROKEN) == [
        "Secret web/key is not there",
        "Deployment web/main: talos (Apply) owns spec.replicas (not so: nobody else owns a field that Git has)",
        "cp-2: it still has cilium (not so: no machine config has it)",
    ]
    assert "NOT COMPLETE" in text.splitlines()[0]
    assert text.index("Secret web/key") < text.index("✘ web")
    assert text.index("✘ web") < text.index("✔ dns")


def test_what_was_not_tried_is_counted() -> None:
    assert certificate_text.headline(GOOD).endswith("1 claim not tried")
    assert "not tried" not in certificate_text.headline(dataclasses.replace(GOOD, objects=(WEB,)))


def test_what_talos_keeps_makes_it_provisional_and_is_counted() -> None:
    stays = proof(CertificateClaim.RELEASED, is_tried=False, says="Talos keeps it")
    kept = dataclasses.replace(
        GOOD, stage=CertificateStage.PROVISIONAL, objects=(dataclasses.replace(WEB, proofs=(*WEB.proofs, stays)), DNS)
    )

    assert kept.is_complete
    assert "complete (provisional: Talos keeps 1 object)" in certificate_text.headline(kept)
    assert "provisional: Talos keeps 1 object<" in certificate_page.page(kept)
    assert "complete, provisional: Talos keeps 1 object" in handover_text.certificate_lines(kept)[0]
    assert any(
        "Talos has released it: Deployment web/main (Talos keeps it)" in each for each in certificate_text.notes(kept)
    )
    before = dataclasses.replace(GOOD, stage=CertificateStage.PROVISIONAL)
    assert "complete (provisional)" in certificate_text.headline(before)
    assert "provisional: Talos still has its manifests" in certificate_page.page(before)


def test_what_was_agreed_to_is_said_and_counted() -> None:
    bad = proof(CertificateClaim.SAME_PODS, holds=False, says="replaced, as agreed: pod a is not there any more")
    broken = dataclasses.replace(GOOD, objects=(dataclasses.replace(WEB, proofs=(bad,)), DNS))
    mine = dataclasses.replace(WEB, proofs=(dataclasses.replace(bad, is_agreed=True),))
    agreed = dataclasses.replace(GOOD, objects=(mine, DNS))

    assert not broken.is_complete
    assert agreed.is_complete
    assert certificate_text.failures(agreed) == []
    assert "pods of 1 workload replaced or restarted, as agreed" in certificate_text.headline(agreed)
    assert "pods of 1 workload replaced or restarted, as agreed" in handover_text.certificate_lines(agreed)[0]
    assert "agreed: Deployment web/main: replaced, as agreed: pod a" in certificate_text.text(agreed)
    assert text_module.sealed_data(agreed)["agreed"] == certificate_text.agreed(agreed)
    page = certificate_page.page(agreed)
    assert "What does not hold, as agreed" in page
    assert ">agreed</span>" in page
    assert not Page(page).open


def test_nobody_can_agree_to_anything_else() -> None:
    other = dataclasses.replace(proof(CertificateClaim.ALONE, holds=False, says="talos owns it"), is_agreed=True)
    assert not dataclasses.replace(GOOD, objects=(dataclasses.replace(WEB, proofs=(other,)),)).is_complete


def test_what_was_not_tried_is_said_once_for_each_reason() -> None:
    both = dataclasses.replace(GOOD, objects=(DNS, dataclasses.replace(DNS, id=ObjectId("", "ConfigMap", "a", "b"))))
    assert certificate_text.notes(both) == [
        "not tried: it is the same object as before: ConfigMap kube-system/dns, ConfigMap a/b (it was not there)"
    ]


def test_one_that_covers_nothing_is_not_complete() -> None:
    empty = dataclasses.replace(GOOD, objects=())
    assert not empty.is_complete
    assert certificate_text.failures(empty) == ["it covers no object"]
    assert not dataclasses.replace(GOOD, objects=(dataclasses.replace(WEB, proofs=()),)).is_complete


def test_the_page_stands_alone_and_folds_what_is_fine() -> None:
    text = certificate_page.page(certificate_seal.seal(GOOD))
    page = Page(text)

    assert not page.open
    assert {"script", "link", "img", "iframe"}.isdisjoint(page.tags)
    assert "http" not in text.replace("http-equiv", "")
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    assert "<details open>" not in text
    assert certificate_seal.seal(GOOD).digest in text


def test_the_page_of_a_broken_one_shows_what_failed_before_anything_else() -> None:
    text = certificate_page.page(BROKEN)

    assert Page(text).words
    assert "not complete" in text
    assert text.index("What does not hold") < text.index("Components")
    assert text.count("<details open>") == 1


def test_strangers_are_not_obeyed() -> None:
    evil = "<script>alert(1)</script>\x1b[31m‮\" onload='x"
    bad = dataclasses.replace(
        WEB, id=ObjectId("", "ConfigMap", "web", evil), component=evil,
        owner=evil, proofs=(proof(CertificateClaim.OWNED, holds=False, says=evil),),
    )  # fmt: skip
    text = certificate_page.page(dataclasses.replace(GOOD, cluster=evil, objects=(bad,), revision=evil))
    page = Page(text)

    assert "script" not in page.tags
    assert "\x1b" not in text
    assert "‮" not in text
    assert "\x1b" not in certificate_text.text(dataclasses.replace(GOOD, objects=(bad,)))


def test_data() -> None:
    found = text_module.sealed_data(BROKEN)

    assert found["complete"] is False
    assert found["failures"] == certificate_text.failures(BROKEN)
    assert found["certificate"]["objects"][0]["id"]["name"] == "main"


def test_a_file_may_say_anything_and_is_not_obeyed() -> None:
    bad = dataclasses.replace(GOOD, engine="flux\x1b[2J", at=99999999999999, digest="\x1b[31m")

    for each in (certificate_text.headline(bad), certificate_text.text(bad), certificate_page.page(bad)):
        assert "\x1b" not in each
    assert "99999999999999 seconds after 1970" in certificate_text.text(bad)
    strange = dataclasses.replace(WEB, before=(OwnerSeen(manager="ta\x1blos", operation="Apply"),))
    assert "\x1b" not in certificate_text.headline(dataclasses.replace(GOOD, objects=(strange,)))


def test_bootstrap_is_among_those_who_gave() -> None:
    """It applies some things as the engine from the start, and others under its own name."""
    own = dataclasses.replace(WEB, before=WEB.after)
    named = dataclasses.replace(WEB, before=(OwnerSeen(manager="firstlight", operation="Apply"),))

    for other in (own, named):
        made = dataclasses.replace(GOOD, objects=(DNS, other))
        assert "2 objects: bootstrap, talos › flux" in certificate_text.headline(made)
        assert "2 objects passed from <b>bootstrap, talos</b> to" in certificate_page.page(made)


def test_one_of_a_thing() -> None:
    page = certificate_page.page(dataclasses.replace(GOOD, objects=(dataclasses.replace(DNS, fields=1),)))

    assert "1 object, 1 field<" in page
    assert "1 objects" not in page
    assert "<b>1</b><span>object</span>" in page
