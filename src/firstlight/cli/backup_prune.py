"""``firstlight backup prune``: old backups deleted."""

import asyncio
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import backup_keeping, output, which_repo

if TYPE_CHECKING:
    from firstlight.model.backup import Pruning
    from firstlight.policy.retention import Keep


@click.command()
@click.argument("cluster", default="")
@backup_keeping.retention
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@backup_keeping.where
@backup_keeping.signer
@which_repo.option
@output.option
def prune(
    cluster: str, newest: int, daily: int, weekly: int, dry_run: bool, place: Path | None, signers: tuple[str, ...],
    root: Path | None, form: str,
) -> None:  # fmt: skip
    """Delete backups that none of --keep, --keep-daily and --keep-weekly names.

    The newest that verifies stays, whatever they say; where none verifies, nothing is deleted. Backups that are not
    signed by you, or by a --signer, are counted apart.
    """
    from firstlight.operate import up
    from firstlight.report import backup as report

    keep = backup_keeping.keep(newest, daily, weekly)
    if not keep.is_anything:
        raise errors.UsageError("nothing says what is to stay", hint="Give one: --keep 7, or --keep-daily 7")
    platform = which_repo.platform(root)
    name = up.cluster_of(platform, cluster).name
    where = backup_keeping.place_of(platform, name, place)
    found = asyncio.run(_pruned(where, name, keep, signers=signers, is_dry_run=dry_run))
    output.answer(form, report.pruned(found), report.pruned_data(found))


async def _pruned(
    where: Path, cluster: str, keep: "Keep", *, signers: tuple[str, ...], is_dry_run: bool
) -> "Pruning":  # fmt: skip
    from firstlight.cli import installing
    from firstlight.operate.backup import pruning, shelf, signing, verifying

    sops = (await installing.ensure(("sops",)))["sops"]
    trusted = await signing.trust(signers=signers)
    verify = functools.partial(verifying.verify, cluster=cluster, trusted=trusted, sops=sops)
    found = shelf.kept(where)
    signed = await signing.trusted_of(found, trusted)
    return await pruning.prune(found, keep, signed=signed, verify=verify, is_dry_run=is_dry_run)
