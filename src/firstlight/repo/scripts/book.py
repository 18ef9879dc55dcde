"""All tasks of a repo, and how they find each other."""

import posixpath
from collections.abc import Sequence

from firstlight.model.remark import Remark
from firstlight.repo import work_tree
from firstlight.repo.scripts import justfile, makefile, mise, shell_file, taskfile
from firstlight.repo.scripts.task import Dialect, Task
from firstlight.repo.work_tree import WorkTree


class Book:
    """The tasks by their names."""

    def __init__(self, tasks: Sequence[Task], remarks: Sequence[Remark] = ()) -> None:
        self.tasks = tuple(tasks)
        self.remarks = tuple(remarks)
        self._by_name: dict[tuple[Dialect, str, str], Task] = {}
        for task in tasks:
            # A later file of the same name does not replace what was read first.
            self._by_name.setdefault((task.dialect, task.root, _named(task)), task)
        self._scripts = {task.place.path: task for task in tasks if task.dialect == Dialect.SHELL}

    def called(self, caller: Task, name: str) -> Task | None:
        """The task that another one names in its own file."""
        separator = "::" if caller.dialect == Dialect.JUST else ":"
        if name.startswith(separator):
            return self.find(caller.dialect, caller.root, name[len(separator) :])
        namespace = caller.namespace
        return self.find(caller.dialect, caller.root, namespace + name) or self.find(caller.dialect, caller.root, name)

    def find(self, dialect: Dialect, root: str, name: str) -> Task | None:
        """A task by its whole name; ``default`` is what runs without a name."""
        found = self._by_name.get((dialect, root, name))
        if found is None and dialect == Dialect.TASK:
            found = self._by_name.get((dialect, root, f"{name}:default"))
        if found is None and dialect == Dialect.JUST:
            found = self._by_name.get((dialect, root, f"{name}::default"))
        if found is None and dialect == Dialect.MISE:
            paths = (posixpath.normpath(f"{root}/{each}/{name.replace(':', '/')}") for each in mise.DIRECTORIES)
            found = next((self._scripts[path] for path in paths if path in self._scripts), None)
        return found

    def root(self, dialect: Dialect, directory: str | None) -> str | None:
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
    return task.local if task.dialect == Dialect.MAKE else task.name


def read(tree: WorkTree) -> Book:
    """Every task of a repo; only files that look like one are opened."""
    files = tree.files
    taskfiles, justfiles = taskfile.Reader(tree), justfile.Reader(tree)
    makefiles, configs = makefile.Reader(tree), mise.Reader(tree)
    _roots(taskfiles, [path for path in files if taskfile.is_taskfile(path)])
    _roots(justfiles, [path for path in files if justfile.is_justfile(path)])
    for path in files:
        if makefile.is_makefile(path):
            makefiles.read(path)
        elif mise.is_config(path):
            configs.read(path)
    scripts = [task for path in files if shell_file.may_be_script(path) and (task := shell_file.read(tree, path))]
    readers = (taskfiles, justfiles, makefiles, configs)
    return Book(
        [*(task for reader in readers for task in reader.tasks), *scripts],
        [remark for reader in readers for remark in reader.remarks],
    )


def _roots(reader: taskfile.Reader | justfile.Reader, paths: Sequence[str]) -> None:
    """Read files that others include only by way of those; upper ones come first, since they include the lower ones."""
    for path in sorted(paths, key=lambda each: (each.count("/"), each)):
        if path not in reader.included:
            reader.read(path)
