"""What a script does, command by command; components are only some of it."""

import dataclasses
import enum
import posixpath
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, ObjectId, Origin, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import SeveralSources, Source
from firstlight.repo import work_tree
from firstlight.repo.scripts import masked_lines
from firstlight.repo.scripts.command_line import Invocation
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText
from firstlight.repo.work_tree import WorkTree


class StepRole(enum.StrEnum):
    """What a command is for."""

    DEPLOY = "deploy"
    """It brings something into the cluster."""
    GATE = "gate"
    """It waits or looks."""
    CHANGE = "change"
    """It changes or removes what is there: patch, delete, restart, uninstall."""
    MACHINE = "machine"
    """It acts on machines: talosctl, talhelper, omnictl."""
    SECRET = "secret"  # noqa: S105 (a role, not a password)
    """It reads or decrypts secrets: op, sops."""
    SUPPORT = "support"
    """It prepares for others: helm repo add, a template that somebody else applies."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStep:
    """One command of a script that is understood."""

    place: Place
    kind: str
    """The program with its subcommand: ``talosctl bootstrap``, ``kubectl apply``."""
    role: StepRole
    args: tuple[str, ...]
    """The arguments, with secrets masked and variables as far as they are known."""
    task: str
    """The task, recipe, target or script that it stands in."""
    is_reached: bool
    """Whether a bootstrap leads here."""
    unknowns: tuple[str, ...] = ()
    """Variables that only a run would tell."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HelmfileCall:
    """A command that runs helmfile."""

    place: Place
    files: tuple[str, ...]
    """Files or directories of the repo; empty where they are not known."""
    environment: str = ""
    verb: str
    """``apply``, ``sync``, ``template`` …"""
    is_crds: bool = False
    """Whether only the CRDs of what it renders are applied."""
    is_reached: bool
    task: str
    needs: tuple[str, ...] = ()
    """Ids of what runs before it."""
    doubt: str = ""


# Paths of commands, looked up in the repo.


_UNKNOWN_HEAD = re.compile(r"(?:\$\{?\w+\}?|\$\([^()]*\)|\{\{[^{}]*\}\})/")
_UNKNOWN_PART = re.compile(r"\$\{?\w+\}?|\{\{[^{}]*\}\}")
_MAX_ALIKE = 1_000
"""Files of one name that are compared; there may be many a kustomization.yaml."""


@dataclasses.dataclass(frozen=True, slots=True)
class FoundPath:
    """A path of the repo, or why there is none."""

    path: str = ""
    """From the root; empty if it is not in the repo."""
    doubt: str = ""
    """Why that may be wrong, or why there is none."""


