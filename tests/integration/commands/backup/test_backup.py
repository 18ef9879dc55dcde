"""Backups of machines that live: made, listed, proven by restoring, and refused where they would be of no use."""

import tarfile
import time
import unittest.mock
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight.clients import kube, talosctl
from firstlight.clients.sops import SopsClient
from firstlight.clients.talosctl.talos_errors import TalosctlCall
from firstlight.commands.backup import backup_contents, backup_manifest, backup_store, encryption, etcd_snapshot
from firstlight.execute import durable_store
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, derived_signing_keys, talos_bundle
from firstlight.tools import install
from tests import labs, machines
from tests.integration.clients.test_ssh_keygen import key
from tests.integration.secrets.encrypted_repo import MINE, THEIRS
from tests.node_commands import Living

CANARY = "canary-of-the-backup"


@pytest_asyncio.fixture(scope="session")
async def sops() -> Path:
    return (await install.ensure(["sops"]))["sops"]


@pytest_asyncio.fixture
async def living(
    cluster: machines.Cluster, tmp_path: Path, sops: Path, monkeypatch: pytest.MonkeyPatch
) -> Living:  # fmt: skip
    """The machines that tests share, declared by a repo of the test that encrypts for its author."""
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    one = Living(cluster, tmp_path / "repo", sops)
    one.declare("cp-1", "cp-2", "cp-3", "worker-1")
    rule(one, age_keys.recipient(MINE))
    return one


def rule(living: Living, recipient: str) -> None:
    text = f"creation_rules:\n  - path_regex: ^talos/lab/.*\n    age: {recipient}\n"
    (living.root / ".sops.yaml").write_text(text)


async def created(living: Living, *more: str) -> dict[str, Any]:
    made = await living.typed("backup", "create", "lab", *more, "--output", "json")
    assert made.code == 0, made.out + made.err
    found: dict[str, Any] = made.data["backup"]
    return found


def words(checks: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["verdict"], each["reason"]) for each in checks}


async def test_what_was_kept_is_listed_and_a_real_etcd_serves_it_again(living: Living, tmp_path: Path) -> None:
    async with kube.Client(kube.load(living.machines.lab.kubeconfig)) as client:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}}
        await client.apply({**secret, "stringData": {"word": CANARY}}, manager="tests")
        uid = (await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"]
    durable_store.write_beside_journal(CANARY.encode(), living.root / ".firstlight" / "lab" / "incidents" / "one.md")

    made = await created(living)

    path, manifest = Path(made["path"]), made["manifest"]
    assert path.parent == living.root / ".firstlight" / "lab" / "backups"
    assert manifest["uid"] == uid
    assert made["signature"]["signer"] == derived_signing_keys.fingerprint(Secret(MINE))
    assert set(manifest["talos"]) == {"cp-1", "cp-2", "cp-3", "worker-1"}
    assert not any(CANARY.encode() in each.read_bytes() for each in path.iterdir()), "everything is encrypted"
    await _holds_what_it_says(path, living, tmp_path)
    assert age_keys.identity(MINE).reveal() not in b"".join(each.read_bytes() for each in path.iterdir())
    listed = await living.typed("backup", "list", "--output", "json")
    assert listed.data["backups"][0]["signature"]["standing"] == "own"
    assert [each["stamp"] for each in listed.data["backups"]] == [made["stamp"]]

    proven = await living.typed("backup", "verify", made["stamp"], "--restore", "--output", "json")

    assert proven.code == 0, proven.out + proven.err
    checks = words(proven.data["checks"])
    assert "byte by byte the same" in checks["restore"][1]
    assert str(manifest["etcd"]["revision"]) in checks["restore"][1]
    shown = await living.typed("backup", "verify")
    assert "a cluster can be brought back with it" in shown.out


async def _holds_what_it_says(path: Path, living: Living, tmp_path: Path) -> None:
    assert living.sops is not None
    client = SopsClient(living.sops)
    talos_bundle.check(await client.decrypt(path / backup_contents.SECRETS), "")
    configs = yaml.safe_load((await client.decrypt(path / backup_contents.CONFIGS)).reveal())
    assert "HostnameConfig" in configs["worker-1"]
    await encryption.decrypted(path / backup_contents.RECORDS, tmp_path / "records", sops=living.sops)
    with tarfile.open(tmp_path / "records") as archive:
        assert "lab/incidents/one.md" in archive.getnames()
    await encryption.decrypted(path / backup_contents.ETCD, tmp_path / "snapshot", sops=living.sops)
    assert CANARY.encode() in etcd_snapshot.value_of(tmp_path / "snapshot", b"/registry/secrets/default/a")


async def test_what_is_wrong_with_one_is_said_and_it_is_not_the_one_that_stays(
    living: Living, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "elsewhere"
    older = (await created(living, "--to", str(place)))["stamp"]

    async def is_another_second() -> bool:
        return bool(backup_manifest.stamp(time.time()) != older)

    await labs.until(is_another_second, "the second after the first backup, since its name is its second")
    newer = (await created(living, "--to", str(place)))["stamp"]
    file = place / newer / backup_contents.ETCD
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)

    broken = await living.typed("backup", "verify", "--from", str(place), "--output", "json")

    assert broken.code == 1, broken.out + broken.err
    assert "is not what was written" in words(broken.data["checks"])["files"][1]
    assert words(broken.data["checks"])["etcd"][0] == "failed"
    pruned = await living.typed("backup", "prune", "--keep", "1", "--from", str(place), "--output", "json")
    assert (pruned.code, pruned.data["gone"], pruned.data["sound"]) == (0, [], older), pruned.out + pruned.err
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(THEIRS).reveal().decode())
    typed = ("backup", "verify", older, "--from", str(place), "--output", "json")
    stranger = await living.typed(*typed)
    assert (stranger.code, stranger.data["signature"]["standing"]) == (1, "foreign")
    stranger = await living.typed(*typed, "--signer", stranger.data["signature"]["signer"])
    assert stranger.code == 1
    assert "none of the keys here decrypts it" in words(stranger.data["checks"])["etcd"][1]


