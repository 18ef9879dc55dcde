"""``firstlight backup list``: the backups of a cluster."""

from pathlib import Path

import click

from firstlight.cli import backup_keeping, output, which_repo

FINDINGS = 2


@click.command(name="list")
@click.argument("cluster", default="")
@backup_keeping.where
@which_repo.option
@output.option
def list_backups(cluster: str, place: Path | None, root: Path | None, form: str) -> int:
    """The backups of a cluster, newest first, by their manifests: nothing is decrypted.

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
    text = report.listed(found, cluster=name, place=str(where), columns=table.terminal_columns())
    output.answer(form, text, {"cluster": name, "place": str(where), "backups": [report.data(each) for each in found]})
    return FINDINGS if any(each.problem for each in found) else 0
