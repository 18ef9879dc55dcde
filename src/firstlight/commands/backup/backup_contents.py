"""The configs that the machines of a cluster have, in one document; they hold its secrets, and touch no disk here."""

import asyncio
import contextlib
import dataclasses
import hashlib
import io
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

import firstlight
from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.git import Git, GitError
from firstlight.commands.backup import backup_manifest, backup_signature, backup_store, encryption, etcd_snapshot
from firstlight.commands.backup.backup_manifest import (
    BackupManifest,
    BackupPart,
    BackupRepo,
    EtcdSnapshotSummary,
    StoredBackup,
)
from firstlight.commands.backup.etcd_snapshot import EtcdContent
from firstlight.execute import cluster_access, cluster_identity, talos_secrets
from firstlight.execute.means import Means
from firstlight.execute.world import World
from firstlight.gates import machine_stage
from firstlight.journal import journal_reader, state_files
from firstlight.model import secret_reference
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess
from firstlight.render import private_directory
from firstlight.secrets import derived_signing_keys


@dataclasses.dataclass(frozen=True, kw_only=True)
class CollectedConfigs:
    """The configs of those that answer."""

    content: Secret
    """A mapping from names to configs."""
    versions: dict[str, str]
    """What these machines run, by name."""
    silent: dict[str, str]
    """Those that do not answer, and why."""


async def collect_configs(world: World) -> CollectedConfigs:
    """Asked of all machines at once; one that is off holds nobody up.

    Raises:
        errors.Refused: Nothing says where the keys to them are.
    """
    way = await cluster_access.ensure(world)
    reports = await machine_survey.look_at_all(world.cluster.machines, way)
    answers = await asyncio.gather(*(_asked(each, way) for each in reports))
    held = {each.name: given for each, given in zip(world.cluster.machines, answers, strict=True)}
    configs = {name: given[0].reveal().decode() for name, given in held.items() if isinstance(given, tuple)}
    return CollectedConfigs(
        content=Secret(yaml.dump(configs, Dumper=yaml.CSafeDumper, sort_keys=False)),
        versions={name: given[1] for name, given in held.items() if isinstance(given, tuple)},
        silent={name: given for name, given in held.items() if isinstance(given, str)},
    )


async def _asked(report: MachineReport, way: MachineAccess) -> tuple[Secret, str] | str:
    """The config and the version of a machine; or why not."""
    if report.standing is not MachineStanding.OURS:
        return machine_stage.state_of(report)
    try:
        target = way.at(report.machine)
        return await way.admin.machine_config(target), (await way.admin.version(target)).tag
    except talosctl.TalosError as error:
        return error.detail


# A backup of a cluster: etcd, Talos secrets, machine configs and what this computer knows of it, in one directory.


ETCD = "etcd.snapshot.gz.sops"
SECRETS = "talos-secrets.yaml.sops"
CONFIGS = "machine-configs.yaml.sops"
RECORDS = "records.tar.gz.sops"
_NAMES = {
    ETCD: "snapshot of etcd", SECRETS: "Talos secrets", CONFIGS: "machine configs",
    RECORDS: "access, identity, certificates and journals",
}  # fmt: skip


