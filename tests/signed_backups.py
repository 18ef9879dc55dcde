"""Backups without a cluster: parts in form, encrypted by the real sops, signed by whom a test wants."""

import dataclasses
import gzip
import hashlib
import io
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.commands.backup import backup_contents, backup_manifest, backup_signature, backup_store
from firstlight.commands.backup.backup_manifest import BackupManifest, BackupPart, BackupRepo, EtcdSnapshotSummary
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, derived_signing_keys, ssh_signature
from tests.integration.secrets.encrypted_repo import BUNDLE
from tests.unit.commands.backup import bolt_file

UID = "0f6c1b8e-uid"
AT = 1_790_000_000.0
STAMP = backup_manifest.stamp(AT)
PLATFORM = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  home:
    talos: v1.13.0
    kubernetes: v1.36.0
    network: {endpoint: "https://10.0.0.1:6443"}
    machines: [{name: cp-1, address: 10.0.0.1, role: controlplane, disk: /dev/sda}]
"""


def snapshot() -> bytes:
    """What etcd would hold."""
    return bolt_file.snapshot([(2, b"/registry/namespaces/kube-system", f"k8s {UID}".encode())])


def tar(*members: tarfile.TarInfo) -> bytes:
    """A tar with these members, each with as many zeros as it says."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for each in members:
            archive.addfile(each, io.BytesIO(bytes(each.size)))
    return content.getvalue()


def member(name: str, **changes: object) -> tarfile.TarInfo:
    """A file of a tar, or what it is changed to."""
    one = tarfile.TarInfo(name)
    for key, value in changes.items():
        setattr(one, key, value)
    return one


def contents() -> dict[str, bytes]:
    """The parts of a good backup, by file, in the clear."""
    return {
        backup_contents.ETCD: gzip.compress(snapshot()),
        backup_contents.SECRETS: BUNDLE.encode(),
        backup_contents.CONFIGS: b"cp-1: |\n  machine: {}\n",
        backup_contents.RECORDS: gzip.compress(tar(member("home/identity.json", size=3), member("runs/one.jsonl"))),
    }


def encrypted(content: bytes, recipient: str, sops: Path) -> bytes:
    """What anybody can make who knows a public key."""
    argv = [str(sops), "encrypt", f"--age={recipient}", "--input-type=binary", "--output-type=binary", "/dev/stdin"]
    return subprocess.run(argv, input=content, capture_output=True, check=True, env={"HOME": "/nonexistent"}).stdout


def signed_by(seed: bytes) -> backup_signature.Signer:
    """A signer with an identity of age."""
    return backup_signature.Signer(fingerprint=derived_signing_keys.fingerprint(Secret(seed)), seed=Secret(seed))


def signature(content: bytes, seed: bytes) -> str:
    """As a backup has it."""
    return ssh_signature.sign(
        content, derived_signing_keys.signing_key(Secret(seed)), namespace=backup_signature.NAMESPACE
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Backup:
    """One that lies somewhere."""

    path: Path

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode((self.path / backup_store.MANIFEST).read_bytes())
        return found

    def write(self, manifest: Mapping[str, Any], signature: str | None = None) -> None:
        """Write another manifest; the signature stays as it is if none is given."""
        (self.path / backup_store.MANIFEST).write_bytes(msgspec.json.encode(manifest))
        if signature is not None:
            (self.path / backup_store.SIGNATURE).write_text(signature)

    def unsign(self) -> None:
        (self.path / backup_store.SIGNATURE).unlink()

    def sign(self, seed: bytes) -> None:
        content = (self.path / backup_store.MANIFEST).read_bytes()
        (self.path / backup_store.SIGNATURE).write_text(signature(content, seed))


def made(
    place: Path, *, sops: Path, recipient: str, seed: bytes | None, parts: Mapping[str, bytes] | None = None,
    stamp: str = STAMP, version: int = backup_manifest.VERSION, cluster: str = "home",
) -> Backup:  # fmt: skip
    """A backup as ``making.make`` leaves it, signed with an identity of age, or by nobody."""
    path = place / stamp
    path.mkdir(parents=True)
    found = []
    for file, content in (contents() | dict(parts or {})).items():
        sealed = encrypted(content, recipient, sops)
        (path / file).write_bytes(sealed)
        found.append(BackupPart(name=file, file=file, size=len(sealed), sha256=hashlib.sha256(sealed).hexdigest()))
    manifest = BackupManifest(
        version=version,
        stamp=stamp,
        at=AT,
        cluster=cluster,
        firstlight="1",
        uid=UID,
        kubernetes="v1.36.0",
        talos={"cp-1": "v1.13.0"},
        silent={},
        secrets="sops:a",
        is_in_git=True,
        etcd=EtcdSnapshotSummary(machine="cp-1", revision=2, keys=1, size=len(snapshot()), hash="ab"),
        repo=BackupRepo(),
        parts=tuple(found),
    )
    one = Backup(path=path)
    one.write(msgspec.to_builtins(manifest))
    if seed is not None:
        one.sign(seed)
    return one


def recipient(seed: bytes) -> str:
    """The public key that everybody knows."""
    return age_keys.recipient(seed)
