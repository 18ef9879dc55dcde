"""The commands of ``firstlight backup``: where backups are, what is made, checked and deleted, and how it is told."""

import asyncio
import functools
import sys
import time
from pathlib import Path

from firstlight import errors
from firstlight.cli import install_tools, output, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.commands.backup import backup_check, backup_contents, backup_signature, backup_store
from firstlight.commands.backup import text as backup_text
from firstlight.commands.backup.backup_manifest import (
    BackupVerification,
    Pruning,
    SignatureJudgement,
    SignatureStanding,
    StoredBackup,
)
from firstlight.commands.backup.backup_signature import SignerTrust
from firstlight.commands.backup.backup_store import RetentionPolicy
from firstlight.drawing import safe, table
from firstlight.errors import ExitCode
from firstlight.execute import cluster_identity, live_cluster
from firstlight.journal import state_files
from firstlight.lab.control_plane import control_plane_parts
from firstlight.model.platform import Platform
from firstlight.secrets import ssh_signature


def retention_policy(newest: int, daily: int, weekly: int) -> RetentionPolicy:
    """What is to stay."""
    return RetentionPolicy(newest=newest, daily=daily, weekly=weekly)


def place_of(platform: Platform, cluster: str, place: Path | None) -> Path:
    """Where the backups of a cluster are."""
    return (
        place.absolute() if place is not None else backup_store.home(state_files.directory_of(platform.root), cluster)
    )


def create(
    cluster: str, *, place: Path | None, key: Path | None, newest: int, daily: int, weekly: int, root: Path | None,
    form: str,
) -> None:  # fmt: skip
    """Keep etcd, the Talos secrets, the machine configs, the access to the cluster and the journals of its runs."""
    platform = which_repo.platform(root)
    keep = retention_policy(newest, daily, weekly)
    made, pruned = asyncio.run(_created(platform, cluster, place, keep, key=key, is_told=form == "text"))
    signed = SignatureJudgement(standing=SignatureStanding.OWN, signer=ssh_signature.parse(made.signature).fingerprint)
    value = {
        "backup": backup_text.data(made, signed=signed),
        "pruned": backup_text.pruned_data(pruned) if pruned else None,
    }
    text = backup_text.made(made, signer=signed.signer) + (f"\n\n{backup_text.pruned(pruned)}" if pruned else "")
    output.answer(form, text, value)


async def _created(
    platform: Platform, name: str, place: Path | None, keep: RetentionPolicy, *, key: Path | None, is_told: bool
) -> tuple[StoredBackup, Pruning | None]:
    cluster = which_cluster.cluster_of(platform, name)
    where = place_of(platform, cluster.name, place)
    means = await cli_means.user_means(platform, keep=False)
    try:
        async with live_cluster.reached(cluster, means, is_api_needed=False) as world:
            tell = _say if is_told else lambda _: None
            made = await backup_contents.make(platform, world, means, place=where, key=key, tell=tell)
    finally:
        await means.close()
    if not keep.is_anything:
        return made, None
    found = backup_store.kept(where)
    # What was just made is signed by a key of ours, wherever that key is.
    trusted = await backup_signature.trust(signers=[ssh_signature.parse(made.signature).fingerprint])
    verify = functools.partial(backup_check.verify, cluster=cluster.name, trusted=trusted, sops=means.programs.sops)
    signed = await backup_signature.trusted_of(found, trusted)
    return made, await backup_store.prune(found, keep, signed=signed, verify=verify, is_dry_run=False)


def _say(text: str) -> None:
    print(f"  {safe.text(text)}", file=sys.stderr, flush=True)


def list_backups(cluster: str, *, place: Path | None, signers: tuple[str, ...], root: Path | None, form: str) -> int:
    """The backups of a cluster, newest first, by their manifests and who signed them: nothing is decrypted."""
    platform = which_repo.platform(root)
    name = which_cluster.cluster_of(platform, cluster).name
    where = place_of(platform, name, place)
    found = backup_store.kept(where)
    signed = asyncio.run(_signed(found, signers))
    text = backup_text.listed(found, signed=signed, cluster=name, place=str(where), columns=table.terminal_columns())
    backups = [backup_text.data(each, signed=signed.get(each.stamp)) for each in found]
    output.answer(form, text, {"cluster": name, "place": str(where), "backups": backups})
    return ExitCode.FINDINGS if any(each.problem for each in found) else 0


async def _signed(found: tuple[StoredBackup, ...], signers: tuple[str, ...]) -> dict[str, SignatureJudgement]:
    trusted = await backup_signature.trust(signers=signers)
    return {each.stamp: await backup_signature.judge(each, trusted) for each in found if each.manifest is not None}


def verify(
    stamp: str, *, cluster: str, restore: bool, place: Path | None, signers: tuple[str, ...], unsigned: tuple[str,
    ...], root: Path | None, form: str,
) -> int:  # fmt: skip
    """Look through a backup, the newest if none is named: who signed it, its digests, and whether it opens."""
    platform = which_repo.platform(root)
    name = which_cluster.cluster_of(platform, cluster).name
    found = backup_store.find(place_of(platform, name, place), stamp)
    uid = cluster_identity.known(state_files.directory_of(platform.root), name)

    async def run() -> BackupVerification:
        trusted = await backup_signature.trust(signers=signers, unsigned=unsigned)
        return await _verified(found, name, uid, trusted, is_restored=restore)

    proof, now = asyncio.run(run()), time.time()
    output.answer(form, backup_text.proven(proof, now=now), backup_text.proven_data(proof, now=now))
    return 0 if proof.is_sound else ExitCode.FAILED


async def _verified(
    found: StoredBackup, cluster: str, uid: str, trusted: SignerTrust, *, is_restored: bool
) -> BackupVerification:
    sops = (await install_tools.ensure(("sops",)))["sops"]
    if not is_restored:
        return await backup_check.verify(found, cluster=cluster, trusted=trusted, uid=uid, sops=sops)

    programs = await install_tools.ensure((*control_plane_parts.COMPONENTS, "lab-machine", "talosctl"))
    restore = backup_check.trying(programs)
    return await backup_check.verify(found, cluster=cluster, trusted=trusted, uid=uid, sops=sops, restore=restore)


def prune(
    cluster: str, *, newest: int, daily: int, weekly: int, dry_run: bool, place: Path | None, signers: tuple[str,
    ...], root: Path | None, form: str,
) -> None:  # fmt: skip
    """Delete backups that none of --keep, --keep-daily and --keep-weekly names."""
    keep = retention_policy(newest, daily, weekly)
    if not keep.is_anything:
        raise errors.UsageError("nothing says what is to stay", hint="Give one: --keep 7, or --keep-daily 7")
    platform = which_repo.platform(root)
    name = which_cluster.cluster_of(platform, cluster).name
    where = place_of(platform, name, place)
    found = asyncio.run(_pruned(where, name, keep, signers=signers, is_dry_run=dry_run))
    output.answer(form, backup_text.pruned(found), backup_text.pruned_data(found))


async def _pruned(
    where: Path, cluster: str, keep: RetentionPolicy, *, signers: tuple[str, ...], is_dry_run: bool
) -> Pruning:  # fmt: skip
    sops = (await install_tools.ensure(("sops",)))["sops"]
    trusted = await backup_signature.trust(signers=signers)
    verify = functools.partial(backup_check.verify, cluster=cluster, trusted=trusted, sops=sops)
    found = backup_store.kept(where)
    signed = await backup_signature.trusted_of(found, trusted)
    return await backup_store.prune(found, keep, signed=signed, verify=verify, is_dry_run=is_dry_run)
