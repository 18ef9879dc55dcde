"""Backups, as people and programs read them."""

import dataclasses

from firstlight.commands.backup import text
from firstlight.commands.backup.backup_manifest import (
    VERSION,
    BackupManifest,
    BackupPart,
    BackupRepo,
    BackupVerification,
    EtcdSnapshotSummary,
    Pruning,
    StoredBackup,
)
from firstlight.model.verdict import Failed, Passed, VerificationCheck

STAMP = "20261118T010203Z"
MANIFEST = BackupManifest(
    version=VERSION, stamp=STAMP, at=1.0, cluster="infra", firstlight="1", uid="u", kubernetes="v1.36.0",
    talos={"cp-1": "v1.13.0", "cp-2": "v1.13.0"}, silent={"worker-2": "does not answer"},
    secrets="sops:talos/infra/secrets.sops.yaml", is_in_git=True,
    etcd=EtcdSnapshotSummary(machine="cp-1", revision=91733, keys=8412, size=14 << 20, hash="ab"),
    repo=BackupRepo(commit="4f2c1d9e0a7b66", branch="main", is_dirty=True),
    parts=(BackupPart(name="snapshot of etcd", file="etcd.snapshot.gz.sops", size=3 << 20, sha256="00"),),
)  # fmt: skip
KEPT = StoredBackup(stamp=STAMP, path=f"/repo/.firstlight/infra/backups/{STAMP}", manifest=MANIFEST)


def test_what_was_kept_and_what_was_not() -> None:
    said = text.made(KEPT)

    assert said.splitlines()[0] == f"infra   backup {STAMP}, 3.0 MiB, encrypted"
    assert "8412 keys at revision 91733, 14.0 MiB, from cp-1" in said
    assert "Git has them, too: sops:talos/infra/secrets.sops.yaml" in said
    assert "of cp-1, cp-2; not of worker-2: does not answer" in said
    assert "4f2c1d9e0a7b on main, with changes that are not committed" in said
    assert said.endswith(f"firstlight backup verify {STAMP} --restore")


def test_secrets_that_git_does_not_have_are_said() -> None:
    said = text.made(dataclasses.replace(KEPT, manifest=dataclasses.replace(MANIFEST, is_in_git=False)))

    assert "Git does not have them encrypted" in said


def test_another_place_is_part_of_the_next_command() -> None:
    said = text.made(dataclasses.replace(KEPT, path=f"/mnt/safe/{STAMP}"))

    assert said.endswith("--restore --from /mnt/safe")


def test_a_list_names_what_is_wrong() -> None:
    broken = StoredBackup(stamp="20261117T010203Z", path="/x", problem="its manifest cannot be read: No such file")

    said = text.listed((KEPT, broken), cluster="infra", place="/x")

    assert "2 backups in /x" in said
    assert "revision 91733" in said
    assert "20261117T010203Z   its manifest cannot be read" in said
    assert "firstlight backup create infra" in text.listed((), cluster="infra", place="/x")


def test_a_proof_says_what_failed_and_what_to_do() -> None:
    checks = (
        VerificationCheck(name="files", verdict=Passed("4 parts")),
        VerificationCheck(
            name="etcd", verdict=Failed("none of the keys here decrypts it"), detail=("set SOPS_AGE_KEY_FILE",)
        ),
        VerificationCheck(name="restore", verdict=Passed("the same"), seconds=12.3),
    )
    proof = BackupVerification(stamp=STAMP, path="/x", checks=checks)

    said = text.proven(proof)

    assert "it is not sound" in said.splitlines()[0]
    assert "✘   etcd" in said
    assert "12 s" in said
    assert "next     set SOPS_AGE_KEY_FILE" in said
    assert [each["verdict"] for each in text.proven_data(proof)["checks"]] == ["passed", "failed", "passed"]


def test_what_is_deleted_is_named() -> None:
    done = Pruning(gone=("b", "c"), stays=("a",), sound="a")

    assert text.pruned(done) == "2 backups deleted: b, c\n1 backup stays\nthe newest that verifies: a"
    assert "would be deleted" in text.pruned(dataclasses.replace(done, is_dry_run=True))
    assert text.pruned(Pruning(gone=(), stays=("a", "b"))) == "nothing is deleted: 2 backups stay"