class PathLookup:
    """Finds what commands call by a path."""

    def __init__(self, tree: WorkTree) -> None:
        self.tree = tree

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Files and directories by the last part of their path."""
        found: dict[str, list[str]] = {}
        directories: set[str] = set()
        for path in self.tree.files:
            found.setdefault(posixpath.basename(path), []).append(path)
            parent = posixpath.dirname(path)
            while parent and parent not in directories:
                directories.add(parent)
                found.setdefault(posixpath.basename(parent), []).append(parent)
                parent = posixpath.dirname(parent)
        return found

    def find(self, directory: str | None, path: ExpandedText) -> FoundPath:
        """Find a path as it is written in a script that runs in a directory.

        One that begins with a variable, such as ``$ROOT/apps/x.yaml``, is taken for the only one that ends like it.
        """
        written = path.text.strip()
        if not path.is_known:
            return self._with_variable(written, path.unknowns)
        if written.startswith(REPO):
            joined: str | None = posixpath.normpath(written[len(REPO) :].strip("/") or ".")
        elif written.startswith(("/", "~")):
            return FoundPath(doubt=f"{written} is outside of the repo")
        elif directory is None:
            return self._by_ending(written.removeprefix("./"), "the directory that it runs in is not known")
        else:
            joined = work_tree.join(directory, written)
        if joined is None or joined.startswith(".."):
            return FoundPath(doubt=f"{written} is outside of the repo")
        if self.tree.is_file(joined) or self.tree.is_dir(joined):
            return FoundPath(joined)
        return FoundPath(doubt=f"{joined} is not in the repo")

    def _with_variable(self, written: str, unknowns: tuple[str, ...]) -> FoundPath:
        doubt = f"{', '.join(unknowns)} is only known when it runs"
        head = _UNKNOWN_HEAD.match(written)
        rest = written[head.end() :] if head else written
        if "$" in rest or "{{" in rest or "`" in rest:
            return self._alike(rest.replace(f"{REPO}/", ""), doubt)
        return self._by_ending(rest, doubt)

    def _alike(self, written: str, doubt: str) -> FoundPath:
        """What has anything in the place of variables that stand between slashes."""
        parts = [_UNKNOWN_PART.sub("*", part) for part in posixpath.normpath(written).split("/")]
        if "*" in parts[-1] or any("*" in part and part != "*" for part in parts) or any("$" in part for part in parts):
            return FoundPath(doubt=doubt)
        alike = self._by_name.get(parts[-1], [])[:_MAX_ALIKE]
        matches = [each for each in alike if _fits(each.split("/"), parts)]
        if len(matches) == 1:
            return FoundPath(matches[0], f"{doubt}; {matches[0]} is the only one that fits")
        return FoundPath(doubt=f"{doubt}: it may be {' or '.join(matches[:3])}" if matches else doubt)

    def _by_ending(self, ending: str, doubt: str) -> FoundPath:
        ending = posixpath.normpath(ending)
        if ending.startswith("..") or "/" not in ending:
            return FoundPath(doubt=doubt)
        alike = self._by_name.get(posixpath.basename(ending), [])[:_MAX_ALIKE]
        matches = [each for each in alike if f"/{each}".endswith(f"/{ending}")]
        if len(matches) == 1:
            return FoundPath(matches[0], f"{doubt}; {matches[0]} is the only one that ends like it")
        return FoundPath(doubt=doubt)


def _fits(path: list[str], pattern: list[str]) -> bool:
    """Whether a path ends like a pattern, in which ``*`` stands for any part."""
    tail = path[-len(pattern) :]
    return len(tail) == len(pattern) and all(one in ("*", other) for one, other in zip(pattern, tail, strict=True))


# What the readers of command lines share: where paths lead, which repositories are known, and what they found.


_RUNS = " is only known when it runs"
PLACEHOLDER = "?"
"""A name that only a run would tell."""


@dataclasses.dataclass(slots=True)
class CommandContext:
    """Shared by everything that reads command lines of one repo."""

    lookup: PathLookup
    clusters: frozenset[str] = frozenset()
    """Names that clusters may have; a kubectl context that is none of them says nothing."""
    repositories: dict[str, tuple[str, Place]] = dataclasses.field(default_factory=dict)
    """What ``helm repo add`` says: URLs by name."""
    made: dict[str, tuple[Invocation, ...]] = dataclasses.field(default_factory=dict)
    """Files that commands wrote, and how."""

    def cluster(self, *hints: str) -> str:
        """The cluster that a context or environment names."""
        for hint in hints:
            for name in (hint, hint.rpartition("@")[2]):
                if name in self.clusters:
                    return name
        return ""


@dataclasses.dataclass(frozen=True, slots=True)
class CommandReading:
    """What one command line means."""

    kind: str
    role: StepRole
    origin: Origin | None = None
    cluster: Cluster | None = None
    helmfile: HelmfileCall | None = None


def command_origin(
    pipeline: Sequence[Invocation],
    *,
    form: SourceForm,
    name: str,
    source: Source | SeveralSources,
    namespace: str = "",
    phase: Phase = Phase.CORE,
    version: str = "",
    cluster: str = "",
    objects: Sequence[ObjectId] = (),
    doubts: Sequence[str] = (),
    definition: dict[str, Any] | None = None,
) -> Origin:
    """An origin for a command; its needs are added later."""
    unknowns = tuple(dict.fromkeys(each for invocation in pipeline for each in invocation.unknowns))
    why = [f"{', '.join(unknowns)}{_RUNS}"] if unknowns else []
    said = [f"{', '.join(unknowns)}{_RUNS}", *(f"{each}{_RUNS}" for each in unknowns)]
    reasons = [*why, *(each for each in doubts if each and each not in said)]
    made = Origin(
        form=form,
        side=Side.BOOTSTRAP,
        place=pipeline[0].place,
        name=name or PLACEHOLDER,
        namespace=namespace,
        cluster=cluster,
        phase=phase,
        source=source,
        version=version,
        certainty=Certainty.GUESSED if reasons else Certainty.PARSED,
        doubt="; ".join(dict.fromkeys(reasons)),
        objects=tuple(objects),
        definition=definition or {},
        command=masked_lines.masked_line([invocation.written for invocation in pipeline]),
    )
    return masked_lines.plain_origin(made)
