import hashlib
import hmac
import json

import pytest

from firstlight.lab.sources import push_webhooks
from firstlight.lab.sources.declarations import DeclaredWebhook
from firstlight.lab.sources.git_commits import PushedCommit
from firstlight.lab.sources.git_repositories import RefUpdate

NEW, NONE = "b" * 40, "0" * 40


def message(update: RefUpdate, *commits: PushedCommit) -> push_webhooks.PushMessage:
    return push_webhooks.PushMessage(
        "team/sub/fleet", "http://git/git/team/sub/fleet", "main", update, "me", False, commits
    )


def test_githubs_form() -> None:
    commit = PushedCommit(NEW, "Ann", "ann@example.org", "2026-01-02T03:04:05Z", "m", ("new",), ("old",), ())
    said = json.loads(push_webhooks.body(message(RefUpdate("refs/heads/main", NONE, NEW), commit), "github"))

    assert (said["created"], said["deleted"], said["forced"]) == (True, False, False)
    assert said["head_commit"] == said["commits"][0]
    assert said["commits"][0]["modified"] == ["old"]
    repository = said["repository"]
    assert repository["html_url"] == "http://git/git/team/sub/fleet"
    assert repository["clone_url"] == "http://git/git/team/sub/fleet.git"
    assert (repository["owner"]["login"], repository["name"]) == ("team/sub", "fleet")
    assert repository["default_branch"] == "main"


def test_a_deletion_has_no_commits() -> None:
    said = json.loads(push_webhooks.body(message(RefUpdate("refs/heads/x", NEW, NONE)), "github"))
    assert (said["deleted"], said["commits"], said["head_commit"]) == (True, [], None)


@pytest.mark.parametrize(("shape", "names"), [("github", 1), ("generic", 2)])
def test_signatures(shape: str, names: int) -> None:
    hook = DeclaredWebhook("http://x/", "key", "github" if shape == "github" else "generic")
    content = push_webhooks.body(message(RefUpdate("refs/heads/main", NONE, NEW)), shape)
    headers = push_webhooks.headers(hook, content, "id")

    expected = "sha256=" + hmac.new(b"key", content, hashlib.sha256).hexdigest()
    signed = [name for name, value in headers.items() if value == expected]
    assert len(signed) == names
    assert "X-Hub-Signature-256" in signed
    assert (headers.get("X-GitHub-Event") == "push") == (shape == "github")


def test_without_a_secret_nothing_is_signed() -> None:
    headers = push_webhooks.headers(DeclaredWebhook("http://x/"), b"{}", "id")
    assert not [name for name in headers if "Signature" in name]
