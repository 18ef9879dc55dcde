"""Commands of scripts: their words and flags, what they do, and the paths and repositories that they share."""

import dataclasses
import enum
import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, ObjectId, Origin, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.source import SeveralSources, Source
from firstlight.repo import work_tree
from firstlight.repo.scripts import masked_lines
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, slots=True)
class Feed:
    """What a program reads from its standard input, if the script itself says it."""

    text: ExpandedText
    line: int
    """Of its first line, in the file; 0 for a file that is read."""
    is_file: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One program with its arguments."""

    words: tuple[ExpandedText, ...]
    """The program first; what only runs others (sudo, mise exec …) is taken off."""
    written: tuple[ExpandedText, ...]
    """All words, as they stand there."""
    place: Place
    directory: str | None
    """Where it runs, from the repo's root; None if that is not known."""
    feed: Feed | None = None
    output: ExpandedText | None = None
    """The file that its output goes to."""
    inner: Mapping[str, tuple["Invocation", ...]] = dataclasses.field(default_factory=dict)
    """The commands of ``<(…)``, by the word as it is written."""

    @property
    def program(self) -> str:
        """Its name, without a path."""
        return posixpath.basename(self.words[0].text) if self.words else ""

    @property
    def unknowns(self) -> tuple[str, ...]:
        """Variables that only a run would tell."""
        return tuple(dict.fromkeys(name for word in self.words for name in word.unknowns))


# Command lines of Go programs: flags with and without values, and what is neither.


@dataclasses.dataclass(frozen=True, slots=True)
class Flags:
    """A command line in its parts."""

    positional: tuple[ExpandedText, ...]
    values: Mapping[str, tuple[ExpandedText, ...]]
    """By the long name, without dashes; a flag without a value has an empty one."""

    def has(self, name: str) -> bool:
        """Whether a switch is on."""
        return name in self.values and self.values[name][-1].text != "false"

    def one(self, name: str) -> ExpandedText:
        """The last value of a flag; an empty one if it is not given."""
        return self.values[name][-1] if name in self.values else ExpandedText("")

    def all(self, *names: str) -> tuple[ExpandedText, ...]:
        """All values of flags."""
        return tuple(each for name in names for each in self.values.get(name, ()))


def flag_names(text: str) -> frozenset[str]:
    """Names of flags, separated by space."""
    return frozenset(text.split())


def parse_flags(words: Sequence[ExpandedText], *, valued: Collection[str], short: Mapping[str, str]) -> Flags:
    """Take a command line apart.

    Args:
        words: Without the program and its subcommands.
        valued: Long names of flags that take a value.
        short: Short names with their long ones.
    """
    positional: list[ExpandedText] = []
    values: dict[str, list[ExpandedText]] = {}
    left = list(words)
    at = 0
    while at < len(left):
        word = left[at]
        at += 1
        text = word.text
        if text == "--":
            positional += left[at:]
            break
        if not text.startswith("-") or text == "-":
            positional.append(word)
            continue
        name, equals, attached = text.lstrip("-").partition("=")
        value: ExpandedText | None = ExpandedText(attached, word.unknowns) if equals else None
        if not text.startswith("--"):
            letters = text[1:]
            while len(letters) > 1 and letters[1] != "=" and short.get(letters[0], letters[0]) not in valued:
                # Several switches in one word, such as -it; the last one may take a value.
                values.setdefault(short.get(letters[0], letters[0]), []).append(ExpandedText(""))
                letters = letters[1:]
            name = short.get(letters[0], letters[0])
            if len(letters) > 1 and not equals:
                value = ExpandedText(letters[1:], word.unknowns)
        if value is None and name in valued and at < len(left):
            value = left[at]
            at += 1
        values.setdefault(name, []).append(value if value is not None else ExpandedText(""))
    return Flags(tuple(positional), {name: tuple(each) for name, each in values.items()})


# What command lines do.


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
