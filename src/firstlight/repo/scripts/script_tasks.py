"""Tasks: what Taskfiles, justfiles, Makefiles, mise and plain scripts have in common."""

import dataclasses
import enum
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from firstlight.model.place import Place


class TaskDialect(enum.StrEnum):
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
class TaskCall:
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
    dialect: TaskDialect
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
    needs: tuple[TaskCall, ...] = ()
    """What runs before; in no order of its own for Task."""
    body: tuple[Shell | TaskCall, ...] = ()
    is_hidden: bool = False
    """Internal or private: only called by others."""

    @property
    def key(self) -> tuple[str, int]:
        """The same for a task that is included under several names."""
        return self.place.path, self.place.line


def shell_of_text(text: str, first: int) -> Shell:
    """Text whose lines follow each other in the file."""
    return Shell(text, tuple(range(first, first + text.count("\n") + 1)))


# Which tasks are a bootstrap, and which of those that it calls are not part of it.


TaskKey = tuple[str, int]

_BOOTSTRAP = {"bootstrap", "phased", "up", "install", "deploy"}
_OF_CLUSTERS = {"create", "provision", "setup", "init", "start", "build"}
"""First words that mean a bootstrap only where a cluster is spoken of."""
_ASIDE = {
    "test", "tests", "validate", "validation", "verify", "check", "checks", "debug", "troubleshoot", "clean", "cleanup",
    "reset", "uninstall", "destroy", "delete", "remove", "teardown", "nuke", "down", "upgrade", "update", "maintenance",
    "status", "logs", "diff", "dry", "dryrun", "lint", "restore", "backup", "rollback", "fix", "repair", "reconcile",
    "restart", "suspend", "resume", "list", "show", "get", "port", "shell", "browse", "redeploy", "recover", "recovery",
    "migrate", "rotate", "format", "docs", "ci", "e2e", "benchmark", "smoke", "preflight",
}  # fmt: skip
"""First words of tasks that look, undo, or mend."""
_OLD = re.compile(r"\b(?:legacy|deprecated|obsolete|old way)\b", re.I)
_WORD = re.compile(r"[A-Za-z0-9]+")


def aside(task: Task) -> str:
    """Why a task is no part of a bootstrap, by its name; empty if it may be."""
    segments = _segments(task)
    last = _WORD.findall(segments[-1]) if segments else []
    is_aside = bool(last) and last[0].lower() in _ASIDE
    if is_aside or any(segment.lower() in _ASIDE for segment in segments[:-1]):
        return f"task {task.name} checks, changes or undoes; it deploys nothing that stays"
    return ""


def is_bootstrap(task: Task) -> bool:
    """Whether people would start a bootstrap with it."""
    if task.is_hidden or aside(task) or _OTHER.search(task.place.path):
        return False
    segments = _segments(task)
    first = [words[0].lower() for segment in segments if (words := _WORD.findall(segment))]
    if _BOOTSTRAP & set(first) or _says_bootstrap(task):
        return True
    return bool(_OF_CLUSTERS & set(first)) and any("cluster" in segment.lower() for segment in segments)


def _says_bootstrap(task: Task) -> bool:
    return any("bootstrap" in segment.lower() or "phased" in segment.lower() for segment in _segments(task))


_OTHER = re.compile(r"(?:^|/)(?:\.github|\.gitlab|\.circleci|tests?|examples?|docs|hack/test)/")


def _segments(task: Task) -> list[str]:
    if task.dialect == TaskDialect.SHELL:
        parts = task.place.path.split("/")
        return [*[each for each in parts[:-1] if each in _BOOTSTRAP or each in _ASIDE], parts[-1].split(".")[0]]
    return [each for each in re.split(r"[:/]+", task.name) if each and each != "default"] or [task.local]


def entries(tasks: Sequence[Task], calls: Mapping[TaskKey, Collection[TaskKey]]) -> list[Task]:
    """Where bootstraps start: those that reach most come first, and those that call themselves old come last.

    Args:
        tasks: All of them.
        calls: Who calls whom, by key.
    """
    called = {callee for caller, callees in calls.items() for callee in callees if callee != caller}
    candidates = {task.key: task for task in reversed(tasks) if is_bootstrap(task)}
    # Where somebody says bootstrap, "deploy" and "install" are what is done with the cluster afterwards.
    outright = {task.dialect for task in candidates.values() if _says_bootstrap(task)}
    candidates = {
        key: task for key, task in candidates.items() if task.dialect not in outright or _says_bootstrap(task)
    }
    found = {key: task for key, task in candidates.items() if key not in called}
    covered = reachable(found, calls)
    for key in sorted(candidates):
        if key not in covered:
            found[key] = candidates[key]
            covered |= reachable([key], calls)
    if not found:
        found = {task.key: task for task in reversed(tasks) if task.key not in called and not aside(task)}
    return sorted(
        found.values(),
        key=lambda task: (
            bool(_OLD.search(f"{task.name} {task.description}")),
            -len(reachable([task.key], calls)),
            task.name,
        ),
    )


def reachable(keys: Iterable[TaskKey], calls: Mapping[TaskKey, Collection[TaskKey]]) -> set[TaskKey]:
    """Everything that tasks call, directly or not, and they themselves."""
    found: set[TaskKey] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += calls.get(key, ())
    return found
