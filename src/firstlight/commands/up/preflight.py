"""Whether the commands that the repo wants to run are there, and were allowed with exactly this content."""

import asyncio
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import omnictl, program_path
from firstlight.commands.up import machine_checks
from firstlight.commands.up.git_state import rendered_commit
from firstlight.execute import cluster_identity, command_digest
from firstlight.execute.command_digest import CommandDigest
from firstlight.execute.means import Means, RunRequest
from firstlight.journal import journal_reader
from firstlight.model import repo_command
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.handover import Passing
from firstlight.model.plan import Plan, Subject
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.rendition import Rendition
from firstlight.model.repo_command import RepoCommand
from firstlight.model.secret import Resolve
from firstlight.model.work import Configure, CreateSecret, Install, MigrateOwners, SyncTemplate, Work
from firstlight.plan import argocd_takeover, cluster_facts, flux_takeover

__all__ = [
    "command_problems",
    "declaration_diagnostics",
    "handover_problems",
    "rendered_commit",
    "run_diagnostics",
    "world_problems",
]

_SHOWN = 5
"""Files of a command that are named."""
WAY_OUT = "Look at the command and the files that it names, then allow it: --allow-commands shows all of them and asks."


def command_problems(platform: Platform, plan: Plan, wishes: RunRequest, means: Means) -> list[Diagnostic]:
    """The commands that nobody has allowed, or that cannot run; a dry run runs none, and is only told of them."""
    severity = Severity.WARNING if wishes.is_dry_run else Severity.ERROR
    root = means.origin or platform.root
    found = []
    for each in repo_command.wanted(_asking(platform, plan)):
        try:
            digest = command_digest.command_digest(each.words, root)
        except errors.Refused as error:
            found.append(_command("command-refused", error.message, each, severity=severity, fix=error.hint))
            continue
        if not means.allowed.has(digest, root):
            message = f"the repo wants to run a command that was not allowed: {repo_command.shown(each.words)}"
            evidence = [Evidence(digest.value, where="content"), *_files(digest)]
            found.append(_command("command-not-allowed", message, each, severity=severity, fix=WAY_OUT, more=evidence))
        if missing := _missing(each.words[0], root):
            fix = "Write the path of a script from the top of the repo."
            found.append(_command("command-missing", missing, each, severity=severity, fix=fix))
    return found


def _asking(platform: Platform, plan: Plan) -> Iterator[Component]:
    """The components of steps that run commands."""
    names = {
        step.component for step in plan.steps if step.hooks or any(gate.subject == Subject.OWN for gate in step.gates)
    }
    return (each for each in platform.components_of(plan.cluster) if each.name in names)


def _files(digest: CommandDigest) -> Iterator[Evidence]:
    covers = f"every file of the repo, {len(digest.files)} now" if digest.is_whole else "the command alone"
    yield Evidence(covers, where="covers")
    for file in digest.named[:_SHOWN]:
        yield Evidence(file, where="file")
    if len(digest.named) > _SHOWN:
        yield Evidence(f"and {len(digest.named) - _SHOWN} more", where="file")


def _missing(program: str, root: Path) -> str:
    """What keeps a program from being run; it is better known now than after its component is up."""
    if "/" not in program:
        return "" if program_path.find(program) else f"the repo wants to run {program}, and there is no such program"
    if not (root / program).is_file():
        return f"the repo wants to run {program}, which is not there"
    return "" if os.access(root / program, os.X_OK) else f"the repo wants to run {program}, which is not executable"


def _command(
    code: str, message: str, command: RepoCommand, *, severity: Severity, fix: str, more: Iterable[Evidence] = ()
) -> Diagnostic:
    return Diagnostic(
        code=code, severity=severity, message=message, fix=fix, subject=command.component,
        evidence=(Evidence(command.what, command.place, where=command.component), *more),
    )  # fmt: skip


# What readers and renderers have diagnosed, as far as it matters to a run.


