"""Justfiles, with their modules and imports."""

import dataclasses
import posixpath
import re
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.scripts import just_expression
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskCall, TaskDialect, shell_of_text
from firstlight.repo.work_tree import WorkTree

NAMES = ("justfile", ".justfile")
MAX_FILES = 200
"""Modules and imports of one justfile."""
_ASSIGNMENT = re.compile(r"(export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)", re.DOTALL)
_MODULE = re.compile(r"mod(\??)\s+([A-Za-z_][\w-]*)\s*(.*)")
_IMPORT = re.compile(r"import(\??)\s+(.*)")
_RECIPE = re.compile(r"@?([A-Za-z_][\w-]*)(?=[\s:])")
_ATTRIBUTE = re.compile(r"\[\s*([\w-]+)(?:\s*[:(]\s*(['\"][^'\"]*['\"]))?")
_PREFIX = re.compile(r"[@-]{1,2}")


def is_justfile(path: str) -> bool:
    """Whether just finds a file by its name."""
    return posixpath.basename(path).lower() in NAMES


@dataclasses.dataclass(slots=True)
class _Recipe:
    """A recipe that is still read."""

    header: str
    line: int
    attributes: dict[str, str]
    description: str
    body: list[tuple[int, str]] = dataclasses.field(default_factory=list)


class JustfileReader:
    """Reads justfiles."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.tasks: list[Task] = []
        self.included: set[str] = set()
        self.diagnostics: list[Diagnostic] = []
        self._left = MAX_FILES

    def read(self, path: str) -> None:
        """Read a justfile that is no module of another one."""
        self._left = MAX_FILES
        root = posixpath.dirname(path) or "."
        self._file(path, root=root, directory=root, namespace="", seen=(path,))

    def _file(self, path: str, *, root: str, directory: str, namespace: str, seen: tuple[str, ...]) -> None:
        text = self._tree.text(path)
        if text is None:
            return
        variables: list[tuple[str, Any]] = []
        exported: list[tuple[str, Any]] = []
        settings: set[str] = set()
        recipes: list[_Recipe] = []
        for line, statement, recipe in _statements(text):
            if recipe is not None:
                recipes.append(recipe)
            elif statement.startswith("set "):
                settings.add(statement.removeprefix("set ").split(":=")[0].strip())
            elif statement.startswith(("mod ", "mod? ", "import ", "import? ")):
                self._other(Place(path, line), statement, root, directory, namespace, seen)
            elif assignment := _ASSIGNMENT.fullmatch(statement):
                export, name, expression = assignment.groups()
                variables.append((name, expression))
                if export:
                    exported.append((name, expression))
        if "export" in settings:
            exported = variables
        for recipe in recipes:
            task = _task(recipe, path, root, directory, namespace)
            if task is not None:
                self.tasks.append(dataclasses.replace(task, variables=tuple(variables), exported=tuple(exported)))

    def _other(
        self, place: Place, statement: str, root: str, directory: str, namespace: str, seen: tuple[str, ...]
    ) -> None:
        here = posixpath.dirname(place.path) or "."
        module = _MODULE.fullmatch(statement)
        imported = _IMPORT.fullmatch(statement)
        if module is not None:
            optional, name, written = module.groups()
            found = [each for kind, each in just_expression.tokens(written) if kind == "string"]
            path = self._module(here, name, just_expression.string(found[0]) if found else "")
        elif imported is not None:
            optional, written = imported.groups()
            name = ""
            found = [each for kind, each in just_expression.tokens(written) if kind == "string"]
            target = work_tree.join(here, just_expression.string(found[0])) if found else None
            path = target if target is not None and self._tree.is_file(target) else None
        else:
            return
        if path is None:
            if not optional:
                self.diagnostics.append(
                    Diagnostic.error(
                        "just-file-missing",
                        f"{place.path.rpartition('/')[2]} says {statement}, and that file does not exist",
                        at=place,
                        fix="just fails here.",
                    )
                )
            return
        self.included.add(path)
        self._left -= 1
        if path in seen or self._left < 0:
            code, why = ("just-import-circular", "it leads to itself")
            if path not in seen:
                code, why = ("just-too-many-files", f"there are more than {MAX_FILES} files")
            self.diagnostics.append(Diagnostic.error(code, f"{statement} is not read again: {why}", at=place))
            return
        inner = posixpath.dirname(path) or "." if name else directory
        full = f"{namespace}{name}::" if name else namespace
        self._file(path, root=root, directory=inner, namespace=full, seen=(*seen, path))

    def _module(self, here: str, name: str, written: str) -> str | None:
        candidates = [f"{name}.just", f"{name}/mod.just", f"{name}/justfile", f"{name}/.justfile"]
        if written:
            candidates = [written, *(f"{written}/{each}" for each in ("mod.just", "justfile", ".justfile"))]
        joined = [work_tree.join(here, each) for each in candidates]
        return next((each for each in joined if each is not None and self._tree.is_file(each)), None)


def _statements(text: str) -> list[tuple[int, str, _Recipe | None]]:
    """The statements of a file with their lines; a recipe comes with its body."""
    found: list[tuple[int, str, _Recipe | None]] = []
    recipe: _Recipe | None = None
    attributes: dict[str, str] = {}
    description = ""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line, at = lines[at].rstrip("\r"), at + 1
        if recipe is not None and (line.startswith((" ", "\t")) or not line.strip()):
            recipe.body.append((at, line))
            continue
        recipe = None
        if not line.strip():
            continue
        if line.startswith("#"):
            description = line.lstrip("# ")
            continue
        if line.startswith("["):
            attributes |= {match[1]: (match[2] or "")[1:-1] for match in _ATTRIBUTE.finditer(line)}
            continue
        start, statement = at, line
        while statement.endswith("\\") and at < len(lines):
            statement, at = statement[:-1] + lines[at].strip(), at + 1
        quote = next((each for each in ("'''", '"""') if statement.count(each) % 2), "")
        while quote and at < len(lines) and statement.count(quote) % 2:
            statement, at = f"{statement}\n{lines[at]}", at + 1
        if _is_recipe(statement):
            recipe = _Recipe(statement, start, attributes, attributes.get("doc") or description)
            found.append((start, statement, recipe))
        else:
            found.append((start, statement.strip(), None))
        attributes, description = {}, ""
    return found


