"""``firstlight backup verify``: whether a cluster could be brought back with a backup."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight.cli import backup_keeping, output, which_repo

if TYPE_CHECKING:
    from firstlight.model.backup import Kept, Proof

FAILED = 1


@click.command()
@click.argument("stamp", default="")
@click.option("--cluster", default="", metavar="NAME", help="Of which cluster.")
@click.option("--restore", is_flag=True, help="Restore its etcd in a lab on this computer, and compare every key.")
@backup_keeping.where
@which_repo.option
@output.option
def verify(stamp: str, cluster: str, restore: bool, place: Path | None, root: Path | None, form: str) -> int:
    """Look through a backup, the newest if none is named: its digests, whether it opens, whether it is what it says.

    The snapshot must be one of etcd, with the checksum that etcd gave it, of this cluster, at its revision. Exit code
    1 means that the cluster could not be brought back with it.
    """
    from firstlight.operate import up
    from firstlight.operate.backup import shelf
    from firstlight.report import backup as report

    platform = which_repo.platform(root)
    name = up.cluster_of(platform, cluster).name
    found = shelf.find(backup_keeping.place_of(platform, name, place), stamp)
    proof = asyncio.run(_verified(found, is_restored=restore))
    output.answer(form, report.proven(proof), report.proven_data(proof))
    return 0 if proof.is_sound else FAILED


async def _verified(found: "Kept", *, is_restored: bool) -> "Proof":
    from firstlight.cli import installing
    from firstlight.operate.backup import verifying

    sops = (await installing.ensure(("sops",)))["sops"]
    if not is_restored:
        return await verifying.verify(found, sops=sops)
    from firstlight.lab import control_plane
    from firstlight.operate.backup import restoring

    programs = await installing.ensure((*control_plane.COMPONENTS, "lab-machine", "talosctl"))
    return await verifying.verify(found, sops=sops, restore=restoring.trying(programs))
