"""What is kept of a cluster is encrypted for those who may read its Talos secrets: whoever has these can read the rest.

Nothing lies on a disk in the clear on its way: it is made in memory, and where there is no such place it is not made.
"""

import dataclasses
import gzip
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients import sops as clients_sops
from firstlight.clients.sops import CONFIG, SopsClient
from firstlight.commands.backup import backup_store
from firstlight.commands.backup.backup_manifest import BackupPart, StoredBackup
from firstlight.execute import talos_secrets
from firstlight.execute.world import RunPrograms
from firstlight.model import secret_reference
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.secret import Secret
from firstlight.render import private_directory
from firstlight.secrets import talos_bundle

_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours

_DISK = "it would be on a disk in the clear: there is no /dev/shm here"
_ELSEWHERE = "Work where there is one."


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackupEncryption:
    """By which rule of the repo something is encrypted."""

    sops: Path
    rule: Path
    config: Path

    async def encrypt(self, content: Secret, into: Path, *, about: str) -> None:
        """Encrypt into a file that is not there yet.

        Raises:
            secret_errors.SecretError: The rule names nobody, or cannot be read.
        """
        await SopsClient(self.sops).encrypt_into(content, into, rule=self.rule, config=self.config, about=about)

    async def recipients(self) -> tuple[str, ...]:
        """For whom it is encrypted: public keys of age and of SSH, fingerprints of PGP.

        Raises:
            secret_errors.SecretError: The rule names nobody, or cannot be read.
        """
        with private_directory.create("etcd") as home:
            path = home / "try"
            await self.encrypt(Secret(b"a try"), path, about="a backup")
            found = clients_sops.read_metadata(path.read_bytes(), path)
        return found.recipients if found is not None else ()


def sops_rule_of(cluster: Cluster, root: Path) -> Path:
    """The file whose rule in .sops.yaml counts: the cluster's Talos secrets."""
    reference = secret_reference.parse(talos_secrets.reference_of(cluster, root))
    if isinstance(reference, secret_reference.SopsReference):
        return root / reference.path
    return root / "talos" / cluster.name / talos_bundle.NAME


def encryption_of(cluster: Cluster, programs: RunPrograms, *, root: Path) -> BackupEncryption:
    """The seal of a cluster.

    Raises:
        errors.Refused: Nothing says for whom, or it would be in the clear on its way.
    """
    found = _found(cluster, programs, root)
    if isinstance(found, Diagnostic):
        raise errors.Refused(found.message, hint=found.fix)
    return found


async def encryption_refusal(cluster: Cluster, programs: RunPrograms, *, root: Path) -> Diagnostic | None:
    """Why nothing could be kept; None where it can, which is tried."""
    found = _found(cluster, programs, root)
    if isinstance(found, Diagnostic):
        return found
    try:
        with private_directory.create("etcd") as home:
            await found.encrypt(Secret(b"a try"), home / "try", about="a backup")
    except secret_errors.SecretError as error:
        return Diagnostic.error("backup-encryption-failed", f"it cannot be encrypted: {error.message}", fix=error.hint)
    return None


def refuse_disk() -> None:
    """See that there is a place in memory for what is decrypted.

    Raises:
        errors.Refused: It would be on a disk in the clear.
    """
    if not os.access(_MEMORY, os.W_OK):
        raise errors.Refused(_DISK, hint=_ELSEWHERE)


def _found(cluster: Cluster, programs: RunPrograms, root: Path) -> BackupEncryption | Diagnostic:
    if not os.access(_MEMORY, os.W_OK):
        return Diagnostic.error("memory-filesystem-missing", _DISK, fix=_ELSEWHERE)
    rule = sops_rule_of(cluster, root)
    config = talos_bundle.rules(rule, root)
    if config is None:
        return Diagnostic.error(
            "backup-sops-rule-missing",
            f"it is kept encrypted, and no {CONFIG} says for whom",
            fix=f"Write one with a rule for {rule.relative_to(root)}.",
        )
    if programs.sops is None:
        message = "it is kept encrypted, and sops is not there"
        return Diagnostic.error("backup-sops-missing", message, fix="firstlight tools install sops")
    return BackupEncryption(sops=programs.sops, rule=rule, config=config)


# The parts of a backup, decrypted into a private place; and a snapshot of etcd from wherever it was kept.
#
# What is opened is a copy whose digest was checked: the place of a backup may be somebody else's, who could exchange a
# file in between. What is unpacked is counted: memory is what it would fill.


_SEALED, _PACKED = ".sops", ".gz"
_CHUNK = 1 << 20
LARGEST = 16 << 30
"""Bytes of the largest file that is unpacked: etcd has 8 GiB at most."""
RATIO = 256
"""How many bytes one may become: packed text becomes 10 to 30, and zeros a thousand."""
SMALL = 64 << 20
"""Bytes that may always come of it, however small it was."""
FREE = 0.75
"""The share of the free space that may be filled: in memory it is everybody's."""


