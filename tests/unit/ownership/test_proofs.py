"""Every claim of a certificate, held against what was seen; the real API server tries them in the integration tests."""

import dataclasses
from typing import Any

import pytest

from firstlight.model.certificate import CertificateClaim, ClaimProof
from firstlight.model.component import ObjectId
from firstlight.model.handover import ObjectSeen, Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import proofs as ownership_proofs
from firstlight.ownership.evidence import ApplyAttempt, HandoverEvidence, Omission, Repetition
from firstlight.ownership.field_set import FieldSet

ID = ObjectId("", "ConfigMap", "web", "settings")
LABELS: dict[str, Any] = {"f:kustomize.toolkit.fluxcd.io/name": {}, "f:kustomize.toolkit.fluxcd.io/namespace": {}}
FIELDS: dict[str, Any] = {"f:metadata": {"f:labels": LABELS}, "f:data": {"f:word": {}}}
BEFORE = ObjectSeen(group="", kind="ConfigMap", namespace="web", name="settings", uid="1")


def entry(manager: str, fields: dict[str, Any], operation: str = "Apply", subresource: str = "") -> dict[str, Any]:
    """One of an object's managedFields."""
    made = {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields}
    return {**made, "subresource": subresource} if subresource else made


def live(*others: dict[str, Any], mine: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """The object in the cluster."""
    labels = {f"kustomize.toolkit.fluxcd.io/{name}": value for name, value in (("name", "all"), ("namespace", "flux"))}
    entries = [entry("kustomize-controller", FIELDS if mine is None else mine), *others]
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"word": "hello"},
        "metadata": {
            "name": "settings", "namespace": "web", "uid": "1", "resourceVersion": "7", "labels": labels,
            "managedFields": entries, **metadata,
        },
    }  # fmt: skip


def seen(value: dict[str, Any] | None = None, **known: Any) -> HandoverEvidence:
    """What was seen of an object with which nothing is wrong."""
    found = live() if value is None else value
    passing = Passing(
        object=Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "web"}}),
        component="web", manager="kustomize-controller", owner=ObjectOwner(Party.FLUX, "Kustomization flux/all"),
    )  # fmt: skip
    base = HandoverEvidence(
        passing=passing, id=ID, live=found, is_listed=True, fields=FieldSet.of(FIELDS),
        attempt=ApplyAttempt(after=found, is_same=True), repetition=Repetition(before="7", after="7"),
        omission=Omission(path=("f:data", "f:word"), is_gone=True),
    )  # fmt: skip
    return dataclasses.replace(base, **known)


def proofs(
    evidence: HandoverEvidence, before: ObjectSeen | None = BEFORE, *, is_final: bool = True
) -> dict[CertificateClaim, ClaimProof]:
    """By claim."""
    found = ownership_proofs.prove(evidence, before, is_final=is_final, is_repeated=True)
    return {each.claim: each for each in found}


def failed(
    evidence: HandoverEvidence, before: ObjectSeen | None = BEFORE, *, is_final: bool = True
) -> dict[CertificateClaim, str]:
    """What does not hold, and what is said of it."""
    return {claim: each.says for claim, each in proofs(evidence, before, is_final=is_final).items() if not each.holds}


def test_all_is_well() -> None:
    found = proofs(seen())

    assert all(each.holds and each.is_tried for each in found.values())
    assert list(found) == [
        CertificateClaim.SAME_OBJECT,
        CertificateClaim.MARKED,
        CertificateClaim.OWNED,
        CertificateClaim.ALONE,
        CertificateClaim.NO_OP,
        CertificateClaim.REPEATED,
        CertificateClaim.VANISHES,
    ]


class TestSameObject:
    def test_what_is_not_there_is_only_that(self) -> None:
        assert failed(seen(live=None)) == {CertificateClaim.SAME_OBJECT: "it is not there"}

    def test_another_uid(self) -> None:
        assert "its uid is 2, and was 1" in failed(seen(live(uid="2")))[CertificateClaim.SAME_OBJECT]

    def test_being_deleted(self) -> None:
        found = failed(seen(live(deletionTimestamp="2026-11-16T10:00:00Z")))
        assert "being deleted since 2026-11-16" in found[CertificateClaim.SAME_OBJECT]

    @pytest.mark.parametrize(
        ("before", "says"),
        [(None, "does not name it"), (dataclasses.replace(BEFORE, uid=""), "was not there")],
    )
    def test_without_a_before_it_is_said_and_no_failure(self, before: ObjectSeen | None, says: str) -> None:
        proof = proofs(seen(), before)[CertificateClaim.SAME_OBJECT]
        assert proof.holds
        assert not proof.is_tried
        assert says in proof.says


