"""Whether the commands that the repo wants to run are there, and were allowed with exactly this content."""

import os
from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.execute import command_digest
from firstlight.execute.command_digest import Digest
from firstlight.model import repo_command
from firstlight.model.component import Component
from firstlight.model.plan import Link, Plan, Problem, Severity, Subject
from firstlight.model.platform import Platform
from firstlight.model.repo_command import RepoCommand
from firstlight.operate.means import Means, Wishes

_SHOWN = 5
"""Files of a command that are named."""
WAY_OUT = "Look at the command and the files that it names, then allow it: --allow-commands shows all of them and asks."


def commands(platform: Platform, plan: Plan, wishes: Wishes, means: Means) -> list[Problem]:
    """The commands that nobody has allowed, or that cannot run; a dry run runs none, and is only told of them."""
    severity = Severity.WARNING if wishes.is_dry_run else Severity.ERROR
    root = means.origin or platform.root
    found = []
    for each in repo_command.wanted(_asking(platform, plan)):
        try:
            digest = command_digest.digest(each.words, root)
        except errors.Refused as error:
            found.append(_problem(each, error.message, error.hint, severity))
            continue
        if not means.allowed.has(digest, root):
            message = f"the repo wants to run a command that was not allowed: {repo_command.shown(each.words)}"
            links = [Link("content", digest.value), *_files(digest)]
            found.append(_problem(each, message, WAY_OUT, severity, *links))
        if missing := _missing(each.words[0], root):
            found.append(_problem(each, missing, "Write the path of a script from the top of the repo.", severity))
    return found


def _asking(platform: Platform, plan: Plan) -> Iterator[Component]:
    """The components of steps that run commands."""
    names = {
        step.component for step in plan.steps if step.hooks or any(gate.subject == Subject.OWN for gate in step.gates)
    }
    return (each for each in platform.components_of(plan.cluster) if each.name in names)


def _files(digest: Digest) -> Iterator[Link]:
    covers = f"every file of the repo, {len(digest.files)} now" if digest.is_whole else "the command alone"
    yield Link("covers", covers)
    for file in digest.named[:_SHOWN]:
        yield Link("file", file)
    if len(digest.named) > _SHOWN:
        yield Link("file", f"and {len(digest.named) - _SHOWN} more")


def _missing(program: str, root: Path) -> str:
    """What keeps a program from being run; it is better known now than after its component is up."""
    if "/" not in program:
        return "" if program_path.find(program) else f"the repo wants to run {program}, and there is no such program"
    if not (root / program).is_file():
        return f"the repo wants to run {program}, which is not there"
    return "" if os.access(root / program, os.X_OK) else f"the repo wants to run {program}, which is not executable"


def _problem(command: RepoCommand, message: str, way_out: str, severity: Severity, *links: Link) -> Problem:
    return Problem(
        rule="command", severity=severity, message=message, way_out=way_out, component=command.component,
        chain=(Link(command.component, command.what, command.place), *links),
    )  # fmt: skip