def check_digest(one: StoredBackup, part: BackupPart) -> None:
    """See that a part is the file that was written.

    Raises:
        errors.FirstlightError: It is not there, or another one.
    """
    for _ in _checked(one, part):
        pass


def part_of(one: StoredBackup, file: str) -> BackupPart:
    """A part of a backup by the name of its file.

    Raises:
        errors.FirstlightError: The manifest does not name it.
    """
    assert one.manifest is not None
    for each in one.manifest.parts:
        if each.file == file:
            return each
    raise errors.FirstlightError(f"it has no {file}")


async def decrypted_part(one: StoredBackup, file: str, into: Path, *, sops: Path | None) -> None:
    """Decrypt and unpack a part of a backup; only what the manifest says is opened.

    Args:
        one: The backup; whether it may be opened was judged before.
        file: The name of the part.
        into: A file in a private place.
        sops: The program; None where it is not there.

    Raises:
        secret_errors.SecretError: It cannot be decrypted.
        errors.FirstlightError: It is not what was written, or cannot be unpacked.
    """
    part = part_of(one, file)
    _refuse_larger(part.size, into.parent, part.file)
    home = into.with_name(f"{into.name}.sealed")
    home.mkdir(mode=0o700)
    try:
        copy = home / part.file
        try:
            with copy.open("xb") as target:
                for chunk in _checked(one, part):
                    target.write(chunk)
        except OSError as error:
            raise errors.FirstlightError(f"{part.file} cannot be copied: {error.strerror}") from error
        await decrypted(copy, into, sops=sops)
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def decrypted(path: Path, into: Path, *, sops: Path | None) -> None:
    """Decrypt and unpack a file by what its name says: ``.gz``, ``.sops``, both or neither.

    Args:
        path: The file.
        into: A file in a private place.
        sops: The program; None where it is not there.

    Raises:
        secret_errors.SecretError: It cannot be decrypted.
        errors.FirstlightError: It cannot be unpacked, or becomes too large.
    """
    name = path.name
    try:
        if name.endswith(_SEALED):
            if sops is None:
                raise errors.ToolError(f"{path} is encrypted", hint="firstlight tools install sops")
            _refuse_larger(path.stat().st_size, into.parent, path.name)
            await SopsClient(sops).decrypt_into(path, into)
            name = name.removesuffix(_SEALED)
        else:
            with backup_store.open_regular(path) as source, into.open("wb") as target:
                into.chmod(0o600)
                _copy(source, target, most=_room(into.parent), what=path.name)
        if name.endswith(_PACKED):
            _unpack(into, path.name)
    except (OSError, EOFError) as error:
        raise errors.FirstlightError(f"{path} cannot be unpacked: {error}") from error


def _unpack(into: Path, what: str) -> None:
    packed = into.rename(into.with_name(f"{into.name}{_PACKED}"))
    most = min(LARGEST, max(SMALL, RATIO * packed.stat().st_size), _room(into.parent))
    try:
        with gzip.open(packed) as source, into.open("wb") as target:
            into.chmod(0o600)
            _copy(source, target, most=most, what=what)
    except errors.FirstlightError:
        into.unlink(missing_ok=True)
        raise
    finally:
        packed.unlink()


def _copy(source: BinaryIO | gzip.GzipFile, target: BinaryIO, *, most: int, what: str) -> None:
    size = 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > most:
            raise errors.FirstlightError(
                f"{what} unpacks to more than {most >> 20} MiB",
                hint="It may be made to fill this computer's memory. If it is yours, make room in /dev/shm.",
            )
        target.write(chunk)


def _checked(one: StoredBackup, part: BackupPart) -> Iterator[bytes]:
    """The content of a part, as long as the manifest says, and refused at its end if it is another one.

    Raises:
        errors.FirstlightError: It is not there, or another one.
    """
    path = Path(one.path) / part.file
    changed = errors.FirstlightError(f"{part.file} is not what was written: it was changed since, or is damaged")
    digest = hashlib.sha256()
    left = part.size
    try:
        if path.is_symlink():
            raise errors.FirstlightError(f"{part.file} is a link")
        with backup_store.open_regular(path) as file:
            if os.fstat(file.fileno()).st_size != part.size:
                raise changed
            while left > 0 and (chunk := file.read(min(left, _CHUNK))):
                left -= len(chunk)
                digest.update(chunk)
                yield chunk
    except OSError as error:
        raise errors.FirstlightError(f"{part.file} cannot be read: {error.strerror}") from error
    if digest.hexdigest() != part.sha256:
        raise changed


def _refuse_larger(size: int, place: Path, what: str) -> None:
    if size > min(LARGEST, _room(place)):
        raise errors.FirstlightError(
            f"{what} has {size >> 20} MiB, more than {place} has room for", hint="Make room in /dev/shm."
        )


def _room(place: Path) -> int:
    found = os.statvfs(place)
    return int(found.f_bavail * found.f_frsize * FREE)