class TestMarked:
    def test_the_engine_does_not_list_it(self) -> None:
        assert failed(seen(is_listed=False)) == {CertificateClaim.MARKED: "Kustomization flux/all does not list it"}

    def test_the_engines_object_does_not_work(self) -> None:
        says = "Kustomization flux/all is suspended: nothing reconciles it until it is resumed"
        assert failed(seen(fault=says)) == {CertificateClaim.MARKED: says}

    @pytest.mark.parametrize("part", ["labels", "annotations"])
    def test_a_mark_on_the_live_object_keeps_the_engine_away(self, part: str) -> None:
        name = "kustomize.toolkit.fluxcd.io/reconcile"
        value = live()
        value["metadata"][part] = {**value["metadata"].get(part, {}), name: "disabled"}

        says = f"metadata.{part}[{name}] keeps the engine away from it, which Git does not have"
        assert failed(seen(value)) == {CertificateClaim.MARKED: says}

        git = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", part: {name: "Disabled"}}}
        declared = dataclasses.replace(seen().passing, object=Object(git))
        assert failed(seen(value, passing=declared)) == {}, "as Git says it"

    def test_the_engines_object_is_gone(self) -> None:
        assert failed(seen(has_holder=False)) == {CertificateClaim.MARKED: "Kustomization flux/all is not there"}

    def test_marks_of_another(self) -> None:
        labels = {"kustomize.toolkit.fluxcd.io/name": "other", "kustomize.toolkit.fluxcd.io/namespace": "flux"}
        found = failed(seen(live(labels=labels)))
        assert found == {CertificateClaim.MARKED: "its marks say Kustomization flux/other, not Kustomization flux/all"}

    def test_no_marks(self) -> None:
        assert "its marks say nobody" in failed(seen(live(labels={})))[CertificateClaim.MARKED]

    def test_an_engine_without_a_list(self) -> None:
        assert "keeps no list" in proofs(seen(is_listed=None))[CertificateClaim.MARKED].says


class TestOwned:
    def test_a_field_that_nobody_owns(self) -> None:
        found = failed(seen(live(mine={"f:metadata": {"f:labels": LABELS}})))
        assert found == {CertificateClaim.OWNED: "data.word: nobody owns it"}

    def test_a_field_that_only_somebody_else_owns(self) -> None:
        value = live(entry("helm", {"f:data": {"f:word": {}}}), mine={"f:metadata": {"f:labels": LABELS}})
        assert failed(seen(value))[CertificateClaim.OWNED] == "data.word: helm owns it"

    def test_an_update_by_the_engines_name_does_not_count(self) -> None:
        value = live(mine={"f:metadata": {"f:labels": LABELS}})
        value["metadata"]["managedFields"].append(entry("kustomize-controller", FIELDS, "Update"))
        assert CertificateClaim.OWNED in failed(seen(value))

    def test_nor_does_a_subresource(self) -> None:
        value = live(mine={})
        value["metadata"]["managedFields"].append(entry("kustomize-controller", FIELDS, subresource="status"))
        assert CertificateClaim.OWNED in failed(seen(value))


