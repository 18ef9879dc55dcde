"""``firstlight down``: the machines of a test cluster wiped, after its name was typed."""

import asyncio
import sys
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, which_cluster, which_repo
from firstlight.cli.options import repo_option
from firstlight.commands.down import down as down_room
from firstlight.commands.down.down import DownTarget
from firstlight.commands.down.output_form import DownData, LeftAloneData, WipedData
from firstlight.drawing import safe
from firstlight.model.platform import Platform


@click.command()
@click.argument("cluster")
@click.option("--confirm", default="", metavar="CLUSTER", help="The cluster's name once more, instead of typing it.")
@repo_option
@output.option
def down(cluster: str, confirm: str, root: Path | None, form: str) -> int:
    """Wipe the machines of a test cluster, so that they boot into maintenance mode. All data on them is lost.

    Only machines that run with this cluster's own keys are touched.
    """
    return asyncio.run(_down(which_repo.platform(root), cluster, confirm, form))


async def _down(platform: Platform, name: str, confirm: str, form: str = "text") -> int:
    means = await cli_means.user_means(platform, keep=False)
    try:
        found = await down_room.find(which_cluster.cluster_of(platform, name), means)
    finally:
        await means.close()
    # Of a JSON answer standard output is the answer alone.
    where = sys.stderr if form == "json" else sys.stdout

    def say(text: str) -> None:
        print(safe.text(text), file=where, flush=True)

    for each in found.left:
        say(f"  {each.machine.name:16} left alone: {each.standing}{f', {each.why}' if each.why else ''}")
    for machine in found.ours:
        say(f"  {machine.name:16} {machine.address:16} will be wiped: config, etcd, everything on it")
    if found.ours:
        _confirmed(name, confirm)
        await down_room.take_down(found, means, tell=lambda text: say(f"  {text}"))
    many = f"{len(found.ours)} machines are" if len(found.ours) != 1 else "1 machine is"
    text = f"{many} bare again; next: firstlight up {safe.text(found.cluster.name)}"
    output.answer(form, text if found.ours else "there is nothing to wipe", _data(found))
    return 0


def _data(found: DownTarget) -> DownData:
    left: list[LeftAloneData] = [
        {"name": each.machine.name, "standing": str(each.standing), "why": each.why} for each in found.left
    ]
    wiped: list[WipedData] = [{"name": each.name, "address": each.address} for each in found.ours]
    return {"cluster": found.cluster.name, "wiped": wiped, "left": left}


def _confirmed(name: str, given: str) -> None:
    if not given and sys.stdin.isatty():
        asked = f"Type the name of the cluster to wipe {name}'s machines"
        given = click.prompt(asked, default="", show_default=False, err=True)
    if given != name:
        raise errors.Refused("not confirmed: nothing was wiped", hint=f"Type the name, or give --confirm {name}.")
