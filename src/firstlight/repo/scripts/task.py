"""Tasks: what Taskfiles, justfiles, Makefiles, mise and plain scripts have in common."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from firstlight.model.place import Place


class Dialect(enum.StrEnum):
    """Who runs a task."""

    TASK = "task"
    JUST = "just"
    MAKE = "make"
    MISE = "mise"
    SHELL = "shell"


@dataclasses.dataclass(frozen=True, slots=True)
class Shell:
    """Lines for a shell, still with the variables of their dialect."""

    text: str
    lines: tuple[int, ...]
    """For every line of the text the line of the file."""

    def line(self, number: int) -> int:
        """The line of the file for a line of the text; both count from 1."""
        return self.lines[min(max(number, 1), len(self.lines)) - 1] if self.lines else 0


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """That one task runs another."""

    name: str
    line: int
    variables: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What it is given, still with the variables of its dialect."""
    arguments: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task, recipe, target or script."""

    name: str
    """As people call it: ``bootstrap:apps``, ``bootstrap::apps``, ``scripts/bootstrap.sh``."""
    local: str
    """Its name in its own file."""
    dialect: Dialect
    place: Place
    description: str = ""
    directory: str = "."
    """Where it runs, from the repo's root; may hold variables."""
    root: str = "."
    """The directory of the file that everything starts from."""
    namespace: str = ""
    """What names of other tasks are relative to."""
    variables: tuple[tuple[str, Any], ...] = ()
    """In the order in which they are set: those of the file first."""
    overriding: tuple[tuple[str, Any], ...] = ()
    """Set after what a caller gives."""
    exported: tuple[tuple[str, Any], ...] = ()
    """What the shell sees."""
    parameters: tuple[tuple[str, Any], ...] = ()
    """Of a recipe: names with their defaults, or None."""
    required: tuple[str, ...] = ()
    """Variables that a caller must give."""
    needs: tuple[Call, ...] = ()
    """What runs before; in no order of its own for Task."""
    body: tuple[Shell | Call, ...] = ()
    is_hidden: bool = False
    """Internal or private: only called by others."""

    @property
    def key(self) -> tuple[str, int]:
        """The same for a task that is included under several names."""
        return self.place.path, self.place.line


def script(text: str, first: int) -> Shell:
    """Text whose lines follow each other in the file."""
    return Shell(text, tuple(range(first, first + text.count("\n") + 1)))
