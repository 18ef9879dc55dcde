"""Files that hold keys."""

from pathlib import Path

import pytest

from firstlight.repo.secrecy import clear_secrets
from firstlight.repo.work_tree import WorkTree

KEY = "LS0tLS1CRUdJTiBFRDI1NTE5IFBSSVZBVEUgS0VZLS0tLS0K"


@pytest.mark.parametrize(
    "content",
    [
        "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBKbMHcCAQEEIBKb\n",
        "key: |\n  -----BEGIN PRIVATE KEY-----\n  MHcCAQEEIBKbMHcCAQEEIBKb\n",
        "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ\n",
        "users: [{user: {client-key-data: LS0tLS1C}}]\n",
        f"contexts: {{home: {{crt: LS0t, key: {KEY}}}}}\n",
        "kind: Config\ncurrent-context: a\nusers:\n  - user:\n      token: abcdefghijklmnopqrst\n",
    ],
)
def test_keys_are_known_by_what_they_are(tmp_path: Path, content: str) -> None:
    for name, text in (("some", content), ("plain.yaml", "a: 1\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o604)

    assert clear_secrets.modes(WorkTree(tmp_path), (), tracked=frozenset()) == {"some": 0o604}


@pytest.mark.parametrize(
    "content",
    [
        "grep -q 'PRIVATE KEY-----' file\n",
        "apiVersion: v1\nkind: Secret\nstringData: {password: x, token: abcdefghijklmnopqrst}\n",
        "key: ENC[AES256_GCM,data:abc]\nsops: {}\n",
        "users: [{user: {client-key-data: ${KEY}}}]\n",
        f"ca: {KEY}\n",
        "current-context: a\nusers: [{user: {exec: {command: login}}}]\n",
    ],
)
def test_what_only_speaks_of_keys_holds_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "secrets.yaml").write_text(content)

    assert clear_secrets.modes(WorkTree(tmp_path), (), tracked=frozenset()) == {}


def test_ignored_files_count_that_a_script_names_or_that_hold_keys(tmp_path: Path) -> None:
    (tmp_path / "Taskfile.yaml").write_text("tasks: {up: {cmds: [helmfile -f values-local.yaml apply]}}\n")

    found = clear_secrets.named(WorkTree(tmp_path), ["a/values-local.yaml", "notes.yaml", "b/talosconfig"])

    assert found == ("a/values-local.yaml", "b/talosconfig")


def test_a_link_has_no_permissions_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "repo"
    root.mkdir()
    (tmp_path / "elsewhere/key").write_text("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ")
    (root / "kubeconfig").symlink_to(tmp_path / "elsewhere/key")

    assert clear_secrets.modes(WorkTree(root), ["kubeconfig"], tracked=None) == {}


def test_what_git_tracks_has_no_permissions_and_without_git_names_count(tmp_path: Path) -> None:
    for name in ("tracked.yaml", "kubeconfig", "patch.yaml"):
        (tmp_path / name).write_text("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ\n")
    tree = WorkTree(tmp_path)

    assert list(clear_secrets.modes(tree, (), tracked=frozenset({"tracked.yaml"}))) == ["kubeconfig", "patch.yaml"]
    assert list(clear_secrets.modes(tree, (), tracked=None)) == ["kubeconfig"]
