"""``firstlight rehearse``: the same run in the lab, on the user's own repo, before it touches a machine."""

from pathlib import Path

import click

from firstlight.cli import output
from firstlight.cli.options import PHASES, allow_commands_option, repo_option


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--charts",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIRECTORY",
    help="Charts as files, .tgz or unpacked, taken before any is fetched.",
)
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache, or from --charts.")
@click.option("--until", type=click.Choice(PHASES), default=None, help="The last phase to rehearse.")
@click.option("--verify", is_flag=True, help="Then verify, and prove that a second run writes nothing.")
@allow_commands_option
@click.option("--yes", is_flag=True, help="Do not ask before commands are allowed.")
@click.option("--keep", is_flag=True, help="Leave the lab running, to look around in it.")
@click.option("--markdown", type=click.Path(path_type=Path), default=None, help="Also write the report here, for CI.")
@click.option("--everything", is_flag=True, help="The whole mapping, where else some stand for many.")
@repo_option
@output.option
def rehearse(
    cluster: str, charts: Path | None, offline: bool, until: str | None, verify: bool, allow_commands: bool, yes: bool,
    keep: bool, markdown: Path | None, everything: bool, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Run `up` against virtual machines and a real control plane on this computer, with your own repo.

    Addresses, disks, Git and charts lead to the lab, foundation secrets are dummies; the report says what stood for
    what and what could not be tried. Exit code 1 means that the real run would have failed, 3 that it was refused.
    """
    from firstlight.commands.rehearse import run

    return run.rehearse(
        root, cluster, charts=charts, offline=offline, until=until, verify=verify, allow_commands=allow_commands,
        yes=yes, keep=keep, markdown=markdown, everything=everything, form=form,
    )  # fmt: skip
