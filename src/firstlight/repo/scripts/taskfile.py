"""Taskfiles of Task (taskfile.dev), with what they include."""

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template, work_tree
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskCall, TaskDialect, shell_of_text
from firstlight.repo.scripts.shell.shell_expansion import REPO
from firstlight.repo.work_tree import WorkTree

NAMES = ("Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml",
         "Taskfile.dist.yaml", "taskfile.dist.yaml")  # fmt: skip
"""In the order in which Task looks for them."""
MAX_INCLUDES = 500
"""Files that one Taskfile may include, each counted as often as it is included."""
MAX_TURNS = 50
"""Of a ``for`` with a list."""
_BLOCK = re.compile(r"(?:^|[:\s-])[|>][+-]?\d?[+-]?\s*(?:#.*)?$")


def is_taskfile(path: str) -> bool:
    """Whether Task finds a file by its name."""
    return posixpath.basename(path) in NAMES


class TaskfileReader:
    """Reads Taskfiles; each file once for every name that it is included under."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.tasks: list[Task] = []
        self.included: set[str] = set()
        """Files that others include."""
        self.diagnostics: list[Diagnostic] = []
        self._left = MAX_INCLUDES
        self._documents: dict[str, YamlDocument | None] = {}

    def read(self, path: str) -> None:
        """Read a Taskfile that nobody includes."""
        self._left = MAX_INCLUDES
        root = posixpath.dirname(path) or "."
        self._file(path, root=root, directory=root, namespace="", inherited=(), seen=(path,))

    def _file(
        self,
        path: str,
        *,
        root: str,
        directory: str,
        namespace: str,
        inherited: tuple[tuple[str, Any], ...],
        seen: tuple[str, ...],
    ) -> None:
        document = self._document(path)
        if document is None or not isinstance(document.value, Mapping):
            return
        value = document.value
        own = (*inherited, *_pairs(value.get("vars")))
        here = posixpath.dirname(path) or "."
        special = (
            ("ROOT_DIR", posixpath.normpath(f"{REPO}/{root}")),
            ("TASKFILE_DIR", posixpath.normpath(f"{REPO}/{here}")),
            ("USER_WORKING_DIR", posixpath.normpath(f"{REPO}/{root}")),
        )
        tasks = value.get("tasks")
        for name, body in tasks.items() if isinstance(tasks, Mapping) else ():
            self.tasks.append(
                _task(
                    document,
                    str(name),
                    body,
                    variables=(*special, *own),
                    exported=_pairs(value.get("env")),
                    directory=directory,
                    root=root,
                    namespace=namespace,
                )
            )
        includes = value.get("includes")
        for name, include in includes.items() if isinstance(includes, Mapping) else ():
            self._include(document, str(name), include, root, directory, namespace, own, seen)

    def _document(self, path: str) -> YamlDocument | None:
        """A file as Task reads it: ``yes`` and ``on`` are texts."""
        if path not in self._documents:
            data = self._tree.bytes(path)
            contents = yaml_reader.read(data, path, dialect=yaml_reader.YamlDialect.TALOS) if data is not None else None
            self.diagnostics += contents.diagnostics if contents is not None else ()
            self._documents[path] = contents.documents[0] if contents is not None and contents.documents else None
        return self._documents[path]

    def _include(
        self,
        document: YamlDocument,
        name: str,
        include: Any,
        root: str,
        directory: str,
        namespace: str,
        own: tuple[tuple[str, Any], ...],
        seen: tuple[str, ...],
    ) -> None:
        spec = include if isinstance(include, Mapping) else {"taskfile": include}
        place = document.place("includes", name)
        here = posixpath.dirname(document.path) or "."
        written = str(spec.get("taskfile") or spec.get("file") or "")
        try:
            target = go_template.render(
                written, {**dict(own), "ROOT_DIR": f"{REPO}/{root}"}, missing_key=go_template.MissingKey.UNKNOWN
            )
        except go_template.GoTemplateError as error:
            self.diagnostics.append(
                Diagnostic.unknown(
                    "taskfile-path-unknown", f"the Taskfile {written} is not known: {error.reason}", at=place
                )
            )
            return
        if "://" in target:
            self.diagnostics.append(
                Diagnostic.unknown("taskfile-not-in-repo", f"the Taskfile {written} is not in the repo", at=place)
            )
            return
        path = self._locate(here, target)
        if path is None:
            if not spec.get("optional"):
                self.diagnostics.append(self._missing(here, target, written, place))
            return
        self.included.add(path)
        self._left -= 1
        if path in seen or self._left < 0:
            code, why = ("taskfile-circular", "it includes itself")
            if path not in seen:
                code, why = ("taskfile-too-many-includes", f"more than {MAX_INCLUDES} files are included")
            self.diagnostics.append(Diagnostic.error(code, f"{written} is not read again: {why}", at=place))
            return
        inner = directory
        if spec.get("dir"):
            inner = work_tree.join(here, str(spec["dir"]).replace(f"{REPO}/", "")) or directory
        full = namespace if spec.get("flatten") else f"{namespace}{name}:"
        given = _pairs(spec.get("vars"))
        self._file(path, root=root, directory=inner, namespace=full, inherited=(*own, *given), seen=(*seen, path))

    def _locate(self, here: str, target: str) -> str | None:
        if not target:
            return None
        joined = target[len(REPO) :].strip("/") or "." if target.startswith(REPO) else work_tree.join(here, target)
        if joined is None:
            return None
        joined = posixpath.normpath(joined)
        if self._tree.is_file(joined):
            return joined
        candidates = [posixpath.normpath(f"{joined}/{name}") for name in NAMES]
        return next((each for each in candidates if self._tree.is_file(each)), None)

    def _missing(self, here: str, target: str, written: str, place: Place) -> Diagnostic:
        """Where only the case of letters differs, it works on file systems that do not tell it apart."""
        joined = (work_tree.join(here, target) or "").lower()
        names = {joined, *(posixpath.normpath(f"{joined}/{name}").lower() for name in NAMES)}
        found = next((each for each in self._tree.files if joined and each.lower() in names), "")
        if found:
            message = f"the Taskfile is called {found}, not {written}: only file systems that ignore case find it"
            return Diagnostic.warning("taskfile-missing", message, at=place, fix=f"Write {found}.")
        fix = "Task fails here; say optional: true if that is meant."
        return Diagnostic.error("taskfile-missing", place.describe_missing(written, verb="includes"), at=place, fix=fix)


def _pairs(value: Any) -> tuple[tuple[str, Any], ...]:
    """Variables as Task declares them: a template, a command whose output is not known, or a value."""
    if not isinstance(value, Mapping):
        return ()
    found: list[tuple[str, Any]] = []
    for name, each in value.items():
        if isinstance(each, Mapping):
            if "sh" in each:
                reason = "it is the output of a command"
                each = go_template.Unknown(f"{{{{.{name}}}}}", reason, name=f".{name}")
            elif "ref" in each:
                each = f"{{{{{each['ref']}}}}}"
            else:
                each = each.get("map", each)
        found.append((str(name), each))
    return tuple(found)


def _task(
    document: YamlDocument,
    name: str,
    body: Any,
    *,
    variables: tuple[tuple[str, Any], ...],
    exported: tuple[tuple[str, Any], ...],
    directory: str,
    root: str,
    namespace: str,
) -> Task:
    spec = body if isinstance(body, Mapping) else {"cmds": body}
    steps: tuple[str | int, ...] = ("tasks", name)
    requires = spec.get("requires")
    wanted = requires.get("vars") if isinstance(requires, Mapping) else None
    required = [each.get("name") if isinstance(each, Mapping) else each for each in wanted or ()]
    given = spec.get("dir")
    commands = spec.get("cmds")
    is_short = not isinstance(body, Mapping)
    return Task(
        name=f"{namespace}{name}",
        local=name,
        dialect=TaskDialect.TASK,
        place=document.place(*steps),
        description=" ".join(str(spec.get(each) or "") for each in ("desc", "summary")).strip(),
        directory=str(given) if given and _is_absolute(given) else posixpath.join(directory, str(given or "")),
        root=root,
        namespace=namespace,
        variables=(*variables, ("TASK", f"{namespace}{name}")),
        overriding=_pairs(spec.get("vars")),
        exported=(*exported, *_pairs(spec.get("env"))),
        required=tuple(str(each) for each in required if each),
        needs=tuple(
            each
            for each in _commands(document, (*steps, "deps"), spec.get("deps"), is_deps=True)
            if isinstance(each, TaskCall)
        ),
        body=(
            *_commands(document, (*steps, "cmd"), [spec["cmd"]] if "cmd" in spec else None, is_single=True),
            *_commands(
                document, steps if is_short else (*steps, "cmds"), commands, is_single=isinstance(commands, str)
            ),
        ),
        is_hidden=bool(spec.get("internal")),
    )


def _is_absolute(path: Any) -> bool:
    return str(path).startswith(("/", "{{"))


def _commands(
    document: YamlDocument, steps: tuple[str | int, ...], value: Any, *, is_deps: bool = False, is_single: bool = False
) -> Iterator[Shell | TaskCall]:
    commands = [value] if isinstance(value, (str, Mapping)) else value if isinstance(value, list) else []
    for n, command in enumerate(commands):
        inner = steps if is_single else (*steps, n)
        place = document.place(*inner)
        if isinstance(command, str):
            yield TaskCall(command, place.line) if is_deps else _shell(document, place, command)
        elif isinstance(command, Mapping):
            yield from _mapping(document, inner, command, place)


def _mapping(
    document: YamlDocument, steps: tuple[str | int, ...], command: Mapping[str, Any], place: Place
) -> Iterator[Shell | TaskCall]:
    deferred = command.get("defer")
    if isinstance(deferred, Mapping):
        command = deferred
    turns = command.get("for")
    items = turns[:MAX_TURNS] if isinstance(turns, list) else [None]
    for item in items:
        if isinstance(command.get("task"), str):
            variables = dict(_pairs(command.get("vars")))
            if turns is not None:
                variables = {**variables, "ITEM": item} if item is not None else variables
                variables = {key: _with_item(each, item) for key, each in variables.items()}
            yield TaskCall(str(_with_item(command["task"], item)), place.line, variables)
        elif isinstance(command.get("cmd"), str):
            yield _shell(document, document.place(*steps, "cmd"), str(_with_item(command["cmd"], item)))
        elif isinstance(deferred, str):
            yield _shell(document, document.place(*steps, "defer"), deferred)


def _with_item(template: Any, item: Any) -> Any:
    """``{{.ITEM}}`` of a loop with a list."""
    if not isinstance(template, str) or item is None or isinstance(item, (list, Mapping)):
        return template
    return re.sub(r"\{\{-?\s*\.ITEM\s*-?\}\}", lambda _: str(item), template)


@functools.lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return text.split("\n")


def _shell(document: YamlDocument, place: Place, text: str) -> Shell:
    """A command with the lines of the file that it stands in."""
    lines = _lines(document.text)
    written = lines[place.line - 1].rstrip() if place.line <= len(lines) else ""
    if _BLOCK.search(written):
        is_literal = "|" in written[-6:]
        return shell_of_text(text, place.line + 1) if is_literal else Shell(text, (place.line + 1,))
    return Shell(text, (place.line,))
