"""``firstlight backup create``: a backup of a cluster, whole or not at all."""

import asyncio
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight.cli import backup_keeping, output, which_repo

if TYPE_CHECKING:
    from firstlight.model.backup import Kept, Pruning
    from firstlight.model.platform import Platform
    from firstlight.policy.retention import Keep


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
@backup_keeping.retention
@which_repo.option
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
    from firstlight.model.backup import Signed, Standing
    from firstlight.report import backup as report
    from firstlight.secrets import ssh_signature

    platform = which_repo.platform(root)
    keep = backup_keeping.keep(newest, daily, weekly)
    made, pruned = asyncio.run(_created(platform, cluster, place, keep, key=key, is_told=form == "text"))
    signed = Signed(standing=Standing.OWN, signer=ssh_signature.parse(made.signature).fingerprint)
    value = {"backup": report.data(made, signed=signed), "pruned": report.pruned_data(pruned) if pruned else None}
    text = report.made(made, signer=signed.signer) + (f"\n\n{report.pruned(pruned)}" if pruned else "")
    output.answer(form, text, value)


async def _created(
    platform: "Platform", name: str, place: Path | None, keep: "Keep", *, key: Path | None, is_told: bool
) -> "tuple[Kept, Pruning | None]":
    from firstlight.cli import own_means
    from firstlight.operate import reaching, up
    from firstlight.operate.backup import making, pruning, shelf, signing, verifying
    from firstlight.secrets import ssh_signature

    cluster = up.cluster_of(platform, name)
    where = backup_keeping.place_of(platform, cluster.name, place)
    means = await own_means.means(platform, keep=False)
    try:
        async with reaching.reached(cluster, means, is_api_needed=False) as world:
            tell = _say if is_told else lambda _: None
            made = await making.make(platform, world, means, place=where, key=key, tell=tell)
    finally:
        await means.close()
    if not keep.is_anything:
        return made, None
    found = shelf.kept(where)
    # What was just made is signed by a key of ours, wherever that key is.
    trusted = await signing.trust(signers=[ssh_signature.parse(made.signature).fingerprint])
    verify = functools.partial(verifying.verify, cluster=cluster.name, trusted=trusted, sops=means.programs.sops)
    signed = await signing.trusted_of(found, trusted)
    return made, await pruning.prune(found, keep, signed=signed, verify=verify, is_dry_run=False)


def _say(text: str) -> None:
    from firstlight.report import safe

    print(f"  {safe.text(text)}", file=sys.stderr, flush=True)
