"""``firstlight node apply``: the repo's machine configs, one machine first, then the rest."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import duration, output, which_repo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from firstlight.cli.following import Form
    from firstlight.model.cluster import Cluster
    from firstlight.model.platform import Platform
    from firstlight.operate.means import Means
    from firstlight.operate.node.declared_configs import Declared
    from firstlight.operate.node.giving import Asked

DIFFERENT = 2


@click.command()
@click.argument("cluster", default="")
@click.option("--machine", "names", multiple=True, metavar="NAME", help="This one; may be repeated, in your order.")
@click.option("--all", "every", is_flag=True, help="All machines: workers first, then control planes.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and who would reboot; write nothing.")
@click.option(
    "--try", "tried", type=duration.SECONDS, default=None, metavar="DURATION",
    help="Only try it: a machine that is not well with it, or not kept by then, goes back by itself.",
)  # fmt: skip
@click.option("--revision", default="", metavar="COMMIT", help="The configs of an earlier commit of the repo.")
@click.option(
    "--timeout", type=duration.SECONDS, default="30m", show_default=True, help="How long each may take to be well."
)
@click.option("--yes", is_flag=True, help="Do not ask before reboots, nor before what was tried is kept.")
@which_repo.option
@output.option
def apply(
    cluster: str, names: tuple[str, ...], every: bool, dry_run: bool, tried: float | None, revision: str,
    timeout: float, yes: bool, root: Path | None, form: "Form",
) -> int:  # fmt: skip
    """Give machines of a cluster that lives the configs of the repo, one after the other.

    What changes is shown first, field by field, without secrets. The next machine is touched when the one before it
    is well. Inline manifests that were released to Git do not come back. Exit code 2: a dry run has found differences.
    """
    from firstlight.operate import up
    from firstlight.operate.node import choosing
    from firstlight.operate.node.giving import Asked

    if bool(names) == every:
        raise errors.UsageError("which machines?", hint="Write --machine NAME, or --all.")
    if tried is not None and not 10 <= tried <= 3600:
        raise errors.UsageError("a trial takes from 10s to 1h", hint="Write --try 5m.")
    platform = which_repo.platform(root)
    one = up.cluster_of(platform, cluster)
    choosing.refuse_omni(one)
    asked = Asked(timeout=timeout, tried=tried or 0.0)

    async def run() -> int:
        from firstlight.cli import own_means

        means = await own_means.means(platform, keep=False)
        try:
            async with _declared(platform, one, means, revision) as declared:
                return await _applied(one, names, asked, declared, means, dry_run=dry_run, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


@contextlib.asynccontextmanager
async def _declared(
    platform: "Platform", cluster: "Cluster", means: "Means", revision: str
) -> "AsyncIterator[Declared]":
    """What the files say now, or at a commit."""
    from firstlight.operate.node import declared_configs

    if not revision:
        yield declared_configs.of(platform, cluster, means)
        return
    async with declared_configs.at_revision(platform, cluster, means, revision=revision) as found:
        yield found


async def _applied(
    cluster: "Cluster", names: tuple[str, ...], asked: "Asked", declared: "Declared", means: "Means", *,
    dry_run: bool, yes: bool, form: "Form",
) -> int:  # fmt: skip
    from firstlight.cli import up
    from firstlight.cli.walked import walked
    from firstlight.operate import reaching
    from firstlight.operate.node import applying
    from firstlight.operate.walk import Walk
    from firstlight.report import node_apply as report
    from firstlight.report import table

    machines = applying.chosen(cluster, names)
    async with reaching.reached(cluster, means) as world:
        found = {each.machine.name: each.sight for each in await applying.compare(machines, declared, world)}
        different = [each for each in machines if found[each.name].equality != "equal"]
        text = report.text(found, columns=table.terminal_columns())
        if dry_run or not different:
            output.answer(form, text, report.data(cluster.name, found, revision=declared.revision))
            return DIFFERENT if different else 0
        if form == "text":
            print(text, file=sys.stderr, flush=True)
        walk = Walk(
            cluster=cluster, command=applying.COMMAND, again=_again(cluster.name, names, asked, declared),
            stages=applying.stages(different, declared, asked), revision=declared.revision,
        )  # fmt: skip
        return up.exit_code(await walked(walk, world, means, yes=yes, form=form))


def _again(cluster: str, names: tuple[str, ...], asked: "Asked", declared: "Declared") -> str:
    which = " ".join(f"--machine {each}" for each in names) or "--all"
    tried = f" --try {asked.tried:g}s" if asked.tried else ""
    revision = f" --revision {declared.revision}" if declared.revision else ""
    return f"{cluster} {which}{tried}{revision}"
