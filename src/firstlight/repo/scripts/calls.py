"""Command lines that run other tasks: ``task x``, ``just x``, ``make x``, ``mise run x``, ``./x.sh``."""

import dataclasses
import posixpath
import re

from firstlight.repo.scripts.book import Book
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import REPO, Text
from firstlight.repo.scripts.task import Dialect, Task

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VALUED = {
    "task": {"-d", "--dir", "-t", "--taskfile", "-o", "--output", "-C", "--concurrency", "-I", "--interval"},
    "just": {"-f", "--justfile", "-d", "--working-directory", "--shell", "--set", "--color", "--chooser", "-E"},
    "make": {"-C", "-f", "-j", "-I", "-o", "-W", "--directory", "--file"},
    "mise": {"-C", "--cd", "-j", "--jobs", "-e", "--env"},
}
_SHELLS = {"bash", "sh", "zsh", "source", "."}
_DIALECTS = {"task": Dialect.TASK, "go-task": Dialect.TASK, "just": Dialect.JUST, "make": Dialect.MAKE,
             "gmake": Dialect.MAKE, "mise": Dialect.MISE}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Called:
    """Tasks that a command line runs, one after the other."""

    tasks: tuple[tuple[Task, tuple[Text, ...]], ...]
    """With their arguments."""
    variables: dict[str, Text] = dataclasses.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Tasks and scripts that are not there, as people call them."""
    is_sourced: bool = False


def recognise(book: Book, invocation: Invocation) -> Called | None:
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


def _script(book: Book, invocation: Invocation, words: list[Text], *, is_sourced: bool) -> Called | None:
    path = words[0].text
    relative = path[len(REPO) :].lstrip("/") if path.startswith(REPO) else path
    task = book.script("." if path.startswith(REPO) else invocation.directory, relative)
    if task is not None:
        return Called(((task, tuple(words[1:])),), is_sourced=is_sourced)
    is_missing = words[0].is_known and path.startswith(("./", "../", REPO)) and path.endswith((".sh", ".bash", ".py"))
    return Called((), missing=(f"the script {posixpath.normpath(relative)}",)) if is_missing else None


def _runner(book: Book, invocation: Invocation, program: str) -> Called | None:
    words = list(invocation.words[1:])
    directory = invocation.directory
    variables: dict[str, Text] = {}
    names: list[Text] = []
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
            value = Text(attached) if attached else words.pop(0) if flag in _VALUED[program] and words else None
            if value is not None and flag in ("-d", "--dir", "-C", "--directory", "--cd", "--working-directory"):
                directory = posixpath.normpath(posixpath.join(directory or ".", value.text.replace(f"{REPO}/", "")))
            elif value is not None and flag in ("-t", "--taskfile", "-f", "--justfile", "--file"):
                directory = (
                    posixpath.dirname(posixpath.join(directory or ".", value.text.replace(f"{REPO}/", ""))) or "."
                )
            continue
        assignment = _ASSIGNMENT.fullmatch(word.text)
        if assignment is not None and (program != "just" or not names):
            variables[assignment[1]] = Text(assignment[2], word.unknowns)
        else:
            names.append(word)
    return _named(book, program, directory, names, variables)


def _named(
    book: Book, program: str, directory: str | None, names: list[Text], variables: dict[str, Text]
) -> Called | None:
    dialect = _DIALECTS[program]
    root = book.root(dialect, directory)
    if root is None:
        return None
    if program == "just":
        return _just(book, root, names, variables)
    tasks: list[tuple[Task, tuple[Text, ...]]] = []
    missing: list[str] = []
    for name in names or [Text("default")]:
        task = book.find(dialect, root, name.text.removeprefix(":")) if name.is_known else None
        if task is not None:
            tasks.append((task, ()))
        elif names:
            missing.append(f"the task {name.text}")
        if program == "mise":
            break
    return Called(tuple(tasks), variables, tuple(missing))


def _just(book: Book, root: str, names: list[Text], variables: dict[str, Text]) -> Called | None:
    """``just recipe arguments`` or ``just module recipe arguments``."""
    if not names:
        return None
    for length in range(min(len(names), 4), 0, -1):
        name = "::".join(each.text for each in names[:length])
        task = book.find(Dialect.JUST, root, name)
        if task is not None:
            return Called(((task, tuple(names[length:])),), variables)
    return Called((), variables, (f"the recipe {names[0].text}",))
