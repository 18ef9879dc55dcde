import hashlib
import hmac
import json

import pytest

from firstlight.lab.sources import webhooks
from firstlight.lab.sources.declared import Webhook
from firstlight.lab.sources.git.history import Commit
from firstlight.lab.sources.git.pkt_line import Update

NEW, NONE = "b" * 40, "0" * 40


def message(update: Update, *commits: Commit) -> webhooks.Message:
    return webhooks.Message("team/sub/fleet", "http://git/git/team/sub/fleet", "main", update, "me", False, commits)


def test_githubs_form() -> None:
    commit = Commit(NEW, "Ann", "ann@example.org", "2026-01-02T03:04:05Z", "m", ("new",), ("old",), ())
    said = json.loads(webhooks.body(message(Update("refs/heads/main", NONE, NEW), commit), "github"))

    assert (said["created"], said["deleted"], said["forced"]) == (True, False, False)
    assert said["head_commit"] == said["commits"][0]
    assert said["commits"][0]["modified"] == ["old"]
    repository = said["repository"]
    assert repository["html_url"] == "http://git/git/team/sub/fleet"
    assert repository["clone_url"] == "http://git/git/team/sub/fleet.git"
    assert (repository["owner"]["login"], repository["name"]) == ("team/sub", "fleet")
    assert repository["default_branch"] == "main"


def test_a_deletion_has_no_commits() -> None:
    said = json.loads(webhooks.body(message(Update("refs/heads/x", NEW, NONE)), "github"))
    assert (said["deleted"], said["commits"], said["head_commit"]) == (True, [], None)


@pytest.mark.parametrize(("shape", "names"), [("github", 1), ("generic", 2)])
def test_signatures(shape: str, names: int) -> None:
    hook = Webhook("http://x/", "key", "github" if shape == "github" else "generic")
    content = webhooks.body(message(Update("refs/heads/main", NONE, NEW)), shape)
    headers = webhooks.headers(hook, content, "id")

    expected = "sha256=" + hmac.new(b"key", content, hashlib.sha256).hexdigest()
    signed = [name for name, value in headers.items() if value == expected]
    assert len(signed) == names
    assert "X-Hub-Signature-256" in signed
    assert (headers.get("X-GitHub-Event") == "push") == (shape == "github")


def test_without_a_secret_nothing_is_signed() -> None:
    headers = webhooks.headers(Webhook("http://x/"), b"{}", "id")
    assert not [name for name in headers if "Signature" in name]
