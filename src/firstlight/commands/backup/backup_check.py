"""Whether a cluster could be brought back with a backup: every part is what was written, opens, and is what it says.

A snapshot can be tried, too: it is restored by a virtual Talos machine into a real etcd of its own, and compared key by
key. The machine has keys of its own, and no engine runs there: what the snapshot knows of the world meets nobody.
"""

import asyncio
import itertools
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.commands.backup import backup_contents, backup_signature, backup_store, encryption, etcd_snapshot
from firstlight.commands.backup.backup_manifest import (
    BackupManifest,
    BackupVerification,
    SignatureJudgement,
    SignatureStanding,
    StoredBackup,
)
from firstlight.commands.backup.backup_signature import SignerTrust
from firstlight.commands.backup.etcd_snapshot import EtcdContent
from firstlight.document import yaml_reader
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.lab.machines import commission, machine_settings
from firstlight.lab.machines.commission import Commission
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Verdict, VerificationCheck
from firstlight.render import private_directory
from firstlight.secrets import talos_bundle

Try = Callable[[Path, EtcdContent], Awaitable[VerificationCheck]]
"""Restores a snapshot somewhere, and compares."""
_MOST = 10_000
"""Files of a directory that are looked at."""
_NAMESPACE = b"/registry/namespaces/kube-system"


async def verify(
    one: StoredBackup,
    *,
    cluster: str,
    trusted: SignerTrust,
    uid: str = "",
    sops: Path | None,
    restore: Try | None = None,
) -> BackupVerification:
    """Look a backup through; what is wrong with it is an answer, not an error.

    One that nobody trusted has signed, or that is another cluster's, is not opened.

    Args:
        one: The backup.
        cluster: Whose it must be.
        trusted: Whose signature counts.
        uid: Of kube-system of the cluster, where it is known here.
        sops: What decrypts it.
        restore: How its etcd is tried; not at all if it is not given.

    Raises:
        errors.Refused: What is decrypted would be on a disk.
    """
    if one.manifest is None:
        return BackupVerification(
            stamp=one.stamp, path=one.path, checks=(VerificationCheck(name="manifest", verdict=Failed(one.problem)),)
        )
    signed = await backup_signature.judge(one, trusted)
    checks = [_signature(signed)]
    if signed.is_trusted:
        checks.append(_belonging(one, one.manifest, cluster, uid))
    if not all(isinstance(each.verdict, Passed) for each in checks):
        return BackupVerification(
            stamp=one.stamp, path=one.path, checks=tuple(checks), signed=signed, at=one.manifest.at
        )
    encryption.refuse_disk()
    checks.append(_written(one, one.manifest))
    with private_directory.create("etcd") as home:
        snapshot = home / "snapshot"
        checks += [
            await _checked("talos secrets", lambda: _secrets(one, home, sops)),
            await _checked("machine configs", lambda: _configs(one, home, sops)),
            await _checked("records", lambda: _records(one, home, sops)),
            await _checked("etcd", lambda: _etcd(one, snapshot, sops)),
        ]
        if restore is not None and isinstance(checks[-1].verdict, Passed):
            checks.append(await restore(snapshot, etcd_snapshot.read(snapshot)))
    return BackupVerification(stamp=one.stamp, path=one.path, checks=tuple(checks), signed=signed, at=one.manifest.at)


def stray(one: StoredBackup, cluster: str, uid: str) -> str:
    """What tells that a genuine backup is where it does not belong; empty where nothing does.

    Args:
        one: The backup; it has a manifest.
        cluster: Whose it should be.
        uid: Of kube-system of that cluster, where it is known.
    """
    manifest = one.manifest
    assert manifest is not None
    if manifest.cluster != cluster:
        return f"it is a backup of {manifest.cluster}, not of {cluster}"
    if manifest.stamp != one.stamp:
        return f"it is the backup {manifest.stamp}, put here under another name"
    if uid and manifest.uid and manifest.uid != uid:
        return f"it is of another cluster named {cluster}: kube-system had the UID {manifest.uid}, and has {uid}"
    return ""


def _signature(signed: SignatureJudgement) -> VerificationCheck:
    if not signed.is_trusted:
        return VerificationCheck(
            name="signature", verdict=Failed(signed.why), detail=(signed.hint,) if signed.hint else ()
        )
    said = {
        SignatureStanding.OWN: f"by your key {signed.signer}",
        SignatureStanding.KNOWN: f"by {signed.signer}, a signer that you named",
    }.get(signed.standing, f"{signed.why}; opened because you named it")
    return VerificationCheck(name="signature", verdict=Passed(said))


