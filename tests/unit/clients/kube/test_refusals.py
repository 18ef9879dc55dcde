"""Why a server does not take an object, without values."""

from typing import Any

import pytest

from firstlight.clients.kube import kube_errors, refusals

TARGET = kube_errors.ApiTarget(verb="apply", server="https://api.example.org", kind="ConfigMap", name="web")


def answer(code: int, message: str, *causes: tuple[str, str, str], reason: str = "") -> kube_errors.ApiError:
    status: dict[str, Any] = {"kind": "Status", "reason": reason, "message": message}
    status["details"] = {"causes": [{"field": each[0], "reason": each[1], "message": each[2]} for each in causes]}
    return kube_errors.from_status(TARGET, status, code=code)


@pytest.mark.parametrize(
    ("field", "reason", "message", "told"),
    [
        ("spec.selector", "FieldValueInvalid", 'Invalid value: {"a":"s3cret"}: field is immutable',
         "spec.selector: field is immutable"),
        ("spec", "FieldValueForbidden", "Forbidden: updates to fields other than 'replicas' are forbidden",
         "spec: updates to fields other than 'replicas' are forbidden"),
        ("data.x", "FieldValueInvalid", 'Invalid value: "a: s3cret"', "data.x: invalid"),
        ("data.x", "FieldValueInvalid", "Invalid value: 53", "data.x: invalid"),
        ("spec.ports[0]", "FieldValueDuplicate", "Duplicate value: s3cret", "spec.ports[0]: duplicate"),
        ("spec.x", "FieldValueNotSupported", 'Unsupported value: "s3cret": supported values: "a"',
         "spec.x: not supported"),
        ("data", "FieldValueInvalid", "", "data: invalid"),
        # What a rule of a CRD says by itself may have values in it, and no quotes around them.
        ("spec", "FieldValueInvalid", 'Invalid value: "object": the password hunter2 is too short', "spec: invalid"),
        ("spec", "FieldValueInvalid", 'Invalid value: "object": field is immutable when hunter2', "spec: invalid"),
        ("spec", "FieldValueForbidden", "Forbidden: updates to fields other than 'hunter2' are forbidden",
         "spec: forbidden"),
        ("spec", "FieldValueForbidden",
         "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
         "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
         "forbidden",
         "spec: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
         "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
         "forbidden"),
    ],
)  # fmt: skip
def test_a_wrong_field(field: str, reason: str, message: str, told: str) -> None:
    found = refusals.text(answer(422, f"ConfigMap web is invalid: {message}", (field, reason, message)))

    assert found == told


def test_what_a_webhook_says_is_not_repeated() -> None:
    error = answer(403, 'admission webhook "policy.example.org" denied the request: value s3cret is not allowed')

    assert refusals.text(error) == "the webhook policy.example.org refuses it"
    assert not isinstance(error, kube_errors.DryRunRefused)


def test_a_webhook_without_dry_runs() -> None:
    error = answer(400, 'admission webhook "policy.example.org" does not support dry run')

    assert refusals.text(error) == "the webhook policy.example.org takes no dry runs"
    assert isinstance(error, kube_errors.DryRunRefused)


def test_a_policy() -> None:
    said = "ValidatingAdmissionPolicy 'few.example.org' with binding 'all' denied request: s3cret is too much"

    assert refusals.text(answer(422, said, ("", "", said))) == "the policy few.example.org refuses it"


def test_a_field_that_the_schema_does_not_have() -> None:
    error = answer(
        500, "failed to create typed patch object (a/b; v1, Kind=X): .spec.wrong: field not declared in schema"
    )

    assert refusals.text(error) == "spec.wrong: field not declared in schema"


def test_anything_else_is_told_by_its_number() -> None:
    error = answer(400, "json: cannot unmarshal string s3cret", reason="BadRequest")

    assert refusals.text(error) == "the server refuses it: 400 BadRequest"


def test_a_conflict_names_the_owners_of_the_first_fields() -> None:
    causes = [(f".data.{name}", "FieldManagerConflict", 'conflict with "terraform"') for name in "abcd"]
    error = answer(409, "Apply failed with 4 conflicts", *causes, reason="Conflict")

    assert refusals.text(error) == (
        "in conflict: terraform owns data.a, terraform owns data.b, terraform owns data.c and 1 more"
    )


def test_a_webhook_that_does_not_answer() -> None:
    said = 'Internal error occurred: failed calling webhook "policy.example.org": failed to call webhook: refused'

    assert refusals.silent_webhook(answer(500, said)) == "policy.example.org"
    assert refusals.silent_webhook(answer(500, "failed calling webhook: refused")) == "unknown"
    assert refusals.silent_webhook(answer(500, "etcd is away")) == ""
    assert refusals.silent_webhook(answer(400, said)) == ""


def test_a_namespace_that_is_being_deleted() -> None:
    said = "unable to create new content in namespace shop because it is being terminated"

    assert refusals.is_for_an_ending_namespace(answer(403, said))
    assert not refusals.is_for_an_ending_namespace(answer(403, "not you"))