class TestAlone:
    @pytest.mark.parametrize("manager", ["talos", "helm", "firstlight", "before-first-apply", "my-operator"])
    def test_nobody_else_may_own_what_git_has(self, manager: str) -> None:
        found = failed(seen(live(entry(manager, {"f:data": {"f:word": {}}}, "Update"))))
        assert found == {CertificateClaim.ALONE: f"{manager} (Update) owns data.word"}

    def test_an_owner_of_old_may_not_own_anything(self) -> None:
        found = failed(seen(live(entry("talos", {"f:metadata": {"f:annotations": {"f:old": {}}}}))))
        assert found == {CertificateClaim.ALONE: "talos (Apply) owns metadata.annotations.old"}

    def test_before_the_release_talos_has_its_annotation(self) -> None:
        annotation: dict[str, Any] = {"f:metadata": {"f:annotations": {"f:config.k8s.io/owning-inventory": {}}}}
        evidence = seen(live(entry("talos", annotation)))
        assert failed(evidence, is_final=False) == {}
        assert CertificateClaim.ALONE in failed(evidence, is_final=True)

    def test_a_person_may_own_what_git_does_not_have_and_it_is_said(self) -> None:
        found = proofs(seen(live(entry("kubectl-label", {"f:metadata": {"f:labels": {"f:mine": {}}}}, "Update"))))
        assert found[CertificateClaim.ALONE].holds
        assert found[CertificateClaim.ALONE].says == "beside Git: kubectl-label"

    def test_a_map_that_only_holds_what_somebody_owns_does_not_count(self) -> None:
        fields = {"f:metadata": {"f:annotations": {}}, **FIELDS}
        other = entry("kube-controller-manager", {"f:metadata": {"f:annotations": {".": {}, "f:x": {}}}}, "Update")
        assert failed(seen(live(other, mine=fields), fields=FieldSet.of(fields))) == {}

    def test_a_list_item_does(self) -> None:
        item: dict[str, Any] = {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}
        other = entry("my-operator", {"f:items": {'k:{"name":"a"}': {".": {}, "f:more": {}}}}, "Update")
        found = failed(seen(live(other, mine={**FIELDS, **item}), fields=FieldSet.of({**FIELDS, **item})))
        assert found == {CertificateClaim.ALONE: "my-operator (Update) owns items[name=a]"}

    def test_subresources_are_others(self) -> None:
        assert failed(seen(live(entry("kube-controller-manager", FIELDS, "Update", "status")))) == {}

    @pytest.mark.parametrize(
        ("manager", "path", "holds"),
        [
            ("cert-manager-cainjector", ("f:spec", "f:caBundle"), True),
            ("keda-operator", ("f:spec", "f:replicas"), True),
            ("my-operator", ("f:spec", "f:replicas"), False),
            ("helm", ("f:spec", "f:caBundle"), False),
        ],
    )
    def test_controllers_write_what_they_are_meant_to(self, manager: str, path: tuple[str, str], holds: bool) -> None:
        fields: dict[str, Any] = {path[0]: {path[1]: {}}}
        evidence = seen(live(entry(manager, fields, "Update"), mine={**FIELDS, **fields}))
        evidence = dataclasses.replace(evidence, fields=FieldSet.of({**FIELDS, **fields}))
        assert proofs(evidence)[CertificateClaim.ALONE].holds is holds
        assert ownership_proofs.meant(evidence.live or {}, apart="kustomize-controller") == (), (
            "it is the engine's as well"
        )
        alone = live(entry(manager, fields, "Update"))
        assert ownership_proofs.meant(alone, apart="kustomize-controller") == ((path,) if holds else ())

    def test_who_applies_a_bundle_owns_the_item_that_it_is_in(self) -> None:
        mine: dict[str, Any] = {"f:webhooks": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:rules": {}}}}
        bundle: dict[str, Any] = {".": {}, "f:name": {}, "f:clientConfig": {"f:caBundle": {}}}
        fields = FieldSet.of({**FIELDS, **mine})
        theirs = entry("cert-manager-cainjector", {"f:webhooks": {'k:{"name":"a"}': bundle}})
        assert failed(seen(live(theirs, mine={**FIELDS, **mine}), fields=fields)) == {}
        more = entry("cert-manager-cainjector", {"f:webhooks": {'k:{"name":"a"}': {**bundle, "f:rules": {}}}})
        found = failed(seen(live(more, mine={**FIELDS, **mine}), fields=fields))
        assert found == {CertificateClaim.ALONE: "cert-manager-cainjector (Apply) owns webhooks[name=a].rules"}


class TestTried:
    def test_a_change(self) -> None:
        attempt = ApplyAttempt(after=live(), changed=("data.word", "data.a", "data.b", "data.c"))
        found = failed(seen(attempt=attempt, repetition=None, omission=None))
        assert found == {CertificateClaim.NO_OP: "it would change data.word, data.a, data.b and 1 more"}

    def test_only_owners(self) -> None:
        found = failed(seen(attempt=ApplyAttempt(after=live()), repetition=None, omission=None))
        assert found == {CertificateClaim.NO_OP: "it would change who owns its fields"}

    def test_a_refusal(self) -> None:
        attempt = ApplyAttempt(refusal="in conflict: helm owns data.word")
        assert failed(seen(attempt=attempt, repetition=None, omission=None))[CertificateClaim.NO_OP] == attempt.refusal

    def test_a_webhook_that_takes_no_dry_runs_is_said_and_no_failure(self) -> None:
        attempt = ApplyAttempt(refusal="the webhook a takes no dry runs", is_possible=False)
        unknown: dict[str, Any] = {"attempt": attempt, "fields": FieldSet(), "repetition": None, "omission": None}
        found = proofs(seen(**unknown))
        assert all(each.holds for each in found.values())
        assert [claim for claim, each in found.items() if each.is_tried] == [
            CertificateClaim.SAME_OBJECT,
            CertificateClaim.MARKED,
        ]
        assert CertificateClaim.ALONE in failed(seen(live(entry("talos", {"f:data": {"f:word": {}}})), **unknown)), (
            "nevertheless"
        )

    def test_who_owns_what_is_told_without_dry_runs(self) -> None:
        attempt = ApplyAttempt(refusal="the webhook a takes no dry runs", is_possible=False)
        labels = live()["metadata"]["labels"]
        body = {
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"word": "hello"}, "binaryData": None,
            "metadata": {"name": "settings", "namespace": "web", "labels": labels},
        }  # fmt: skip
        known: dict[str, Any] = {"attempt": attempt, "repetition": None, "omission": None}

        fine = proofs(seen(fields=ownership_proofs.counted(body, live()), **known))
        value = live(mine={})
        value["metadata"]["managedFields"] = [entry("terraform", FIELDS, "Update")]
        bad = failed(seen(value, fields=ownership_proofs.counted(body, value), **known))

        assert all(each.holds for each in fine.values())
        assert fine[CertificateClaim.OWNED].is_tried
        assert fine[CertificateClaim.OWNED].says == "3 fields"
        assert fine[CertificateClaim.ALONE].is_tried
        assert "data.word: terraform owns it" in bad[CertificateClaim.OWNED]
        assert "terraform (Update) owns data.word" in bad[CertificateClaim.ALONE]

    def test_a_server_that_says_nothing_proves_nothing(self) -> None:
        found = failed(seen(attempt=ApplyAttempt(refusal="no"), fields=FieldSet(), repetition=None, omission=None))
        assert set(found) == {CertificateClaim.OWNED, CertificateClaim.ALONE, CertificateClaim.NO_OP}

    @pytest.mark.parametrize(
        ("party", "data", "holds"),
        [(Party.BOOTSTRAP, {}, True), (Party.BOOTSTRAP, {"word": "hello"}, False), (Party.FLUX, {}, False)],
    )
    def test_bootstrap_may_have_no_field_of_what_is_only_there(
        self, party: Party, data: dict[str, str], holds: bool
    ) -> None:
        value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}
        passing = dataclasses.replace(seen().passing, object=Object(value), owner=ObjectOwner(party))
        found = proofs(seen(live(mine={}), passing=passing, fields=FieldSet(), omission=None))
        assert found[CertificateClaim.OWNED].holds == found[CertificateClaim.ALONE].holds == holds

    def test_a_version_that_moved(self) -> None:
        found = failed(seen(repetition=Repetition(before="7", after="8")))
        assert found == {CertificateClaim.REPEATED: "its version went from 7 to 8"}

    def test_a_field_that_stays(self) -> None:
        value = live(entry("my-operator", {"f:data": {"f:word": {}}}, "Update"))
        found = failed(seen(value, omission=Omission(path=("f:data", "f:word"), is_gone=False)))
        assert found[CertificateClaim.VANISHES] == "data.word would stay: my-operator owns it as well"

    def test_nothing_to_leave_out_is_said_and_no_failure(self) -> None:
        proof = proofs(seen(omission=None))[CertificateClaim.VANISHES]
        assert (proof.holds, proof.is_tried, proof.says) == (True, False, "no field of it can be left out")

    def test_one_that_is_written_all_the_time_proves_nothing(self) -> None:
        found = failed(seen(restless="somebody writes it", attempt=None, repetition=None, omission=None))
        assert {
            CertificateClaim.OWNED,
            CertificateClaim.ALONE,
            CertificateClaim.NO_OP,
            CertificateClaim.REPEATED,
            CertificateClaim.VANISHES,
        } <= set(found)

    def test_a_release_without_server_side_apply_says_what_cannot_be_tried(self) -> None:
        value = live()
        value["metadata"]["managedFields"] = [entry("kustomize-controller", FIELDS, "Update")]
        found = proofs(
            seen(value, is_client_side=True, attempt=ApplyAttempt(after=value), repetition=None, omission=None)
        )  # fmt: skip
        assert ownership_proofs.is_client_side(value, "kustomize-controller")
        assert all(each.holds for each in found.values())
        assert [claim for claim, each in found.items() if not each.is_tried] == [
            CertificateClaim.REPEATED,
            CertificateClaim.VANISHES,
        ]
        assert "without server-side apply" in found[CertificateClaim.REPEATED].says
