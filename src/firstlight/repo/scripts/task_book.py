"""All tasks of a repo, and how they find each other."""

import dataclasses
import posixpath
import re
from collections.abc import Sequence

from firstlight.model.diagnostic import Diagnostic
from firstlight.repo import work_tree
from firstlight.repo.scripts import justfile, makefile, mise_and_shell, taskfile
from firstlight.repo.scripts.command_context import Invocation
from firstlight.repo.scripts.script_tasks import Task, TaskDialect
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText
from firstlight.repo.work_tree import WorkTree


class TaskBook:
    """The tasks by their names."""

    def __init__(self, tasks: Sequence[Task], diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.tasks = tuple(tasks)
        self.diagnostics = tuple(diagnostics)
        self._by_name: dict[tuple[TaskDialect, str, str], Task] = {}
        for task in tasks:
            # A later file of the same name does not replace what was read first.
            self._by_name.setdefault((task.dialect, task.root, _named(task)), task)
        self._scripts = {task.place.path: task for task in tasks if task.dialect == TaskDialect.SHELL}

    def called(self, caller: Task, name: str) -> Task | None:
        """The task that another one names in its own file."""
        separator = "::" if caller.dialect == TaskDialect.JUST else ":"
        if name.startswith(separator):
            return self.find(caller.dialect, caller.root, name[len(separator) :])
        namespace = caller.namespace
        return self.find(caller.dialect, caller.root, namespace + name) or self.find(caller.dialect, caller.root, name)

    def find(self, dialect: TaskDialect, root: str, name: str) -> Task | None:
        """A task by its whole name; ``default`` is what runs without a name."""
        found = self._by_name.get((dialect, root, name))
        if found is None and dialect == TaskDialect.TASK:
            found = self._by_name.get((dialect, root, f"{name}:default"))
        if found is None and dialect == TaskDialect.JUST:
            found = self._by_name.get((dialect, root, f"{name}::default"))
        if found is None and dialect == TaskDialect.MISE:
            paths = (
                posixpath.normpath(f"{root}/{each}/{name.replace(':', '/')}") for each in mise_and_shell.DIRECTORIES
            )
            found = next((self._scripts[path] for path in paths if path in self._scripts), None)
        return found

    def root(self, dialect: TaskDialect, directory: str | None) -> str | None:
        """The nearest directory, upwards, that has a file of a dialect."""
        roots = {task.root for task in self.tasks if task.dialect == dialect}
        at = directory if directory is not None else "."
        while True:
            if at in roots:
                return at
            if at in ("", "."):
                return next(iter(roots)) if len(roots) == 1 else None
            at = posixpath.dirname(at) or "."

    def script(self, directory: str | None, path: str) -> Task | None:
        """A script by its path."""
        joined = work_tree.join(directory or ".", path)
        return self._scripts.get(joined) if joined is not None else None


def _named(task: Task) -> str:
    return task.local if task.dialect == TaskDialect.MAKE else task.name


def read_tasks(tree: WorkTree) -> TaskBook:
    """Every task of a repo; only files that look like one are opened."""
    files = tree.current_files
    taskfiles, justfiles = taskfile.TaskfileReader(tree), justfile.JustfileReader(tree)
    makefiles, configs = makefile.MakefileReader(tree), mise_and_shell.MiseReader(tree)
    _roots(taskfiles, [path for path in files if taskfile.is_taskfile(path)])
    _roots(justfiles, [path for path in files if justfile.is_justfile(path)])
    for path in files:
        if makefile.is_makefile(path):
            makefiles.read(path)
        elif mise_and_shell.is_config(path):
            configs.read(path)
    scripts = [
        task
        for path in files
        if mise_and_shell.may_be_script(path) and (task := mise_and_shell.read_script(tree, path))
    ]
    readers = (taskfiles, justfiles, makefiles, configs)
    return TaskBook(
        [*(task for reader in readers for task in reader.tasks), *scripts],
        [diagnostic for reader in readers for diagnostic in reader.diagnostics],
    )


def _roots(reader: taskfile.TaskfileReader | justfile.JustfileReader, paths: Sequence[str]) -> None:
    """Read files that others include only by way of those; upper ones come first, since they include the lower ones."""
    for path in sorted(paths, key=lambda each: (each.count("/"), each)):
        if path not in reader.included:
            reader.read(path)


# Command lines that run other tasks: ``task x``, ``just x``, ``make x``, ``mise run x``, ``./x.sh``.


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VALUED = {
    "task": {"-d", "--dir", "-t", "--taskfile", "-o", "--output", "-C", "--concurrency", "-I", "--interval"},
    "just": {"-f", "--justfile", "-d", "--working-directory", "--shell", "--set", "--color", "--chooser", "-E"},
    "make": {"-C", "-f", "-j", "-I", "-o", "-W", "--directory", "--file"},
    "mise": {"-C", "--cd", "-j", "--jobs", "-e", "--env"},
}
_SHELLS = {"bash", "sh", "zsh", "source", "."}
_DIALECTS = {"task": TaskDialect.TASK, "go-task": TaskDialect.TASK, "just": TaskDialect.JUST, "make": TaskDialect.MAKE,
             "gmake": TaskDialect.MAKE, "mise": TaskDialect.MISE}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class CalledTasks:
    """Tasks that a command line runs, one after the other."""

    tasks: tuple[tuple[Task, tuple[ExpandedText, ...]], ...]
    """With their arguments."""
    variables: dict[str, ExpandedText] = dataclasses.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Tasks and scripts that are not there, as people call them."""
    is_sourced: bool = False


def called_tasks(book: TaskBook, invocation: Invocation) -> CalledTasks | None:
    """What a command line runs; None if it runs no task."""
    program = "make" if invocation.program == "gmake" else invocation.program
    if program in _DIALECTS:
        return _runner(book, invocation, "task" if program == "go-task" else program)
    if program in _SHELLS and len(invocation.words) > 1:
        arguments = [word for word in invocation.words[1:] if not word.text.startswith("-")]
        return _script(book, invocation, arguments, is_sourced=program in ("source", ".")) if arguments else None
    if invocation.words and "/" in invocation.words[0].text:
        return _script(book, invocation, list(invocation.words), is_sourced=False)
    return None


def _script(
    book: TaskBook, invocation: Invocation, words: list[ExpandedText], *, is_sourced: bool
) -> CalledTasks | None:
    path = words[0].text
    relative = path[len(REPO) :].lstrip("/") if path.startswith(REPO) else path
    task = book.script("." if path.startswith(REPO) else invocation.directory, relative)
    if task is not None:
        return CalledTasks(((task, tuple(words[1:])),), is_sourced=is_sourced)
    is_missing = words[0].is_known and path.startswith(("./", "../", REPO)) and path.endswith((".sh", ".bash", ".py"))
    return CalledTasks((), missing=(f"the script {posixpath.normpath(relative)}",)) if is_missing else None


def _runner(book: TaskBook, invocation: Invocation, program: str) -> CalledTasks | None:
    words = list(invocation.words[1:])
    directory = invocation.directory
    variables: dict[str, ExpandedText] = {}
    names: list[ExpandedText] = []
    if program == "mise":
        if not words or words[0].text not in ("run", "r"):
            return None
        words.pop(0)
    while words:
        word = words.pop(0)
        flag, _, attached = word.text.partition("=")
        if word.text == "--":
            break
        if flag.startswith("-"):
            value = ExpandedText(attached) if attached else words.pop(0) if flag in _VALUED[program] and words else None
            if value is not None and flag in ("-d", "--dir", "-C", "--directory", "--cd", "--working-directory"):
                directory = posixpath.normpath(posixpath.join(directory or ".", value.text.replace(f"{REPO}/", "")))
            elif value is not None and flag in ("-t", "--taskfile", "-f", "--justfile", "--file"):
                directory = (
                    posixpath.dirname(posixpath.join(directory or ".", value.text.replace(f"{REPO}/", ""))) or "."
                )
            continue
        assignment = _ASSIGNMENT.fullmatch(word.text)
        if assignment is not None and (program != "just" or not names):
            variables[assignment[1]] = ExpandedText(assignment[2], word.unknowns)
        else:
            names.append(word)
    return _calls_named(book, program, directory, names, variables)


def _calls_named(
    book: TaskBook, program: str, directory: str | None, names: list[ExpandedText], variables: dict[str, ExpandedText]
) -> CalledTasks | None:
    dialect = _DIALECTS[program]
    root = book.root(dialect, directory)
    if root is None:
        return None
    if program == "just":
        return _just(book, root, names, variables)
    tasks: list[tuple[Task, tuple[ExpandedText, ...]]] = []
    missing: list[str] = []
    for name in names or [ExpandedText("default")]:
        task = book.find(dialect, root, name.text.removeprefix(":")) if name.is_known else None
        if task is not None:
            tasks.append((task, ()))
        elif names:
            missing.append(f"the task {name.text}")
        if program == "mise":
            break
    return CalledTasks(tuple(tasks), variables, tuple(missing))


def _just(
    book: TaskBook, root: str, names: list[ExpandedText], variables: dict[str, ExpandedText]
) -> CalledTasks | None:
    """``just recipe arguments`` or ``just module recipe arguments``."""
    if not names:
        return None
    for length in range(min(len(names), 4), 0, -1):
        name = "::".join(each.text for each in names[:length])
        task = book.find(TaskDialect.JUST, root, name)
        if task is not None:
            return CalledTasks(((task, tuple(names[length:])),), variables)
    return CalledTasks((), variables, (f"the recipe {names[0].text}",))
