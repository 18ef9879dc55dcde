"""``firstlight backup``: what a cluster cannot be brought back without. Its commands are imported when called."""

import asyncio
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from firstlight import errors
from firstlight.cli import install_tools, output, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.cli.lazy_group import LazyGroup
from firstlight.cli.options import repo_option
from firstlight.commands.backup import (
    backup_check,
    backup_contents,
    backup_signature,
    backup_store,
    restore_trial,
    retention,
)
from firstlight.commands.backup import text as backup_text
from firstlight.commands.backup.backup_manifest import (
    BackupVerification,
    Pruning,
    SignatureJudgement,
    SignatureStanding,
    StoredBackup,
)
from firstlight.commands.backup.backup_signature import SignerTrust
from firstlight.commands.backup.retention import RetentionPolicy
from firstlight.drawing import safe, table
from firstlight.errors import ExitCode
from firstlight.execute import cluster_identity, live_cluster
from firstlight.journal import state_files
from firstlight.lab.control_plane import control_plane_parts
from firstlight.model.platform import Platform
from firstlight.secrets import ssh_signature

COMMANDS: dict[str, tuple[str, str]] = {
    "create": (
        "firstlight.commands.backup.command:create",
        "etcd, Talos secrets, machine configs, access and journals",
    ),
    "list": ("firstlight.commands.backup.command:list_backups", "The backups of a cluster, newest first"),
    "verify": ("firstlight.commands.backup.command:verify", "Whether a cluster could be brought back with one"),
    "prune": ("firstlight.commands.backup.command:prune", "Old ones deleted; never the newest that verifies"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def backup() -> None:
    """What a cluster cannot be brought back without, kept encrypted, and proven by restoring it."""


# What the commands of ``firstlight backup`` share: where backups are, and how many stay.


P = ParamSpec("P")
R = TypeVar("R")

where_option = click.option(
    "--from",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    show_default=".firstlight/CLUSTER/backups",
    help="Where the backups are.",
)
signer_option = click.option(
    "--signer",
    "signers",
    multiple=True,
    metavar="SHA256:…",
    help="Also accept backups signed by this key. May be repeated.",
)
unsigned_option = click.option(
    "--trust-unsigned",
    "unsigned",
    multiple=True,
    metavar="NAME",
    help="Open this backup although nobody signed it. May be repeated.",
)


def retention_options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds ``--keep``, ``--keep-daily`` and ``--keep-weekly`` to a command."""
    many = click.IntRange(0)

    @click.option("--keep", "newest", type=many, default=0, metavar="N", help="The newest N stay.")
    @click.option("--keep-daily", "daily", type=many, default=0, metavar="N", help="The newest of each of N days.")
    @click.option("--keep-weekly", "weekly", type=many, default=0, metavar="N", help="The newest of each of N weeks.")
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


def retention_policy(newest: int, daily: int, weekly: int) -> RetentionPolicy:
    """What is to stay."""
    return RetentionPolicy(newest=newest, daily=daily, weekly=weekly)


def place_of(platform: Platform, cluster: str, place: Path | None) -> Path:
    """Where the backups of a cluster are."""
    return (
        place.absolute() if place is not None else backup_store.home(state_files.directory_of(platform.root), cluster)
    )


# ``firstlight backup create``: a backup of a cluster, whole or not at all.


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--to",
    "place",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    metavar="DIR",
    show_default=".firstlight/CLUSTER/backups",
    help="Where it is written, in a directory of its own.",
)
@click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    metavar="KEY",
    show_default="the age or SSH key that it is encrypted for",
    help="Sign it with this SSH key.",
)
@retention_options
@repo_option
@output.option
def create(
    cluster: str, place: Path | None, key: Path | None, newest: int, daily: int, weekly: int, root: Path | None,
    form: str,
) -> None:  # fmt: skip
    """Keep etcd, the Talos secrets, the machine configs, the access to the cluster and the journals of its runs.

    etcd is asked through Talos; the Kubernetes API need not answer. Everything but the manifest is encrypted for those
    who may read the Talos secrets, and the manifest is signed by whoever makes it. With --keep and its like older
    backups are pruned afterwards.
    """
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
    return made, await retention.prune(found, keep, signed=signed, verify=verify, is_dry_run=False)


def _say(text: str) -> None:
    print(f"  {safe.text(text)}", file=sys.stderr, flush=True)


# ``firstlight backup list``: the backups of a cluster.


@click.command(name="list")
@click.argument("cluster", default="")
@where_option
@signer_option
@repo_option
@output.option
def list_backups(
    cluster: str, place: Path | None, signers: tuple[str, ...], root: Path | None, form: str
) -> int:  # fmt: skip
    """The backups of a cluster, newest first, by their manifests and who signed them: nothing is decrypted.

    Exit code 2 means that one of them has no manifest that can be read.
    """
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


# ``firstlight backup verify``: whether a cluster could be brought back with a backup.


@click.command()
@click.argument("stamp", default="")
@click.option("--cluster", default="", metavar="NAME", help="Of which cluster.")
@click.option("--restore", is_flag=True, help="Restore its etcd in a lab on this computer, and compare every key.")
@where_option
@signer_option
@unsigned_option
@repo_option
@output.option
def verify(
    stamp: str, cluster: str, restore: bool, place: Path | None, signers: tuple[str, ...], unsigned: tuple[str, ...],
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Look through a backup, the newest if none is named: who signed it, its digests, and whether it opens.

    It must be signed by one of your keys, or by a --signer. The snapshot must be one of etcd, with the checksum that
    etcd gave it, of this cluster, at its revision. Exit code 1 means that the cluster could not be brought back with
    it.
    """
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
    restore = restore_trial.trying(programs)
    return await backup_check.verify(found, cluster=cluster, trusted=trusted, uid=uid, sops=sops, restore=restore)


# ``firstlight backup prune``: old backups deleted.


@click.command()
@click.argument("cluster", default="")
@retention_options
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@where_option
@signer_option
@repo_option
@output.option
def prune(
    cluster: str, newest: int, daily: int, weekly: int, dry_run: bool, place: Path | None, signers: tuple[str, ...],
    root: Path | None, form: str,
) -> None:  # fmt: skip
    """Delete backups that none of --keep, --keep-daily and --keep-weekly names.

    The newest that verifies stays, whatever they say; where none verifies, nothing is deleted. Backups that are not
    signed by you, or by a --signer, are counted apart.
    """
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
    return await retention.prune(found, keep, signed=signed, verify=verify, is_dry_run=is_dry_run)