def _is_recipe(statement: str) -> bool:
    if _RECIPE.match(statement) is None or _ASSIGNMENT.fullmatch(statement.strip()):
        return False
    if statement.startswith(("set ", "alias ", "mod ", "mod? ", "import ", "import? ", "export ")):
        return False
    return any(text == ":" for _, text in just_expression.tokens(statement))


def _task(recipe: _Recipe, path: str, root: str, directory: str, namespace: str) -> Task | None:
    words = just_expression.tokens(recipe.header.lstrip("@"))
    at = next((n for n, (_, text) in enumerate(words) if text == ":"), -1)
    if at < 1 or words[0][0] != "name":
        return None
    name = words[0][1]
    if "working-directory" in recipe.attributes:
        directory = posixpath.join(directory, recipe.attributes["working-directory"])
    before, after = _needs(words[at + 1 :], recipe.line)
    return Task(
        name=f"{namespace}{name}",
        local=name,
        dialect=TaskDialect.JUST,
        place=Place(path, recipe.line),
        description=recipe.description,
        directory=directory,
        root=root,
        namespace=namespace,
        parameters=_parameters(words[1:at]),
        needs=before,
        body=(*_body(recipe), *after),
        is_hidden="private" in recipe.attributes or name.startswith("_"),
    )


def _parameters(words: list[tuple[str, str]]) -> tuple[tuple[str, Any], ...]:
    found: list[tuple[str, Any]] = []
    is_default = False
    for kind, text in words:
        if is_default and found:
            found[-1] = (found[-1][0], text)
            is_default = False
        elif kind == "name":
            found.append((text, None))
        elif text == "=":
            is_default = True
    return tuple(found)


def _needs(words: list[tuple[str, str]], line: int) -> tuple[tuple[TaskCall, ...], tuple[TaskCall, ...]]:
    """Recipes that run before, and after ``&&``."""
    sides: list[list[TaskCall]] = [[], []]
    side = 0
    group: list[str] | None = None
    for kind, text in words:
        if text == "&&":
            side = 1
        elif text == "(":
            group = []
        elif text == ")" and group:
            sides[side].append(TaskCall(group[0], line, arguments=tuple(group[1:])))
            group = None
        elif group is not None:
            group.append(text)
        elif kind == "name":
            sides[side].append(TaskCall(text, line))
    return tuple(sides[0]), tuple(sides[1])


def _body(recipe: _Recipe) -> tuple[Shell, ...]:
    lines = list(recipe.body)
    while lines and not lines[-1][1].strip():
        lines.pop()
    first = next((text for _, text in lines if text.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    plain = [(number, text.removeprefix(indent) if text.strip() else "") for number, text in lines]
    if first.strip().startswith("#!") or "script" in recipe.attributes:
        return (shell_of_text("\n".join(text for _, text in plain), plain[0][0]),) if plain else ()
    return tuple(linewise(plain))


def linewise(lines: list[tuple[int, str]]) -> list[Shell]:
    """Lines that each have a shell of their own; those that end with a backslash go on."""
    found: list[Shell] = []
    current: list[tuple[int, str]] = []
    for number, text in lines:
        if not current:
            prefix = _PREFIX.match(text)
            text = text[prefix.end() :] if prefix else text
        current.append((number, text))
        if text.endswith("\\"):
            continue
        found.append(Shell("\n".join(each for _, each in current), tuple(each for each, _ in current)))
        current = []
    if current:
        found.append(Shell("\n".join(each for _, each in current), tuple(each for each, _ in current)))
    return [each for each in found if each.text.strip()]
