"""The copy of a repo that is rehearsed, and what is encrypted in it."""

import base64
import os
from pathlib import Path

import yaml

from firstlight.commands.rehearse import work_tree_copy

SECRET = b"""apiVersion: v1
kind: Secret
metadata: {name: token, namespace: web}
data: {a: 'ENC[AES256_GCM,data:x,type:str]'}
stringData: {tls.key: 'ENC[AES256_GCM,data:y,type:str]', count: 'ENC[AES256_GCM,data:y,type:int]'}
sops: {version: 3.9.0, mac: 'ENC[x]'}
"""


def test_a_secret_holds_dummies_that_kubernetes_takes() -> None:
    made = yaml.safe_load(work_tree_copy.with_dummies("a.sops.yaml", SECRET) or b"")

    assert made["metadata"] == {"name": "token", "namespace": "web"}
    assert base64.b64decode(made["data"]["a"]).startswith(b"rehearsal-")
    assert made["stringData"]["tls.key"].startswith("-----BEGIN PRIVATE KEY")
    assert made["stringData"]["count"] == 1
    assert "sops" not in made


def test_other_documents_of_the_file_stay() -> None:
    made = list(
        yaml.safe_load_all(work_tree_copy.with_dummies("a.yaml", b"kind: Plain\ncount: 1\n---\n" + SECRET) or b"")
    )
    assert made[0] == {"kind": "Plain", "count": 1}


def test_variables_and_whole_files() -> None:
    dotenv = b"PASSWORD=ENC[AES256_GCM,data:x,type:str]\nPLAIN=1\nsops_version=3.9.0\n"
    password, plain = (work_tree_copy.with_dummies("web.env", dotenv) or b"").splitlines()
    assert password.startswith(b"PASSWORD=rehearsal-")
    assert plain == b"PLAIN=1"
    whole = work_tree_copy.with_dummies("key.bin.yaml", b"data: 'ENC[x]'\nsops: {version: 3}\n") or b""
    assert whole.startswith(b"rehearsal-")


def test_what_is_not_encrypted_or_is_talos_own_is_left() -> None:
    bundle = b"certs: {os: {key: 'ENC[x]'}}\ntrustdinfo: {token: 'ENC[x]'}\nsops: {version: 3}\n"
    assert work_tree_copy.with_dummies("talsecret.sops.yaml", bundle) is None
    assert work_tree_copy.with_dummies("a.yaml", b"kind: ConfigMap\n") is None
    assert work_tree_copy.with_dummies("a.md", b"values begin with ENC[") is None
    assert work_tree_copy.with_dummies("a.yaml", b"sops: [\nENC[") is None


async def test_the_copy_has_the_files_and_links_of_the_tree(tmp_path: Path) -> None:
    root, into = tmp_path / "repo", tmp_path / "rehearsal" / "repo"
    (root / "apps").mkdir(parents=True)
    (root / "apps" / "web.yaml").write_text("kind: Web\n")
    (root / "apps" / "token.sops.yaml").write_bytes(SECRET)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link.yaml").symlink_to("apps/web.yaml")
    (root / "out").symlink_to("/etc/hostname")

    made = await work_tree_copy.copy(root, into, git=None)

    assert made.decrypted == ("apps/token.sops.yaml",)
    assert b"ENC[" not in (into / "apps" / "token.sops.yaml").read_bytes()
    assert (into / "link.yaml").is_symlink()
    assert (into / "link.yaml").read_text() == "kind: Web\n"
    assert (into / "run.sh").stat().st_mode & 0o111
    assert not os.path.lexists(into / "out")
    assert (root / "apps" / "token.sops.yaml").read_bytes() == SECRET, "the user's own file"


def test_digests_are_replaced_everywhere(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("digest: sha256:old\n")
    (tmp_path / "b.yaml").write_text("other: 1\n")

    assert work_tree_copy.replace(tmp_path, {"sha256:old": "sha256:new"}) == ("a.yaml",)
    assert (tmp_path / "a.yaml").read_text() == "digest: sha256:new\n"
    assert work_tree_copy.replace(tmp_path, {}) == ()
