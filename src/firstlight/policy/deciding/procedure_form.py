"""The form of procedures and checklists, as they are written in YAML."""

from typing import Literal

import msgspec

Stage = Literal["prepare", "commit", "bootstrap", "merge", "engine", "verify"]
"""When a step comes. Steps of several procedures are put together by this, each once; bootstrap's half stands before
the merge, since what the engine applies may need it."""
STAGES: tuple[Stage, ...] = ("prepare", "commit", "bootstrap", "merge", "engine", "verify")

Each = Literal["", "cluster", "machine", "component", "kustomization", "helmrelease", "application"]
"""For each of which a step is written; where there is none, the step falls away."""

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "": ("branch", "topic", "files", "asked", "revert", "since"),
    "cluster": ("cluster",),
    "machine": ("cluster", "machine", "address"),
    "component": ("cluster", "component", "version", "dependents"),
    "kustomization": ("cluster", "component", "name", "namespace"),
    "helmrelease": ("cluster", "component", "name", "namespace"),
    "application": ("cluster", "component", "name", "namespace"),
}
"""What can stand in braces. ``branch`` is what the engine follows, ``topic`` a name for a branch of one's own,
``files`` all changed files, ``asked`` the options that ``firstlight decide`` was asked with, ``revert`` the commits to
take back, ``since`` the revision before them; in commands all are quoted for a shell. Those of "" can stand anywhere.
"""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One thing to do."""

    stage: Stage
    text: str
    """What it does, in a few words; placeholders are filled here too, without quotes."""
    command: str = ""
    """One line to type, with ``{placeholders}``; empty where a person does something else."""
    each: Each = ""
    side: Literal["bootstrap", "gitops", ""] = ""
    """The half that it belongs to; empty for what belongs to neither."""
    engine: Literal["flux", "argocd", ""] = ""
    """Only in clusters with this engine; empty for any."""


class Procedure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How a sort of change is done, and taken back.

    ``bootstrap``, ``gitops`` and ``none`` are the usual ones of their sides; a hybrid takes those of both. A rule may
    name another, which then stands in place of the usual one of its side. ``machine`` is the usual one of what makes
    machines what they are, ``emergency-cluster`` and ``emergency-engine`` come first where nothing works.
    """

    id: str
    title: str
    steps: tuple[Step, ...] = ()
    rollback: tuple[Step, ...] = ()
    like: tuple[str, ...] = ()
    """Procedures whose steps, and rollback unless there is one here, are taken as well."""
    sources: tuple[str, ...] = ()


class CheckForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One item of a checklist."""

    id: str
    moment: Literal["pre", "post"]
    title: str
    says: str = ""
    """What somebody looks at where no program can."""
    usual: bool = False
    """For every change that touches a cluster; else only where a rule or a side names it."""
    sides: tuple[Literal["bootstrap", "gitops"], ...] = ()
    """Only for changes of these sides, hybrids among both; empty for all. A check with sides that is not usual is for
    every change of them."""
    sources: tuple[str, ...] = ()
