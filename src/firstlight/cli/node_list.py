"""``firstlight node list``: every machine of a cluster, as it is declared and as it is."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight.cli import output, which_repo

if TYPE_CHECKING:
    from firstlight.model.node import NodeList
    from firstlight.model.platform import Platform

FAILED = 1
DIFFERENT = 2


@click.command(name="list")
@click.argument("cluster", default="")
@which_repo.option
@output.option
def list_nodes(cluster: str, root: Path | None, form: str) -> int:
    """Every machine: what it runs, whether it is well, in etcd and schedulable, and whether its config is the repo's.

    Nothing is written. What does not answer is said. Exit code 2 means that something is not as declared, 1 that
    something could not be seen.
    """
    from firstlight.report import node_list as report
    from firstlight.report import table

    found = asyncio.run(_looked(which_repo.platform(root), cluster))
    output.answer(form, report.text(found, columns=table.terminal_columns()), report.data(found))
    if found.unseen:
        return FAILED
    return 0 if all(each.is_fine for each in found.rows) else DIFFERENT


async def _looked(platform: "Platform", name: str) -> "NodeList":
    from firstlight.cli import own_means
    from firstlight.operate import up
    from firstlight.operate.node import listing

    cluster = up.cluster_of(platform, name)
    means = await own_means.means(platform, keep=False)
    try:
        return await listing.look(platform, cluster, means)
    finally:
        await means.close()
