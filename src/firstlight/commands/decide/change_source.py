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
