"""``firstlight backup verify``: whether a cluster could be brought back with a backup."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight.cli import backup_keeping, output, which_repo

if TYPE_CHECKING:
    from firstlight.model.backup import Kept, Proof
    from firstlight.operate.backup.signing import Trust

FAILED = 1


@click.command()
@click.argument("stamp", default="")
@click.option("--cluster", default="", metavar="NAME", help="Of which cluster.")
@click.option("--restore", is_flag=True, help="Restore its etcd in a lab on this computer, and compare every key.")
@backup_keeping.where
@backup_keeping.signer
@backup_keeping.unsigned
@which_repo.option
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
    from firstlight.execute import identity
    from firstlight.journal import directory
    from firstlight.operate import up
    from firstlight.operate.backup import shelf, signing
    from firstlight.report import backup as report

    platform = which_repo.platform(root)
    name = up.cluster_of(platform, cluster).name
    found = shelf.find(backup_keeping.place_of(platform, name, place), stamp)
    uid = identity.known(directory.of(platform.root), name)

    async def run() -> "Proof":
        trusted = await signing.trust(signers=signers, unsigned=unsigned)
        return await _verified(found, name, uid, trusted, is_restored=restore)

    proof, now = asyncio.run(run()), time.time()
    output.answer(form, report.proven(proof, now=now), report.proven_data(proof, now=now))
    return 0 if proof.is_sound else FAILED


async def _verified(found: "Kept", cluster: str, uid: str, trusted: "Trust", *, is_restored: bool) -> "Proof":
    from firstlight.cli import installing
    from firstlight.operate.backup import verifying

    sops = (await installing.ensure(("sops",)))["sops"]
    if not is_restored:
        return await verifying.verify(found, cluster=cluster, trusted=trusted, uid=uid, sops=sops)
    from firstlight.lab import control_plane
    from firstlight.operate.backup import restoring

    programs = await installing.ensure((*control_plane.COMPONENTS, "lab-machine", "talosctl"))
    restore = restoring.trying(programs)
    return await verifying.verify(found, cluster=cluster, trusted=trusted, uid=uid, sops=sops, restore=restore)
