"""The form of procedures and checklists, as they are written in YAML."""

import re
import typing
from typing import Literal

import msgspec

from firstlight.model.decision import Moment

Stage = Literal["prepare", "branch", "add", "check", "commit", "bootstrap", "merge", "engine", "verify"]
"""When a step comes. Steps of several procedures are put together by this, each once; bootstrap's half stands before
the merge, since what the engine applies may need it. What is committed already is neither added nor committed."""
STAGES: tuple[Stage, ...] = typing.get_args(Stage)

Each = Literal[
    "", "cluster", "machine", "component", "components", "inline", "kustomization", "helmrelease", "application"
]
"""For each of which a step is written; where there is none, the step falls away. ``components`` is all that a cluster
has of them at once, ``inline`` a component that stands inline in a machine config."""

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "": ("branch", "topic", "fresh", "files", "asked", "revert", "since"),
    "cluster": ("cluster",),
    "machine": ("cluster", "machine", "address"),
    "component": ("cluster", "component", "version", "dependents"),
    "components": ("cluster", "components"),
    "inline": ("cluster", "component"),
    "kustomization": ("cluster", "component", "name", "namespace"),
    "helmrelease": ("cluster", "component", "name", "namespace"),
    "application": ("cluster", "component", "name", "namespace", "policy"),
}
"""What can stand in braces. ``branch`` is what the engine follows, ``topic`` the branch of the change, ``fresh`` its
name where it has to be made first, ``files`` all changed files, ``asked`` the options that ``firstlight decide`` was
asked with, ``revert`` the commits to take back, ``since`` the revision before them, ``policy`` what an Application's
``--sync-policy`` is set to, with the flags that belong to it; a step whose command names a
topic, fresh branch or files falls away where there is none. In commands all are quoted for a shell, and
``{--only components}`` has the option before each of them. Those of "" can stand anywhere.
"""
PLACEHOLDER = re.compile(r"\{(?:(?P<option>--[a-z-]+) )?(?P<name>\w+)\}")


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
    moment: Moment
    title: str
    says: str = ""
    """What somebody looks at where no program can."""
    usual: bool = False
    """For every change that touches a cluster; else only where a rule or a side names it."""
    sides: tuple[Literal["bootstrap", "gitops"], ...] = ()
    """Only for changes of these sides, hybrids among both; empty for all. A check with sides that is not usual is for
    every change of them."""
    sources: tuple[str, ...] = ()
