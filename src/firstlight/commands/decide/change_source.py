"""What a decision is asked about: revisions, staged changes, a patch, or files."""

import dataclasses
import re
from typing import assert_never

from firstlight import errors

_RANGE = re.compile(r"(?P<base>.*?)(?P<dots>\.{2,3})(?P<head>.*)", re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRange:
    """A revision against another one, or against the work tree."""

    base: str
    head: str = ""
    """Empty for the work tree."""
    since_fork: bool = False
    """Compare with the last commit that both have in common, as a review does."""

    @property
    def title(self) -> str:
        """What was asked."""
        if not self.head:
            return f"work tree against {self.base}"
        return f"{self.base}{'...' if self.since_fork else '..'}{self.head}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StagedChanges:
    """What ``git commit`` would commit."""

    title: str = "staged changes"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PatchFile:
    """A patch, as if it were applied to the last commit."""

    content: bytes = dataclasses.field(repr=False)
    name: str = ""

    @property
    def title(self) -> str:
        """What was asked."""
        return f"patch {self.name}" if self.name else "a patch"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """Files as they are in the work tree; one that has not changed counts as if all of it did."""

    paths: tuple[str, ...]
    """From the top of the repo; directories mean all that is in them."""

    @property
    def title(self) -> str:
        """What was asked."""
        return "1 file" if len(self.paths) == 1 else f"{len(self.paths)} files"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkTreeChanges:
    """Staged changes if there are any, else what the work tree has that its commit has not."""


ChangeSource = RevisionRange | StagedChanges | PatchFile | NamedFiles | WorkTreeChanges


def between(text: str) -> RevisionRange:
    """What was typed as ``A...B``, ``A..B`` or ``A``; an end that is left out is HEAD, as Git has it.

    Raises:
        errors.UsageError: It names nothing.
    """
    hint = "Write main...HEAD, v1..v2, or one revision to compare the work tree with."
    if not text.strip() or text.startswith("-"):
        raise errors.UsageError(f"{text!r} names no revisions", hint=hint)
    match = _RANGE.fullmatch(text)
    if match is None:
        return RevisionRange(base=text)
    if not match["base"] and not match["head"]:
        raise errors.UsageError(f"{text!r} names no revisions", hint=hint)
    return RevisionRange(base=match["base"] or "HEAD", head=match["head"] or "HEAD", since_fork=len(match["dots"]) == 3)


def options(asked: ChangeSource) -> tuple[str, ...]:
    """The options of ``firstlight decide`` to ask the same once more."""
    match asked:
        case RevisionRange():
            return "--diff", asked.title if asked.head else asked.base
        case StagedChanges():
            return ("--staged",)
        case PatchFile():
            return "--patch", asked.name or "-"
        case NamedFiles():
            return "--files", *asked.paths
        case WorkTreeChanges():
            return ()
        case _:
            assert_never(asked)


# What is known besides the change itself.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
    """What was looked up or asked; None and empty where nobody knows."""

    operational: bool | None = None
    """Whether the cluster's API answers and its nodes are ready."""
    engine_works: bool | None = None
    says: str = ""
    """How that is known, or what does not work."""
    asked: tuple[str, ...] = ()
    """How ``firstlight decide`` is asked for the same again: ``--diff``, ``main...HEAD``."""
    is_committed: bool = False
    topic: str = ""
    """The branch that the change is on."""
    revert: str = ""
    """What ``git revert`` takes it back with: commits, or a range of them; empty where merges are in between."""
    since: str = ""
    """The revision before the change."""
    looked: tuple[str, ...] = ()
    """The options by which a cluster was looked at: ``--cluster``, ``home``."""
    rules: tuple[str, ...] = ()
    """The options by which more rules were given: ``--rules``, ``strict.yaml``."""
    is_staged: bool = False
    """Whether it is what ``git commit`` would commit."""
    unaddable: frozenset[str] = frozenset()
    """Files that ``git add`` does not know: gone from the disk and from the index."""
    besides: tuple[str, ...] = ()
    """Files that belong to the change, though nothing that is told of differs in them: a kustomization that lists a
    moved file by its new name."""
    branches: frozenset[str] = frozenset()
    """All that Git knows, those of remotes as ``origin/main``."""
    holding: frozenset[str] = frozenset()
    """Those of them that have the change already."""
    mentions: tuple[str, ...] = ()
    """Where the repo still speaks of an address range that the change takes away: ``values.yaml:12``."""
