"""``--allow-commands``: what the repo wants to run, shown whole, and remembered if the user agrees."""

import shlex
import sys
import time

import click

from firstlight import errors
from firstlight.drawing import safe
from firstlight.execute import command_digest, repo_commands
from firstlight.execute.command_digest import CommandDigest
from firstlight.execute.repo_commands import AllowedCommands
from firstlight.model import repo_command
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform
from firstlight.model.repo_command import RepoCommand

_SHOWN = 20
"""Files of a command that are named."""


def allow(platform: Platform, cluster: Cluster, *, yes: bool, also: tuple[RepoCommand, ...] = ()) -> None:
    """Show the commands of a cluster, ask about those that were not allowed yet, and remember the answer.

    Args:
        platform: The repo.
        cluster: Of which the commands are.
        yes: Whether the answer is given.
        also: What else would execute something, such as the settings of a rehearsed Argo CD.

    Raises:
        errors.Refused: The user says no, or nobody can be asked.
    """
    before = repo_commands.load_allowed(repo_commands.allowed_path())
    wanted = (*repo_command.wanted(platform.components_of(cluster.name)), *also)
    found = [(each, command_digest.command_digest(each.words, platform.root)) for each in wanted]
    new = [(each, digest) for each, digest in found if not before.has(digest, platform.root)]
    which, where = safe.text(cluster.name), safe.text(str(platform.root))
    print(f"{which}: the repo {where} wants to run{'' if found else ' no commands'}", file=sys.stderr)
    for each, digest in found:
        print("\n".join(_lines(each, digest, is_new=(each, digest) in new)), file=sys.stderr)
    if not new:
        return
    if not yes and not _agreed(len(new)):
        raise errors.Refused("the commands were not allowed", hint="Nothing was run; --yes answers yes.")
    chosen = [(digest, each.words) for each, digest in new]
    repo_commands.remember_allowed(repo_commands.allowed_path(), chosen, repo=platform.root, now=time.time())
    print(f"allowed, as they are now: {safe.text(str(repo_commands.allowed_path()))}", file=sys.stderr)


def known() -> AllowedCommands:
    """What the user has allowed."""
    return repo_commands.load_allowed(repo_commands.allowed_path())


def _lines(command: RepoCommand, digest: CommandDigest, *, is_new: bool) -> list[str]:
    covered = f"covers every file of the repo and its mode, {len(digest.files)} now: it may read any of them"
    if not digest.is_whole:
        covered = "covers the command alone: it reads no file of the repo"
    shown = [f"look at {safe.text(each)}" for each in digest.named[:_SHOWN]]
    if len(digest.named) > _SHOWN:
        shown.append(f"look at {len(digest.named) - _SHOWN} more that it names")
    return [
        f"  {safe.text(shlex.join(command.words))}".replace("\n", "\\n"),
        f"      {safe.text(command.what)} of {safe.text(command.component)}   {safe.text(str(command.place))}",
        *(f"      {each}" for each in (covered, *shown)),
        f"      {digest.value}{'' if is_new else '   allowed already'}",
    ]


def _agreed(count: int) -> bool:
    what = "this command" if count == 1 else f"these {count} commands"
    return sys.stdin.isatty() and click.confirm(f"Allow {what}, with exactly this content?", default=False, err=True)
