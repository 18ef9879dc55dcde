"""A recovery of etcd: the snapshot that it is restored from, opened and checked, and how far it is.

How far it is stands on this computer, so that what was wiped is not wiped again once it is restored.
"""

import dataclasses
from pathlib import Path
from typing import Literal

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.commands.backup import (
    backup_check,
    backup_contents,
    backup_signature,
    backup_store,
    encryption,
    etcd_snapshot,
)
from firstlight.commands.backup.backup_manifest import SignatureJudgement, StoredBackup
from firstlight.commands.backup.backup_signature import SignerTrust
from firstlight.commands.backup.etcd_snapshot import EtcdContent
from firstlight.drawing import clock
from firstlight.execute import cluster_identity
from firstlight.execute.world import World
from firstlight.journal import state_files
from firstlight.render import private_directory

_NAMESPACE = b"/registry/namespaces/kube-system"


@dataclasses.dataclass(frozen=True, kw_only=True)
class OpenedSnapshot:
    """A snapshot in the clear, in a private place, for as long as the world lasts."""

    path: Path
    store: EtcdContent
    says: str = ""
    """When it was made and by whom, for people."""


def file_of(source: Path) -> Path:
    """The snapshot of a backup's directory; a file is one itself.

    Raises:
        errors.Refused: There is none.
    """
    found = source / backup_contents.ETCD if source.is_dir() else source
    if not found.is_file():
        raise errors.Refused(
            f"{source} is neither a backup nor a snapshot of etcd", hint="What there is: firstlight backup list"
        )
    return found


async def opened(source: Path, world: World, *, trusted: SignerTrust | None, now: float = 0.0) -> OpenedSnapshot:
    """Open a snapshot, and see that it is whole and this cluster's: etcd is wiped for it.

    Args:
        source: A backup's directory, or a file.
        world: The run.
        trusted: Whose backups are opened; None for what this recovery has kept itself.
        now: To tell how old a backup is.

    Raises:
        errors.Refused: It is damaged, or another cluster's, or nobody trusted has signed it.
        secret_errors.SecretError: It cannot be decrypted.
    """
    encryption.refuse_disk()
    file = file_of(source)
    known = cluster_identity.known(world.state, world.cluster.name)
    says = ""
    if source.is_dir():
        one = backup_store.find(source.parent, source.name)
        says = await _judged(one, world.cluster.name, known, trusted or SignerTrust(), now)
        path = world.holding(private_directory.create("etcd")) / "snapshot"
        await encryption.decrypted_part(one, backup_contents.ETCD, path, sops=world.programs.sops)
    else:
        if trusted is not None:
            says = "not signed, taken because you named it"
            _refuse_untrusted(source, backup_signature.unsigned_file(source.name, trusted))
        path = world.holding(private_directory.create("etcd")) / "snapshot"
        await encryption.decrypted(file, path, sops=world.programs.sops)
    try:
        etcd_snapshot.check_sum(path)
        store = etcd_snapshot.read(path)
        namespace = etcd_snapshot.value_of(path, _NAMESPACE)
    except etcd_snapshot.DamagedDatabase as error:
        raise errors.Refused(f"{file} is no snapshot to restore: {error}", hint="Take another one.") from error
    if known and known.encode() not in namespace:
        raise errors.Refused(
            f"{file} is of another cluster: kube-system of {world.cluster.name} has the UID {known}, and not in there",
            hint="What there is: firstlight backup list",
        )
    return OpenedSnapshot(path=path, store=store, says=says)


async def _judged(one: StoredBackup, cluster: str, uid: str, trusted: SignerTrust, now: float) -> str:
    """See that a backup may be restored, by its manifest; how old it is and who signed it.

    Raises:
        errors.Refused: It may not.
    """
    if one.manifest is None:
        raise errors.Refused(f"{one.path}: {one.problem}", hint="What is wrong with it: firstlight backup verify")
    signed = await backup_signature.judge(one, trusted)
    _refuse_untrusted(Path(one.path), signed)
    if problem := backup_check.stray(one, cluster, uid):
        raise errors.Refused(f"{one.path} is not restored: {problem}", hint="What there is: firstlight backup list")
    age = clock.ago(one.manifest.at, now=now)
    return f"made {age}, signed by {signed.signer}" if signed.signer else f"made {age}, not signed, taken by its name"


def _refuse_untrusted(source: Path, signed: SignatureJudgement) -> None:
    if not signed.is_trusted:
        raise errors.Refused(f"{source} is not restored: {signed.why}", hint=signed.hint)


NAME = "etcd-recovery.json"
EtcdRecoveryPhase = Literal["wiping", "restoring", "restored", "done"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EtcdRecovery:
    """One recovery."""

    source: str
    """The backup or snapshot; empty where it is what a survivor has."""
    begun: float
    planes: tuple[str, ...]
    """The control planes that answered, and are made anew."""
    phase: EtcdRecoveryPhase = "wiping"
    kept: str = ""
    """Where what was left of etcd is kept."""
    restored: float = 0.0
    """When etcd was restored: whoever is older remembers what did not happen."""
    kubelets: tuple[str, ...] = ()
    """Machines whose kubelet was restarted since."""


def path(state: Path, cluster: str) -> Path:
    """Where it is."""
    return state / cluster / NAME


def read(state: Path, cluster: str) -> EtcdRecovery | None:
    """The recovery that is not over; None where there is none.

    Raises:
        errors.Refused: It cannot be read: nobody knows what was wiped and what was restored.
    """
    place = path(state, cluster)
    try:
        found = msgspec.json.decode(state_files.read(place), type=EtcdRecovery)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise errors.Refused(
            f"{place} cannot be read: {error}", hint="It tells how far a recovery of etcd is. Delete it to begin anew."
        ) from error
    return None if found.phase == "done" else found


def write(record: EtcdRecovery, state: Path, cluster: str) -> EtcdRecovery:
    """Write it down, also through a power loss.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    place = path(state, cluster)
    try:
        state_files.enter(place)
        atomic_file.replace(place, msgspec.json.encode(record) + b"\n")
    except OSError as error:
        raise errors.FirstlightError(
            f"{place} cannot be written: {error.strerror or error}", hint="Make room, or give write permission."
        ) from error
    return record