def _belonging(one: StoredBackup, manifest: BackupManifest, cluster: str, uid: str) -> VerificationCheck:
    problem = stray(one, cluster, uid)
    known = f", kube-system {manifest.uid}" if manifest.uid else ""
    return VerificationCheck(name="cluster", verdict=Failed(problem) if problem else Passed(f"{cluster}{known}"))


async def _checked(name: str, look: Callable[[], Awaitable[Verdict]]) -> VerificationCheck:
    try:
        return VerificationCheck(name=name, verdict=await look())
    except errors.FirstlightError as error:
        return VerificationCheck(name=name, verdict=Failed(error.message), detail=(error.hint,) if error.hint else ())
    except etcd_snapshot.DamagedDatabase as error:
        return VerificationCheck(name=name, verdict=Failed(str(error)))


def _written(one: StoredBackup, manifest: BackupManifest) -> VerificationCheck:
    """Whether every file is there as it was written."""
    wrong = list(_wrong(one, manifest))
    missing = {backup_contents.ETCD, backup_contents.CONFIGS, backup_contents.RECORDS} - {
        each.file for each in manifest.parts
    }
    wrong += [f"it has no {each}" for each in sorted(missing)]
    expected = {backup_store.MANIFEST, backup_store.SIGNATURE, *(each.file for each in manifest.parts)}
    with os.scandir(one.path) as found:
        more = sorted(each.name for each in itertools.islice(found, _MOST) if each.name not in expected)
    wrong += [f"the manifest does not name {', '.join(more[:3])}{_more(len(more) - 3)}"] if more else []
    verdict = Failed("; ".join(wrong)) if wrong else Passed(f"{len(manifest.parts)} parts, {manifest.size} bytes")
    return VerificationCheck(name="files", verdict=verdict)


def _wrong(one: StoredBackup, manifest: BackupManifest) -> Iterator[str]:
    for part in manifest.parts:
        try:
            encryption.check_digest(one, part)
        except errors.FirstlightError as error:
            yield error.message


def _more(number: int) -> str:
    return f" and {number} more" if number > 0 else ""


async def _secrets(one: StoredBackup, home: Path, sops: Path | None) -> Verdict:
    assert one.manifest is not None
    if backup_contents.SECRETS not in {each.file for each in one.manifest.parts}:
        return Passed("they are inside of the machine configs")
    bundle = await _content(one, backup_contents.SECRETS, home, sops)
    talos_bundle.check(bundle, backup_contents.SECRETS)
    where = f"Git has them, too: {one.manifest.secrets}" if one.manifest.is_in_git else "Git does not have them"
    return Passed(where)


async def _configs(one: StoredBackup, home: Path, sops: Path | None) -> Verdict:
    assert one.manifest is not None
    content = await _content(one, backup_contents.CONFIGS, home, sops)
    try:
        (held,) = yaml_reader.load_all(content.reveal())
    except ValueError:
        return Failed("they are not YAML")
    names = set(held) if isinstance(held, dict) else set()
    if lost := sorted(set(one.manifest.talos) - names):
        return Failed(f"that of {', '.join(lost)} is missing")
    silent = f"; not of {', '.join(one.manifest.silent)}" if one.manifest.silent else ""
    return Passed(f"of {len(names)} machine{'' if len(names) == 1 else 's'}{silent}")


async def _records(one: StoredBackup, home: Path, sops: Path | None) -> Verdict:
    assert one.manifest is not None
    path = home / backup_contents.RECORDS
    await encryption.decrypted_part(one, backup_contents.RECORDS, path, sops=sops)
    names = backup_contents.record_names(path, one.manifest.cluster)
    runs = sum(each.startswith("runs/") for each in names)
    return Passed(f"{len(names) - runs} files, the journals of {runs} runs")


