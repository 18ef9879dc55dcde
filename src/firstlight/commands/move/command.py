"""``firstlight move``: a component changes sides, in the repo and on the cluster, with nothing deleted or replaced."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import repo_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PHASES = ("inline", "crds", "core", "engine")


@click.command()
@click.argument("component")
@click.option("--to", "side", type=click.Choice(["bootstrap", "gitops"]), default=None, help="Where it goes.")
@click.option(
    "--into", default="", metavar="NAME",
    help="Instead: pass it to this Kustomization or Application. COMPONENT may be a directory of another one, too.",
)  # fmt: skip
@click.option(
    "--split", default="", metavar="NAME",
    help="Instead: give its settings (BGP peers, pools, issuers) an owner of this name; the core stays where it is.",
)  # fmt: skip
@click.option("--only", multiple=True, metavar="PATH", help="With --split: what passes, a file or directory; repeat.")
@click.option(
    "--owner", type=click.Choice(["gitops", "bootstrap"]), default="gitops", show_default=True,
    help="Who has it in the end, where it goes to bootstrap: handed over to the engine, or kept.",
)  # fmt: skip
@click.option("--phase", type=click.Choice(_PHASES), default="core", show_default=True, help="Where in bootstrap.")
@click.option(
    "--at", "home", default="", metavar="DIR",
    help="Where what Git gets of it is written, if only bootstrap has it; else beside other components.",
)  # fmt: skip
@click.option("--why", default="", metavar="TEXT", help="Why it must be in bootstrap; kept in firstlight.yaml.")
@click.option("--cluster", default="", metavar="NAME", help="Only there; else wherever it is.")
@click.option(
    "--rehearse", is_flag=True, help="Carry it out in the lab first; with --write or --carry-out go on if that works."
)
@click.option("--keep", is_flag=True, help="With --rehearse: leave the lab running, to look around in it.")
@click.option(
    "--charts", type=click.Path(path_type=Path), default=None, metavar="DIRECTORY",
    help="With --rehearse: charts as files, .tgz or unpacked, taken before any is fetched.",
)  # fmt: skip
@click.option("--write", is_flag=True, help="Edit the work tree; without it the change is only shown.")
@click.option(
    "--carry-out", is_flag=True, help="Edit, commit, push, guard, wait for the merge, pass owners, prove, unguard."
)
@click.option("--merge", "is_merging", is_flag=True, help="With --carry-out: merge here, where its approval is there.")
@click.option("--no-wait", is_flag=True, help="With --carry-out: end once it is pushed; `change resume` goes on.")
@click.option("--anyway", default="", metavar="REASON", help="With --carry-out: although checks before it fail.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--render/--no-render", "wanted", default=None, show_default="if helm and kustomize are there",
    help="Render everything first: more deadlocks of a cold start are found.",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@click.option("--kubeconfig", type=_FILE, default=None, help="The way to a cluster of which the repo has no machines.")
@repo_option
@output.option
def move(
    component: str, side: str | None, into: str, split: str, only: tuple[str, ...], owner: str, phase: str, home: str,
    why: str, cluster: str, rehearse: bool, keep: bool, charts: Path | None, write: bool, carry_out: bool,
    is_merging: bool, no_wait: bool, anyway: str, yes: bool, wanted: bool | None, offline: bool,
    kubeconfig: Path | None, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Move a component to bootstrap or to GitOps: who needs it, what a cold start makes of it, what the repo must say.

    The edits are shown as a diff, and proven by reading the edited repo again. Exit code 2 means that there is
    something to write, 3 that it is refused or that a person has to write something. Rehearsed it is 0, or 1 where
    the rehearsal fails: then nothing is written.
    """
    from firstlight.commands.move import move as move_room

    return move_room.move(
        component, side=side, into=into, split=split, only=only, owner=owner, phase=phase, home=home, why=why,
        cluster=cluster, rehearse=rehearse, keep=keep, charts=charts, write=write, carry_out=carry_out,
        is_merging=is_merging, no_wait=no_wait, anyway=anyway, yes=yes, wanted=wanted, offline=offline,
        kubeconfig=kubeconfig, root=root, form=form,
    )  # fmt: skip
