"""A backup of a cluster: etcd, Talos secrets, machine configs and what this computer knows of it, in one directory."""

import contextlib
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import firstlight
from firstlight import errors
from firstlight.clients.git import Git, GitError
from firstlight.execute import cluster_keys, identity
from firstlight.execute.world import World
from firstlight.model import backup
from firstlight.model import reference as references
from firstlight.model.backup import Etcd, Kept, Manifest, Part, Repo
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.operate import talos_secrets
from firstlight.operate.backup import bolt, machine_configs, records, sealing, shelf, signing, snapshot
from firstlight.operate.backup.bolt import Store
from firstlight.operate.means import Means
from firstlight.render import private_directory
from firstlight.secrets import own_keys

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
) -> Kept:  # fmt: skip
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
    refused = await sealing.refusal(cluster, means.programs, root=platform.root)
    if refused is not None:
        raise errors.Refused(f"no backup of {cluster.name}: {refused.message}", hint=refused.hint)
    by = sealing.of(cluster, means.programs, root=platform.root)
    signer = await signing.signer(await by.recipients(), await own_keys.find(), key=key)
    at = means.now()
    stamp = backup.stamp(at)
    with shelf.begun(place, stamp) as partial, private_directory.made("etcd") as home:
        tell("etcd: a snapshot is taken")
        taken = await snapshot.take(world, home / "snapshot")
        store = _read(taken.snapshot.path)
        tell(f"etcd: {len(store.keys)} keys at revision {store.revision}, from {taken.machine.name}")
        await snapshot.seal(taken.snapshot.path, home / ETCD, by)
        taken.snapshot.path.unlink()
        held = await machine_configs.of(world)
        contents = {CONFIGS: held.content, RECORDS: records.packed(means.state, cluster.name)}
        if (bundle := await _bundle(world)) is not None:
            contents[SECRETS] = bundle
        for file, content in contents.items():
            await by.encrypt(content, home / file, about=_NAMES[file])
        for file in (ETCD, *contents):
            shutil.copyfile(home / file, partial / file)
        reference = talos_secrets.reference_of(cluster, platform.root)
        manifest = Manifest(
            version=backup.VERSION, stamp=stamp, at=at, cluster=cluster.name, firstlight=firstlight.__version__,
            uid=await _uid(world), kubernetes=await _kubernetes(world), talos=held.versions, silent=held.silent,
            secrets=reference, is_in_git=await _is_in_git(platform.root, reference, means),
            etcd=Etcd(
                machine=taken.machine.name, revision=store.revision, keys=len(store.keys),
                size=taken.snapshot.size, hash=taken.snapshot.hash,
            ),
            repo=await _repo(platform.root, means), parts=_parts(partial),
        )  # fmt: skip
        written = shelf.written(manifest)
        signature = await signer.sign(written)
        shelf.write_manifest(written, signature, partial)
    return Kept(
        stamp=stamp, path=str(place / stamp), manifest=manifest, content=written, signature=signature
    )  # fmt: skip


def _read(snapshot: Path) -> Store:
    """What was taken, counted here: versions of talosctl do not count the same.

    Raises:
        errors.FirstlightError: It is not whole.
    """
    try:
        bolt.check_sum(snapshot)
        return bolt.read(snapshot)
    except bolt.Damaged as error:
        raise errors.FirstlightError(f"the snapshot that was taken is of no use: {error}", hint="Run again.") from error


async def _bundle(world: World) -> Secret | None:
    """The Talos secrets; None for a cluster that has them inside of whole machine configs only."""
    if world.cluster.talosconfig and not world.cluster.talos_secrets:
        return None
    return await cluster_keys.secrets(world)


def _parts(partial: Path) -> tuple[Part, ...]:
    found = []
    for file, name in _NAMES.items():
        path = partial / file
        if path.is_file():
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            found.append(Part(name=name, file=file, size=path.stat().st_size, sha256=digest))
    return tuple(found)


async def _uid(world: World) -> str:
    """The UID of kube-system, as the API says it, or as it was written down."""
    if world.is_connected:
        with contextlib.suppress(errors.ClientError):
            found = await world.kube.get("v1", "Namespace", "kube-system", metadata_only=True)
            return str(found["metadata"]["uid"])
    return identity.known(world.state, world.cluster.name)


async def _kubernetes(world: World) -> str:
    if world.is_connected:
        with contextlib.suppress(errors.ClientError):
            return str((await world.kube.version()).get("gitVersion", ""))
    return ""


async def _is_in_git(root: Path, reference: str, means: Means) -> bool:
    """Whether Git has the secrets where the repo names them, in a file that sops has encrypted."""
    parsed = references.parse(reference)
    if means.git is None or not isinstance(parsed, references.Sops):
        return False
    with contextlib.suppress(GitError):
        return await Git(means.git).knows(root, parsed.path)
    return False


async def _repo(root: Path, means: Means) -> Repo:
    if means.git is None:
        return Repo()
    try:
        head = await Git(means.git).head(root)
    except GitError:
        return Repo()
    return Repo(commit=head.commit, branch=head.branch, url=head.remote_url, is_dirty=head.is_dirty)
