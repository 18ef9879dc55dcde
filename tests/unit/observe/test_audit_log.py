"""Writes found in an audit log."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.observe import audit_log

AT = 1794812400.0  # 2026-11-16T07:00:00Z


def event(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "Event",
        "stage": "ResponseComplete",
        "requestURI": "/apis/apps/v1/namespaces/web/deployments/shop?fieldManager=x&force=true",
        "verb": "patch",
        "user": {"username": "admin"},
        "userAgent": "firstlight/0.1.0",
        "objectRef": {"resource": "deployments", "apiGroup": "apps", "namespace": "web", "name": "shop"},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2026-11-16T07:00:00.500000Z",
    } | changes


def write(path: Path, *events: dict[str, Any], more: bytes = b"", at: float = AT) -> Path:
    path.write_bytes(b"\n".join(msgspec.json.encode(each) for each in events) + more)
    os.utime(path, (at, at))
    return path


def found(path: Path) -> list[str]:
    return [f"{each.verb} {each.what}" for each in audit_log.writes(path, since=AT, until=AT + 1)]


def test_a_write_is_told_whole(tmp_path: Path) -> None:
    log = write(tmp_path / "audit.log", event())

    (one,) = audit_log.writes(log, since=AT, until=AT + 1)

    assert one == audit_log.Write(
        at=AT + 0.5, user="admin", agent="firstlight/0.1.0", verb="patch", what="deployments web/shop", code=200
    )
    assert str(one) == "patch deployments web/shop (admin, firstlight/0.1.0: 200)"


@pytest.mark.parametrize(
    "changes",
    [
        {"verb": "get"},
        {"verb": "watch", "stage": "ResponseStarted"},
        {"stage": "RequestReceived"},
        {"requestURI": "/apis/apps/v1/namespaces/web/deployments/shop?dryRun=All&fieldManager=x"},
        {"verb": "create", "objectRef": {"resource": "selfsubjectaccessreviews", "apiGroup": "authorization.k8s.io"}},
        {"verb": "create", "objectRef": {"resource": "tokenreviews", "apiGroup": "authentication.k8s.io"}},
        {"verb": "create", "objectRef": {"resource": "serviceaccounts", "subresource": "token", "name": "flux"}},
        {"user": {"username": "system:serviceaccount:flux-system:kustomize-controller"}},
        {"user": {"username": "lab:simulator"}},
        {"requestReceivedTimestamp": "2026-11-16T06:59:59.9Z"},
        {"requestReceivedTimestamp": "2026-11-16T07:00:01.1Z"},
    ],
    ids=["read", "watch", "received", "dry-run", "access-review", "token-review", "token", "engine", "lab", "before",
         "after"],
)  # fmt: skip
def test_what_is_no_write(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert found(write(tmp_path / "audit.log", event(**changes))) == []


def test_a_refused_write_is_one_and_a_path_names_what_has_no_object(tmp_path: Path) -> None:
    refused = event(responseStatus={"code": 409})
    pathless = event(verb="create", objectRef=None, requestURI="/somewhere?x=1")
    many = event(verb="deletecollection", objectRef={"resource": "pods", "namespace": "web"})

    assert found(write(tmp_path / "audit.log", refused, pathless, many)) == [
        "patch deployments web/shop",
        "create /somewhere",
        "deletecollection pods web",
    ]


def test_who_is_asked_about_can_be_chosen(tmp_path: Path) -> None:
    log = write(tmp_path / "audit.log", event(), event(userAgent="Helm/4.1"))

    chosen = audit_log.writes(log, since=AT, until=AT + 1, is_asked=lambda user, agent: agent.startswith("Helm/"))

    assert [each.agent for each in chosen] == ["Helm/4.1"]


def test_rotated_files_are_read_and_half_a_line_is_left(tmp_path: Path) -> None:
    write(tmp_path / "audit-2026-11-16T07-00-00.500.log", event(verb="delete"))
    write(tmp_path / "audit-2026-11-15T07-00-00.500.log", event(verb="update"), at=AT - 60)
    log = write(tmp_path / "audit.log", event(), more=b'\n{"verb": "pat')

    assert found(log) == ["delete deployments web/shop", "patch deployments web/shop"]


def test_a_request_is_found_by_its_uri(tmp_path: Path) -> None:
    log = write(tmp_path / "audit.log", event(requestURI="/version?mark=abc"))

    assert audit_log.has(log, "mark=abc", since=AT)
    assert not audit_log.has(log, "mark=abd", since=AT)
    assert not audit_log.has(tmp_path / "absent.log", "mark", since=AT)
