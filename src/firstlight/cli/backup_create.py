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
@backup_keeping.retention
@which_repo.option
@output.option
def create(
    cluster: str, place: Path | None, newest: int, daily: int, weekly: int, root: Path | None, form: str
) -> None:
    """Keep etcd, the Talos secrets, the machine configs, the access to the cluster and the journals of its runs.

    etcd is asked through Talos; the Kubernetes API need not answer. Everything but the manifest is encrypted for those
    who may read the Talos secrets. With --keep and its like older backups are pruned afterwards.
    """
    from firstlight.report import backup as report

    platform = which_repo.platform(root)
    keep = backup_keeping.keep(newest, daily, weekly)
    made, pruned = asyncio.run(_created(platform, cluster, place, keep, is_told=form == "text"))
    value = {"backup": report.data(made), "pruned": report.pruned_data(pruned) if pruned else None}
    text = report.made(made) + (f"\n\n{report.pruned(pruned)}" if pruned else "")
    output.answer(form, text, value)


async def _created(
    platform: "Platform", name: str, place: Path | None, keep: "Keep", *, is_told: bool
) -> "tuple[Kept, Pruning | None]":
    from firstlight.cli import own_means
    from firstlight.operate import reaching, up
    from firstlight.operate.backup import making, pruning, shelf, verifying

    cluster = up.cluster_of(platform, name)
    where = backup_keeping.place_of(platform, cluster.name, place)
    means = await own_means.means(platform, keep=False)
    try:
        async with reaching.reached(cluster, means, is_api_needed=False) as world:
            made = await making.make(platform, world, means, place=where, tell=_say if is_told else lambda _: None)
    finally:
        await means.close()
    if not keep.is_anything:
        return made, None
    verify = functools.partial(verifying.verify, sops=means.programs.sops)
    return made, await pruning.prune(shelf.kept(where), keep, verify=verify, is_dry_run=False)


def _say(text: str) -> None:
    from firstlight.report import safe

    print(f"  {safe.text(text)}", file=sys.stderr, flush=True)