async def _etcd(one: StoredBackup, snapshot: Path, sops: Path | None) -> Verdict:
    """Whether it is a snapshot, whole, of this cluster, at the revision that was written down."""
    assert one.manifest is not None
    await encryption.decrypted_part(one, backup_contents.ETCD, snapshot, sops=sops)
    etcd_snapshot.check_sum(snapshot)
    store = etcd_snapshot.read(snapshot)
    if store.revision != one.manifest.etcd.revision:
        return Failed(f"it is at revision {store.revision}, and was taken at {one.manifest.etcd.revision}")
    if len(store.keys) != one.manifest.etcd.keys:
        return Failed(f"it has {len(store.keys)} keys, and had {one.manifest.etcd.keys}")
    if one.manifest.uid and one.manifest.uid.encode() not in etcd_snapshot.value_of(snapshot, _NAMESPACE):
        return Failed(f"it is another cluster's: kube-system has not the UID {one.manifest.uid}")
    return Passed(f"{len(store.keys)} keys at revision {store.revision}, checksum right")


async def _content(one: StoredBackup, file: str, home: Path, sops: Path | None) -> Secret:
    path = home / file
    await encryption.decrypted_part(one, file, path, sops=sops)
    content = Secret(path.read_bytes())
    path.unlink()
    return content


MACHINE = "cp-1"
TIMEOUT = 120.0
"""Seconds for etcd to serve what it was restored from."""
POLL = 0.1


def trying(programs: Mapping[str, Path]) -> Try:
    """How a snapshot is tried with these programs: those of the lab, ``lab-machine`` and ``talosctl``."""

    async def tried(snapshot: Path, store: EtcdContent) -> VerificationCheck:
        begun = time.monotonic()
        try:
            with private_directory.create("etcd") as home:
                found = await _restored(snapshot, home, programs, until=store.revision)
        except (errors.FirstlightError, etcd_snapshot.DamagedDatabase) as error:
            return VerificationCheck(name="restore", verdict=Failed(str(error)), seconds=time.monotonic() - begun)
        return VerificationCheck(name="restore", verdict=_compared(store, found), seconds=time.monotonic() - begun)

    return tried


def _compared(store: EtcdContent, found: EtcdContent) -> Passed | Failed:
    """Whether etcd has what the snapshot has, at the same revision; what was written since is not looked at."""
    if found.revision != store.revision:
        return Failed(f"etcd is at revision {found.revision}, and the snapshot at {store.revision}")
    lost = store.keys.keys() - found.keys.keys()
    others = [each for each in store.keys.keys() & found.keys.keys() if store.keys[each] != found.keys[each]]
    more = found.keys.keys() - store.keys.keys()
    if lost or others or more:
        return Failed(f"of {len(store.keys)} keys {len(lost)} are lost and {len(others)} differ; {len(more)} are new")
    return Passed(f"a real etcd serves all {len(store.keys)} keys at revision {store.revision}, byte by byte the same")


async def _restored(snapshot: Path, home: Path, programs: Mapping[str, Path], *, until: int) -> EtcdContent:
    one = running_lab.Lab(lab_directory.LabDirectory(home / "lab"))
    wanted = lab_settings.LabSettings(talos=machine_settings.TalosBehaviour(boot_seconds=0.1))
    try:
        await one.up(
            programs, settings=lab_settings.with_machines(wanted, control_planes=1, workers=0), owner=os.getpid()
        )
        made = await _configured(one, programs["talosctl"])
        target = made.target(MACHINE)
        await made.admin.bootstrap(target, recover_from=snapshot)
        await _serves(made)
        taken = await made.admin.etcd_snapshot(target, home / "again")
        return etcd_snapshot.read(taken.path, until=until)
    finally:
        await one.down()


async def _configured(one: running_lab.Lab, program: Path) -> Commission:
    status = await one.status()
    api = f"https://{status.loopback}:6443"
    offline = talosctl.Talosctl(program)
    secrets = await offline.gen_secrets()
    talosconfig = await offline.gen_config("talosconfig", cluster="trial", endpoint=api, secrets=secrets)
    made = Commission(one, program, talosconfig, commission.machines_of(status))
    config = await offline.gen_config("controlplane", cluster="trial", endpoint=api, secrets=secrets)
    await made.configure({MACHINE: config})
    return made


async def _serves(made: Commission) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            (own,) = await made.admin.etcd_status(made.target(MACHINE))
            if own.leader and not own.errors:
                return
            why = own.errors or "it has no leader"
        except talosctl.TalosError as error:
            why = error.detail
        if time.monotonic() >= deadline:
            raise errors.TimedOut(f"etcd does not serve the snapshot: {why}", target=MACHINE)
        await asyncio.sleep(POLL)
