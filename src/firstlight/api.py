"""What plug-ins and scripts may import: names here stay, everything else may move between versions.

A name is imported when it is first asked for, so that ``import firstlight.api`` costs nothing by itself.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.commands.audit.rule_form import AuditRule
    from firstlight.commands.audit.rulebook import Check, PackagedRule
    from firstlight.commands.audit.stated_edits import append_edit, remove_edit, set_edit
    from firstlight.errors import ConfigError, FirstlightError, Refused, ToolError, UsageError
    from firstlight.model.change import Change, ChangedField
    from firstlight.model.cluster import Cluster, Engine, Machine, MachineRole, Network
    from firstlight.model.component import Component, ObjectId, Origin, Owner, Phase, Side, Stated
    from firstlight.model.decision import Approval, ChangeCheck, Decision, DecisionItem, ProcedureStep, Risk, Ruling
    from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
    from firstlight.model.finding import Audit, Excused, FileEdit, Finding, Matrix
    from firstlight.model.place import Place
    from firstlight.model.platform import Platform
    from firstlight.repo.platform_view import AppliedObject, LiveObjects, PlatformView

__all__ = [
    "AppliedObject",
    "Approval",
    "Audit",
    "AuditRule",
    "Change",
    "ChangeCheck",
    "ChangedField",
    "Check",
    "Cluster",
    "Component",
    "ConfigError",
    "Decision",
    "DecisionItem",
    "Diagnostic",
    "Engine",
    "Evidence",
    "Excused",
    "FileEdit",
    "Finding",
    "FirstlightError",
    "LiveObjects",
    "Machine",
    "MachineRole",
    "Matrix",
    "Network",
    "ObjectId",
    "Origin",
    "Owner",
    "PackagedRule",
    "Phase",
    "Place",
    "Platform",
    "PlatformView",
    "ProcedureStep",
    "Refused",
    "Risk",
    "Ruling",
    "Severity",
    "Side",
    "Stated",
    "ToolError",
    "UsageError",
    "append_edit",
    "audit_repo",
    "decide_change",
    "output_schema",
    "read_platform",
    "remove_edit",
    "set_edit",
]

_HOMES = {
    "firstlight.commands.audit.rule_form": ("AuditRule",),
    "firstlight.commands.audit.rulebook": ("Check", "PackagedRule"),
    "firstlight.commands.audit.stated_edits": ("append_edit", "remove_edit", "set_edit"),
    "firstlight.errors": ("ConfigError", "FirstlightError", "Refused", "ToolError", "UsageError"),
    "firstlight.model.change": ("Change", "ChangedField"),
    "firstlight.model.cluster": ("Cluster", "Engine", "Machine", "MachineRole", "Network"),
    "firstlight.model.component": ("Component", "ObjectId", "Origin", "Owner", "Phase", "Side", "Stated"),
    "firstlight.model.decision": (
        "Approval",
        "ChangeCheck",
        "Decision",
        "DecisionItem",
        "ProcedureStep",
        "Risk",
        "Ruling",
    ),
    "firstlight.model.finding": (
        "Audit",
        "Excused",
        "FileEdit",
        "Finding",
        "Matrix",
    ),
    "firstlight.model.platform": ("Platform",),
    "firstlight.model.diagnostic": ("Diagnostic", "Evidence", "Severity"),
    "firstlight.model.place": ("Place",),
    "firstlight.repo.platform_view": ("AppliedObject", "LiveObjects", "PlatformView"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


def read_platform(repo: Path | str) -> "Platform":
    """Read the platform that a directory describes. Nothing of the directory is executed.

    Problems in files are in the platform's ``diagnostics``.

    Args:
        repo: The top of a GitOps repo, or any directory that is one by itself.

    Raises:
        UsageError: The directory does not exist.
    """
    from firstlight.repo import platform_reader

    return platform_reader.read(Path(repo))


def audit_repo(
    repo: Path | str, *, clusters: Iterable[str] = (), rules: Iterable[str] = (), with_matrix: bool = False
) -> "Audit":
    """Run the audit rules over the files of a repo, as ``firstlight audit`` does without options.

    Rules of the team and of installed packages are included. No cluster is contacted and nothing is rendered.

    Args:
        repo: The top of the repo.
        clusters: Only findings that concern one of these clusters, or the repo as a whole; all by default.
        rules: Ids of the rules to run; all by default.
        with_matrix: Also compare the clusters, pattern by pattern.

    Raises:
        UsageError: The directory, a cluster or a rule does not exist.
        ConfigError: A rule of the team, or the baseline, is invalid.
    """
    import asyncio
    import datetime

    from firstlight.commands.audit import audit
    from firstlight.commands.audit.audit_request import AuditRequest
    from firstlight.repo.work_tree import WorkTree

    today = datetime.datetime.now(datetime.UTC).astimezone().date()
    request = AuditRequest(clusters=tuple(clusters), rules=tuple(rules), today=today, with_matrix=with_matrix)
    return asyncio.run(audit.audit(WorkTree(Path(repo)), request, audit.AuditMeans(git=_git()))).audit


def decide_change(repo: Path | str, revisions: str = "", *, rules: Iterable[Path | str] = ()) -> "Decision":
    """Decide on a change, as ``firstlight decide --no-render`` does: its side, risk, approval and procedure.

    Args:
        repo: The top of the repo, a Git work tree.
        revisions: ``main...HEAD``, ``v1..v2``, or one revision to compare the work tree with. Empty for staged
            changes, or for the work tree where nothing is staged.
        rules: Files and directories with more rules.

    Raises:
        UsageError: A revision or the directory does not exist.
        ConfigError: A rule is invalid.
    """
    import asyncio

    from firstlight.commands.decide import change_source, decide

    asked = change_source.between(revisions) if revisions else change_source.WorkTreeChanges()
    paths = tuple(Path(each) for each in rules)
    return asyncio.run(decide.decide(Path(repo), asked, git=_git(), rules=paths)).decision


def output_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's ``--output json``, such as ``audit`` or ``node list``.

    Raises:
        UsageError: The command does not exist, or its output has no schema.
    """
    from firstlight.commands.schema import output_schemas

    return output_schemas.schema(command)


def _git() -> Path | None:
    from firstlight.clients import program_path

    found = program_path.find("git")
    return Path(found) if found else None
