import inspect
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients.kube import kube_errors

TARGET = kube_errors.ApiTarget("apply", "https://host", "v1", "ConfigMap", "apps", "a")
SECRET = kube_errors.ApiTarget("apply", "https://host", "v1", "Secret", "apps", "a")


def status(code: int, reason: str, message: str = "", **details: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", kube_errors.BadRequest),
        (401, "Unauthorized", kube_errors.Unauthorized),
        (403, "Forbidden", kube_errors.Forbidden),
        (404, "NotFound", kube_errors.NotFound),
        (409, "AlreadyExists", kube_errors.AlreadyExists),
        (409, "Conflict", kube_errors.Conflict),
        (410, "Expired", kube_errors.Gone),
        (422, "Invalid", kube_errors.Invalid),
        (429, "TooManyRequests", kube_errors.TooManyRequests),
        (500, "InternalError", kube_errors.ServerError),
        (504, "Timeout", kube_errors.ServerError),
        (418, "", kube_errors.ApiError),
    ],
)
def test_each_status_has_its_class(code: int, reason: str, expected: type[kube_errors.ApiError]) -> None:
    error = kube_errors.from_status(TARGET, status(code, reason), code=code)

    assert type(error) is expected
    assert isinstance(error, errors.ClientError)
    assert (error.code, error.reason, error.target) == (code, reason, "https://host")


def test_a_webhook_that_takes_no_part_in_dry_runs_has_its_class_for_secrets_too() -> None:
    said = 'admission webhook "a.example.org" does not support dry run'
    for target in (TARGET, SECRET):
        error = kube_errors.from_status(target, status(400, "BadRequest", said), code=400)

        assert type(error) is kube_errors.DryRunRefused


def test_a_message_says_verb_object_server_and_answer() -> None:
    error = kube_errors.from_status(TARGET, status(403, "Forbidden", "you may not"), code=403)

    assert error.message == "apply ConfigMap apps/a on https://host: 403 Forbidden: you may not"


def test_causes_retry_after_and_the_involved_object() -> None:
    causes = [{"field": "spec.replicas", "reason": "FieldValueInvalid", "message": "must be positive"}]
    body = status(422, "Invalid", "no", causes=causes, group="apps", kind="Deployment", name="a", retryAfterSeconds=3)

    error = kube_errors.from_status(TARGET, body, code=422)

    assert error.causes == (kube_errors.StatusCause("spec.replicas", "FieldValueInvalid", "must be positive"),)
    assert error.involved == kube_errors.StatusObject("apps", "Deployment", "a")
    assert error.retry_after == 3


def test_the_managers_of_a_field_conflict() -> None:
    causes = [
        {"reason": "FieldManagerConflict", "field": ".data.x", "message": 'conflict with "helm" using v1'},
        {
            "reason": "FieldManagerConflict",
            "field": ".status.y",
            "message": 'conflict with "flux" with subresource "status" using apps/v1 at 2024-01-01T00:00:00Z',
        },
        {"reason": "FieldManagerConflict", "field": ".z", "message": 'conflict with "helm"'},
    ]

    error = kube_errors.from_status(TARGET, status(409, "Conflict", causes=causes), code=409)

    assert isinstance(error, kube_errors.Conflict)
    assert error.is_field_conflict
    assert error.managers == ("flux", "helm")
    assert error.conflicts[1] == kube_errors.FieldConflict(".status.y", "flux", "status")


def test_a_failed_precondition_is_no_field_conflict() -> None:
    error = kube_errors.from_status(TARGET, status(409, "Conflict", "modified"), code=409)

    assert isinstance(error, kube_errors.Conflict)
    assert not error.is_field_conflict
    assert error.conflicts == ()


@pytest.mark.parametrize(
    "target",
    [SECRET, kube_errors.ApiTarget("POST", "https://host", path="/api/v1/namespaces/apps/secrets")],
)
def test_of_a_secret_only_reason_and_field_paths_are_kept(target: kube_errors.ApiTarget) -> None:
    causes = [
        {"field": "data[password]", "reason": "FieldValueInvalid", "message": 'Invalid value: "hunter2"'},
        {"field": ".data.x", "reason": "FieldManagerConflict", "message": 'conflict with "helm" using hunter2'},
    ]
    body = status(422, "Invalid", 'Secret is invalid: data: "hunter2"', causes=causes)

    error = kube_errors.from_status(target, body, code=422, text="hunter2")

    assert "422 Invalid: in data[password], .data.x" in error.message
    assert error.causes[1].message == 'conflict with "helm"'
    assert "hunter2" not in f"{error.message}{error.detail}{error.causes}{error!r}"


def test_why_a_secret_may_not_be_read_is_said() -> None:
    target = kube_errors.ApiTarget("get", "https://host", "v1", "Secret", "apps", "a")

    error = kube_errors.from_status(target, status(403, "Forbidden", "jane may not"), code=403)

    assert "jane may not" in error.message


def test_a_page_of_a_proxy_is_shortened() -> None:
    error = kube_errors.from_status(TARGET, None, code=502, text="<html>\n  Bad   Gateway" + "x" * 1000)

    assert isinstance(error, kube_errors.ServerError)
    assert error.detail.startswith("<html> Bad Gateway")
    assert len(error.detail) == 300


@pytest.mark.parametrize("body", [None, [], {}, {"kind": "Status"}, {"kind": "Status", "details": {"causes": [1]}}])
def test_bodies_that_say_nothing(body: object) -> None:
    assert kube_errors.from_status(TARGET, body, code=404).code == 404


def test_an_unknown_kind_names_the_nearest() -> None:
    error = kube_errors.UnknownKind("apps/v1", "Deploymnt", server="s", nearest=["apps/v1 Deployment"], stale=True)

    assert "does not answer" in error.message
    assert "apps/v1 Deployment" in error.hint


def test_the_drawing_of_the_tree_is_complete() -> None:
    drawn = inspect.getdoc(kube_errors) or ""
    classes = [
        name
        for name, member in inspect.getmembers(kube_errors, inspect.isclass)
        if issubclass(member, errors.ClientError)
    ]

    assert classes
    assert [name for name in classes if f" {name} " not in drawn] == []
