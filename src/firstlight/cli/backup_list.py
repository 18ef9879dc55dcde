"""``firstlight backup list``: the backups of a cluster."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight.cli import backup_keeping, output, which_repo

if TYPE_CHECKING:
    from firstlight.model.backup import Kept, Signed

FINDINGS = 2


@click.command(name="list")
@click.argument("cluster", default="")
@backup_keeping.where
@backup_keeping.signer
@which_repo.option
@output.option
def list_backups(
    cluster: str, place: Path | None, signers: tuple[str, ...], root: Path | None, form: str
) -> int:  # fmt: skip
    """The backups of a cluster, newest first, by their manifests and who signed them: nothing is decrypted.

    Exit code 2 means that one of them has no manifest that can be read.
    """
    from firstlight.operate import up
    from firstlight.operate.backup import shelf
    from firstlight.report import backup as report
    from firstlight.report import table

    platform = which_repo.platform(root)
    name = up.cluster_of(platform, cluster).name
    where = backup_keeping.place_of(platform, name, place)
    found = shelf.kept(where)
    signed = asyncio.run(_signed(found, signers))
    text = report.listed(found, signed=signed, cluster=name, place=str(where), columns=table.terminal_columns())
    backups = [report.data(each, signed=signed.get(each.stamp)) for each in found]
    output.answer(form, text, {"cluster": name, "place": str(where), "backups": backups})
    return FINDINGS if any(each.problem for each in found) else 0


async def _signed(found: "tuple[Kept, ...]", signers: tuple[str, ...]) -> "dict[str, Signed]":
    from firstlight.operate.backup import signing

    trusted = await signing.trust(signers=signers)
    return {each.stamp: await signing.judge(each, trusted) for each in found if each.manifest is not None}