async def test_no_backup_is_better_than_one_that_anybody_could_read(living: Living) -> None:
    (living.root / ".sops.yaml").unlink()

    refused = await living.typed("backup", "create")

    assert (refused.code, "no .sops.yaml says for whom" in refused.err) == (3, True), refused.out + refused.err
    assert not (living.root / ".firstlight" / "lab" / "backups").exists()


async def test_without_a_member_that_is_well_nothing_is_left(living: Living) -> None:
    async def silent(*_: object, **__: object) -> object:
        raise talosctl.TalosUnreachable(TalosctlCall(("etcd", "status")), detail="connection refused")

    with unittest.mock.patch.object(talosctl.Talosctl, "etcd_status", silent):
        refused = await living.typed("backup", "create")

    assert (refused.code, "no member of etcd of lab is well" in refused.err) == (3, True), refused.out + refused.err
    assert list((living.root / ".firstlight" / "lab" / "backups").iterdir()) == []


async def test_no_backup_is_better_than_one_that_nobody_signed(
    living: Living, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(THEIRS).reveal().decode())

    refused = await living.typed("backup", "create")

    assert (refused.code, "none of the keys that it is encrypted for" in refused.err) == (3, True), refused.err
    assert not (living.root / ".firstlight" / "lab" / "backups").exists()
    made = await created(living, "--sign", str(await key(tmp_path)))
    assert made["signature"]["signer"].startswith("SHA256:")


async def test_etcd_is_not_restored_from_one_that_its_owner_did_not_sign(living: Living) -> None:
    """Nothing is wiped for it: it is refused before the question."""
    made = await created(living)
    typed = ("recover", "lab", "--do", "etcd-restore", "--on", made["stamp"], "--dry-run", "--yes")
    genuine = await living.typed(*typed)
    assert "signed by SHA256:" in genuine.out + genuine.err
    (Path(made["path"]) / backup_store.SIGNATURE).unlink()

    refused = await living.typed(*typed)

    assert refused.code == 3, refused.out + refused.err
    assert "its signature is missing" in refused.out + refused.err
    named = await living.typed(*typed, "--trust-unsigned", made["stamp"])
    assert named.code == 0, named.out + named.err
    assert "not signed, taken by its name" in named.out + named.err