def run_diagnostics(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What blocks a run or is told before it; what is not known is only told."""
    return [
        dataclasses.replace(each, severity=Severity.NOTE) if each.severity is Severity.UNKNOWN else each
        for each in found
    ]


def declaration_diagnostics(platform: Platform) -> list[Diagnostic]:
    """What is wrong in the user's own declaration, whoever else is not troubled by it."""
    path = platform.declared.path if platform.declared is not None else ""
    return [each for each in platform.diagnostics if each.severity == Severity.ERROR and each.place.path == path]


# Whether every reference of the foundation leads to a value; the values are kept only to be masked.


async def secret_problems(work: Work, resolve: Resolve) -> list[Diagnostic]:
    """The references that cannot be resolved, all of them."""
    wanted = [each.secret for each in work.tasks.values() if isinstance(each, CreateSecret)]
    found = await asyncio.gather(
        *(_one(each, key, reference, resolve) for each in wanted for key, reference in each.data.items())
    )
    return [each for each in found if each is not None]


async def _one(secret: FoundationSecret, key: str, reference: str, resolve: Resolve) -> Diagnostic | None:
    name = f"{secret.namespace}/{secret.name}"
    evidence = (Evidence(secret.why or "is declared", secret.places.get(key, secret.place), where=name),)
    if not reference:
        message = f"nothing says where the key {key} of the Secret {name} comes from"
        fix = "Declare it under secrets: in firstlight.yaml."
        return Diagnostic.error("secret-without-reference", message, evidence=evidence, fix=fix)
    try:
        value = await resolve(reference)
    except errors.FirstlightError as error:
        message = f"the key {key} of the Secret {name} cannot be had: {error.message}"
        return Diagnostic.error("secret-missing", message, evidence=evidence, fix=error.hint)
    if not value.reveal():
        message = f"the key {key} of the Secret {name} is empty"
        return Diagnostic.error("secret-empty", message, evidence=evidence, fix=f"Look at {reference}.")
    return None


async def talos_secret_problems(work: Work, means: Means) -> list[Diagnostic]:
    """Return why the Talos secrets of a cluster whose machines are configured can be neither read nor made."""
    has_whole_configs = bool(work.cluster.talosconfig) and not work.cluster.talos_secrets
    if has_whole_configs or not any(isinstance(each, Configure) for each in work.tasks.values()):
        return []
    try:
        await means.check_talos_secrets(work.cluster)
    except errors.FirstlightError as error:
        return [Diagnostic.error("talos-secrets-unavailable", error.message, at=work.cluster.place, fix=error.hint)]
    return []


# Whether Omni answers, and takes the template; nothing is changed there.


async def omni_problems(work: Work, program: Path | None) -> list[Diagnostic]:
    """What stands between a template and Omni."""
    wanted = [each for each in work.tasks.values() if isinstance(each, SyncTemplate)]
    if not wanted:
        return []
    if program is None:
        return [
            Diagnostic.error(
                "program-missing",
                "clusters of Omni are made by omnictl, and it is missing",
                fix="firstlight tools install omnictl",
            )
        ]
    asked = omnictl.Omnictl(program)
    found = await asyncio.gather(*(_omni_one(each, asked, work.cluster) for each in wanted))
    return [each for one in found for each in one]


async def _omni_one(task: SyncTemplate, program: omnictl.Omnictl, cluster: Cluster) -> list[Diagnostic]:
    try:
        await program.validate(task.template, directory=task.directory)
    except omnictl.OmniRejected as error:
        return [
            _omni_problem("omni-template", f"omnictl refuses it: {each}", error, cluster) for each in error.problems
        ]
    except errors.FirstlightError as error:
        return [_omni_problem("omni-template", error.message, error, cluster)]
    try:
        await program.diff(task.template, directory=task.directory)
    except errors.FirstlightError as error:
        return [_omni_problem("omni-silent", error.message, error, cluster)]
    return []


def _omni_problem(code: str, message: str, error: errors.FirstlightError, cluster: Cluster) -> Diagnostic:
    link = Evidence("is the Omni template", cluster.place, where=cluster.omni_template)
    return Diagnostic.error(code, message, evidence=(link,), fix=error.hint)


# What must be so outside of the repo.


async def world_problems(work: Work, means: Means) -> list[Diagnostic]:
    """Everything that can be asked before the first write, asked at once."""
    rehearsals = [each for each in journal_reader.runs(means.state) if each.is_rehearsal]
    is_first = len(journal_reader.paths(means.state)) == len(rehearsals)
    lived = cluster_identity.known(means.state, work.cluster.name)
    found = await asyncio.gather(
        secret_problems(work, means.masks.remembering(means.resolve)),
        talos_secret_problems(work, means),
        machine_checks.machine_problems(
            work, means.programs.talosctl_for(work.cluster), means.reach, is_first=is_first, lived=lived
        ),
        omni_problems(work, means.programs.omnictl),
    )
    return [*_programs(work, means), *(each for one in found for each in one)]


def _programs(work: Work, means: Means) -> list[Diagnostic]:
    if means.programs.helm is None and any(isinstance(each, Install) for each in work.tasks.values()):
        message = "charts are installed by helm, and it is missing"
        return [Diagnostic.error("program-missing", message, fix="firstlight tools install helm")]
    return []


# What would go wrong when the engine takes over: told before the first write, when it is cheap to change.


def handover_problems(
    platform: Platform, cluster: Cluster, work: Work, renditions: Iterable[Rendition], *, is_strict: bool = False
) -> list[Diagnostic]:
    """What the repo alone tells of the handover."""
    return takeover_problems(platform, cluster, work, renditions=renditions, is_strict=is_strict)


# What would go wrong in a handover, found in the repo before anything is written.


def takeover_problems(
    platform: Platform,
    cluster: Cluster,
    work: Work,
    *,
    renditions: Iterable[Rendition],
    is_strict: bool = False,
) -> list[Diagnostic]:
    """Everything that the repo alone tells; nothing where nothing is handed over.

    Args:
        platform: The repo.
        cluster: Which cluster.
        work: What a run of it is to do.
        renditions: What its components deploy.
        is_strict: Whether only the handover is asked for, so that what is dangerous in it stops it.
    """
    if not any(each.phase == Phase.HANDOVER for each in work.plan.steps):
        return []
    passing = passing_of(work)
    known = cluster_facts.of(platform, cluster, renditions)
    meant = {each.component for each in passing}
    found = [
        *flux_takeover.flux_problems(known),
        *flux_takeover.differing(known),
        *argocd_takeover.argocd_problems(known, passing, is_strict=is_strict),
        *argocd_takeover.ignore_problems(known, passing),
    ]
    return [*flux_takeover.second_releases(known), *(each for each in found if each.subject in meant)]


def passing_of(work: Work) -> Sequence[Passing]:
    """What passes in a run."""
    return [one for each in work.tasks.values() if isinstance(each, MigrateOwners) for one in each.passing]
