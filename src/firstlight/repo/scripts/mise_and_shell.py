"""Tasks of mise: those in its config files; its file tasks are plain scripts."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import toml_reader
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskCall, TaskDialect, shell_of_text
from firstlight.repo.work_tree import WorkTree

MISE_NAMES = (".mise.toml", "mise.toml")
DIRECTORIES = ("mise-tasks", ".mise-tasks", ".mise/tasks", ".config/mise/tasks", "mise/tasks")
"""Where file tasks are."""
MAX_SIZE = 1_000_000
"""Characters; tomllib is written in Python, and slow."""


def is_config(path: str) -> bool:
    """Whether mise finds a file by its name."""
    return posixpath.basename(path) in MISE_NAMES or path.endswith(".config/mise/config.toml")


class MiseReader:
    """Reads the tasks of mise's configs."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.tasks: list[Task] = []
        self.diagnostics: list[Diagnostic] = []

    def read(self, path: str) -> None:
        """Read a config."""
        text = self._tree.text(path)
        if text is None or "[tasks" not in text or len(text) > MAX_SIZE:
            return
        try:
            value = toml_reader.read(text)
        except toml_reader.TomlUnreadable as error:
            place = Place(path, error.line)
            self.diagnostics.append(
                Diagnostic.error("toml-wrong", "this is not TOML, so its tasks are not known", at=place)
            )
            return
        tasks = value.get("tasks")
        root = posixpath.dirname(path) or "."
        for name, spec in tasks.items() if isinstance(tasks, Mapping) else ():
            self.tasks.append(_task(path, text, str(name), spec, root=root, environment=value.get("env")))


def _task(path: str, text: str, name: str, spec: Any, *, root: str, environment: Any) -> Task:
    value = spec if isinstance(spec, Mapping) else {"run": spec}
    start = _header(text, name)
    line = text.count("\n", 0, start) + 1
    depends = value.get("depends") or ()
    needs = [depends] if isinstance(depends, str) else depends if isinstance(depends, list) else []
    directory = str(value.get("dir") or "").replace("{{config_root}}", "").replace("{{ config_root }}", "").strip("/")
    own = value.get("env")
    return Task(
        name=name,
        local=name,
        dialect=TaskDialect.MISE,
        place=Place(path, line),
        description=str(value.get("description") or ""),
        directory=posixpath.join(root, directory),
        root=root,
        exported=tuple(
            (str(key), each)
            for source in (environment, own)
            for key, each in (source.items() if isinstance(source, Mapping) else ())
            if isinstance(each, str)
        ),
        needs=tuple(TaskCall(str(each), line) for each in needs),
        body=tuple(_commands(text, value.get("run"), start)),
        is_hidden=bool(value.get("hide")),
    )


def _header(text: str, name: str) -> int:
    quoted = re.escape(name)
    found = re.search(rf"^\[tasks\.[\"']?{quoted}[\"']?\]|^\s*[\"']?{quoted}[\"']?\s*=", text, re.MULTILINE)
    return found.start() if found else 0


def _commands(text: str, run: Any, start: int) -> Iterator[Shell | TaskCall]:
    """Commands with the lines in which their texts are found; with escapes in them it is the line before."""
    commands = [run] if isinstance(run, (str, Mapping)) else run if isinstance(run, list) else []
    at = start
    for command in commands:
        if isinstance(command, Mapping):
            if isinstance(command.get("task"), str):
                yield TaskCall(command["task"], text.count("\n", 0, at) + 1)
            continue
        first = str(command).lstrip("\n").split("\n")[0]
        found = text.find(first, at) if first.strip() else -1
        at = found if found >= 0 else at
        body = str(command).lstrip("\n")
        yield shell_of_text(body, text.count("\n", 0, at) + 1)
        at += len(first)


# Plain scripts: which files they are, and each as one task.


_SUFFIXES = (".sh", ".bash", ".zsh")
_HOMES = {"scripts", "script", "bin", "hack", "bootstrap", "tools", "ci"}
"""Directories in which a file without a suffix may be a script."""


def may_be_script(path: str) -> bool:
    """Whether a file looks like a script from outside."""
    directory, name = posixpath.split(path)
    if name.endswith(_SUFFIXES):
        return True
    if "." in name.lstrip("."):
        return False
    is_task = any(f"/{each}/" in f"/{directory}/" for each in DIRECTORIES)
    return is_task or posixpath.basename(directory) in _HOMES or name.startswith("bootstrap")


def read_script(tree: WorkTree, path: str) -> Task | None:
    """A script as a task; None if it is none."""
    text = tree.text(path)
    if text is None:
        return None
    first = text.split("\n", 1)[0]
    is_shell = first.startswith("#!") and any(each in first for each in ("sh", "bats"))
    if not is_shell and not (path.endswith(_SUFFIXES) and not first.startswith("#!")):
        return None
    return Task(
        name=path,
        local=posixpath.basename(path),
        dialect=TaskDialect.SHELL,
        place=Place(path, 1),
        directory=".",
        body=(shell_of_text(text, 1),),
    )