async def make(
    platform: Platform, world: World, means: Means, *, place: Path, key: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> StoredBackup:  # fmt: skip
    """Make one; whole, or nothing is left of it.

    Args:
        platform: The repo.
        world: The cluster; its API need not answer.
        means: Git, and the clock.
        place: Where backups are.
        key: The SSH key to sign it with; if it is not given, a key that it is encrypted for.
        tell: Told how far it is.

    Raises:
        errors.Refused: etcd is not well, or nothing says for whom to encrypt, or it is Omni's, or no key signs it.
        errors.FirstlightError: It cannot be written.
    """
    cluster = world.cluster
    if cluster.omni_template:
        raise errors.Refused(
            f"etcd of {cluster.name} is Omni's to back up", hint="See: omnictl cluster template, backupConfiguration"
        )
    if not cluster.machines:
        raise errors.Refused(f"the repo has no machines of {cluster.name}: its etcd cannot be asked")
    refused = await encryption.encryption_refusal(cluster, means.programs, root=platform.root)
    if refused is not None:
        raise errors.Refused(f"no backup of {cluster.name}: {refused.message}", hint=refused.fix)
    by = encryption.encryption_of(cluster, means.programs, root=platform.root)
    signer = await backup_signature.signer(await by.recipients(), await derived_signing_keys.find_own_keys(), key=key)
    at = means.now()
    stamp = backup_manifest.stamp(at)
    with backup_store.begun(place, stamp) as partial, private_directory.create("etcd") as home:
        tell("etcd: a snapshot is taken")
        taken = await etcd_snapshot.take(world, home / "snapshot")
        store = _read(taken.snapshot.path)
        tell(f"etcd: {len(store.keys)} keys at revision {store.revision}, from {taken.machine.name}")
        await etcd_snapshot.seal(taken.snapshot.path, home / ETCD, by)
        taken.snapshot.path.unlink()
        held = await collect_configs(world)
        contents = {CONFIGS: held.content, RECORDS: packed_records(means.state, cluster.name)}
        if (bundle := await _bundle(world)) is not None:
            contents[SECRETS] = bundle
        for file, content in contents.items():
            await by.encrypt(content, home / file, about=_NAMES[file])
        for file in (ETCD, *contents):
            shutil.copyfile(home / file, partial / file)
        reference = talos_secrets.reference_of(cluster, platform.root)
        manifest = BackupManifest(
            version=backup_manifest.VERSION,
            stamp=stamp,
            at=at,
            cluster=cluster.name,
            firstlight=firstlight.__version__,
            uid=await _uid(world),
            kubernetes=await _kubernetes(world),
            talos=held.versions,
            silent=held.silent,
            secrets=reference,
            is_in_git=await _is_in_git(platform.root, reference, means),
            etcd=EtcdSnapshotSummary(
                machine=taken.machine.name,
                revision=store.revision,
                keys=len(store.keys),
                size=taken.snapshot.size,
                hash=taken.snapshot.hash,
            ),
            repo=await _repo(platform.root, means),
            parts=_parts(partial),
        )
        written = backup_store.written(manifest)
        signature = await signer.sign(written)
        backup_store.write_manifest(written, signature, partial)
    return StoredBackup(
        stamp=stamp, path=str(place / stamp), manifest=manifest, content=written, signature=signature
    )  # fmt: skip


def _read(snapshot: Path) -> EtcdContent:
    """What was taken, counted here: versions of talosctl do not count the same.

    Raises:
        errors.FirstlightError: It is not whole.
    """
    try:
        etcd_snapshot.check_sum(snapshot)
        return etcd_snapshot.read(snapshot)
    except etcd_snapshot.DamagedDatabase as error:
        raise errors.FirstlightError(f"the snapshot that was taken is of no use: {error}", hint="Run again.") from error


async def _bundle(world: World) -> Secret | None:
    """The Talos secrets; None for a cluster that has them inside of whole machine configs only."""
    if world.cluster.talosconfig and not world.cluster.talos_secrets:
        return None
    return await cluster_access.secrets(world)


def _parts(partial: Path) -> tuple[BackupPart, ...]:
    found = []
    for file, name in _NAMES.items():
        path = partial / file
        if path.is_file():
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            found.append(BackupPart(name=name, file=file, size=path.stat().st_size, sha256=digest))
    return tuple(found)


async def _uid(world: World) -> str:
    """The UID of kube-system, as the API says it, or as it was written down."""
    if world.is_connected:
        with contextlib.suppress(errors.ClientError):
            found = await world.kube.get("v1", "Namespace", "kube-system", metadata_only=True)
            return str(found["metadata"]["uid"])
    return cluster_identity.known(world.state, world.cluster.name)


async def _kubernetes(world: World) -> str:
    if world.is_connected:
        with contextlib.suppress(errors.ClientError):
            return str((await world.kube.version()).get("gitVersion", ""))
    return ""


async def _is_in_git(root: Path, reference: str, means: Means) -> bool:
    """Whether Git has the secrets where the repo names them, in a file that sops has encrypted."""
    parsed = secret_reference.parse(reference)
    if means.git is None or not isinstance(parsed, secret_reference.SopsReference):
        return False
    with contextlib.suppress(GitError):
        return await Git(means.git).knows(root, parsed.path)
    return False


async def _repo(root: Path, means: Means) -> BackupRepo:
    if means.git is None:
        return BackupRepo()
    try:
        head = await Git(means.git).head(root)
    except GitError:
        return BackupRepo()
    return BackupRepo(commit=head.commit, branch=head.branch, url=head.remote_url, is_dirty=head.is_dirty)


# What this computer knows of a cluster, packed: access, identity, certificates, overrides, journals of runs.


_ELSEWHERE = frozenset({"backups", "etcd", "machine-configs"})
"""What is a backup itself."""
_LOCK = "lock"
_RUNS = "runs"
_BLOCK = 512
_MOST = 200_000
"""Files in it: journals of years."""
_HEADER = 64 << 10
"""Bytes of a long name and its like; tarfile reads them into memory."""
_EXTRAS = (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)


def packed_records(state: Path, cluster: str) -> Secret:
    """A tar of the files of a cluster and of its runs; the kubeconfig among them opens it.

    Args:
        state: ``.firstlight`` of the repo.
        cluster: Its name.

    Raises:
        errors.FirstlightError: One of them cannot be read.
    """
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz", compresslevel=6) as archive:
        for path in record_files(state, cluster):
            try:
                archive.add(path, arcname=str(path.relative_to(state)), recursive=False)
            except OSError as error:
                raise errors.FirstlightError(f"{path} cannot be read: {error.strerror or error}") from error
    return Secret(content.getvalue())


def record_names(path: Path, cluster: str) -> tuple[str, ...]:
    """The files in a tar of records, unpacked but for itself; each is one that ``packed`` could have put there.

    Raises:
        errors.FirstlightError: It has something else: a link, a way out, a device, too many of them.
    """
    try:
        _refuse_strange(path)
        with tarfile.open(path, mode="r:") as archive:
            found = []
            for member in archive:
                parts = Path(member.name).parts
                is_inside = ".." not in parts and parts[:1] in ((cluster,), (_RUNS,)) and len(parts) > 1
                if not member.isfile() or member.issparse() or not is_inside:
                    raise errors.FirstlightError(f"they have {member.name[:200]!r}, which is not a record")
                found.append(member.name)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise errors.FirstlightError(f"they cannot be unpacked: {error}") from error
    return tuple(found)


def _refuse_strange(path: Path) -> None:
    """Look at the bare headers first: tarfile follows what they say before anybody is asked."""
    size = path.stat().st_size
    count = at = 0
    with path.open("rb") as file:
        while at < size and (block := file.read(_BLOCK)).strip(b"\0"):
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            count += 1
            if header.type not in (*_FILES, *_EXTRAS):
                raise errors.FirstlightError(f"they have {header.name[:200]!r}, which is not a file")
            if count > 2 * _MOST:
                raise errors.FirstlightError(f"they have more than {_MOST} files")
            if header.type in _EXTRAS and header.size > _HEADER:
                raise errors.FirstlightError(f"they have a header of {header.size} bytes")
            at += _BLOCK + -(-header.size // _BLOCK) * _BLOCK
            if header.size < 0 or at > size:
                raise errors.FirstlightError("they end too early")
            file.seek(at)


def record_files(state: Path, cluster: str) -> Iterator[Path]:
    """What is packed; a link is passed over, since it may lead anywhere."""
    own = state / cluster
    state_files.check(own)
    for path in sorted(own.rglob("*")) if not own.is_symlink() else ():
        within = path.relative_to(own)
        if within.parts[0] in _ELSEWHERE or within.name == _LOCK or path.is_symlink() or not path.is_file():
            continue
        if not any(each.is_symlink() for each in path.parents if own in each.parents):
            yield path
    for path in journal_reader.paths(state):
        run = journal_reader.brief(path)
        if run is not None and run.cluster == cluster and not run.is_rehearsal and not path.is_symlink():
            yield path
