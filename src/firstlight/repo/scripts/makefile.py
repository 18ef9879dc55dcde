"""Makefiles: targets with what they need, recipes, and plain variables."""

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template, work_tree
from firstlight.repo.go_template import unknown_values
from firstlight.repo.scripts.justfile import linewise
from firstlight.repo.scripts.script_tasks import Task, TaskCall, TaskDialect
from firstlight.repo.scripts.shell.shell_expansion import REPO, ExpandedText
from firstlight.repo.work_tree import WorkTree

NAMES = ("GNUmakefile", "makefile", "Makefile")
MAX_FILES = 100
_ASSIGNMENT = re.compile(r"(?:export\s+|override\s+)*([A-Za-z_][\w.-]*)\s*(\+|\?|::?|!)?=\s*(.*)")
_RULE = re.compile(r"([^\s:=#][^:=#]*?)\s*::?(?!=)\s*(.*)")
_REFERENCE = re.compile(r"\$\$|\$\(([^()$]*)\)|\$\{([^{}$]*)\}|\$([@<^*%?+])")


def is_makefile(path: str) -> bool:
    """Whether make finds a file by its name."""
    return posixpath.basename(path) in NAMES


class MakefileReader:
    """Reads Makefiles."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.tasks: list[Task] = []
        self.included: set[str] = set()
        self.diagnostics: list[Diagnostic] = []

    def read(self, path: str) -> None:
        """Read a Makefile."""
        variables: list[tuple[str, Any]] = []
        rules: list[tuple[Place, str, str, list[tuple[int, str]], str]] = []
        self._file(path, variables, rules, {path})
        root = posixpath.dirname(path) or "."
        for place, targets, needed, recipe, description in rules:
            for name in targets.split():
                if name.startswith(".") or "%" in name:
                    continue
                self.tasks.append(
                    Task(
                        name=name if root == "." else f"{root}/{name}",
                        local=name,
                        dialect=TaskDialect.MAKE,
                        place=place,
                        description=description,
                        directory=root,
                        root=root,
                        variables=tuple(variables),
                        needs=tuple(TaskCall(each, place.line) for each in needed.split("|")[0].split()),
                        body=tuple(linewise(recipe)),
                    )
                )

    def _file(
        self,
        path: str,
        variables: list[tuple[str, Any]],
        rules: list[tuple[Place, str, str, list[tuple[int, str]], str]],
        seen: set[str],
    ) -> None:
        text = self._tree.text(path)
        recipe: list[tuple[int, str]] | None = None
        description = ""
        for number, line in _logical((text or "").split("\n")):
            if line.startswith("\t") and recipe is not None:
                recipe += [(number + n, each.removeprefix("\t")) for n, each in enumerate(line.split("\n"))]
                continue
            plain = " ".join(line.replace("\\\n", " ").split(" #")[0].split())
            if not plain or plain.startswith("#"):
                description = plain.lstrip("# ") if plain else description
                continue
            if plain.startswith(("include ", "-include ")):
                self._include(path, plain.split()[1:], variables, rules, seen)
            elif assignment := _ASSIGNMENT.fullmatch(plain):
                variables.append(_assigned(assignment))
                recipe = None
            elif (rule := _RULE.fullmatch(plain)) and not plain.startswith(("ifeq", "ifneq", "ifdef", "define")):
                targets, needed = rule.groups()
                needed, _, inline = needed.partition(";")
                recipe = [(number, inline.strip())] if inline.strip() else []
                rules.append(
                    (Place(path, number), targets, needed, recipe, line.partition("##")[2].strip() or description)
                )
                description = ""

    def _include(
        self,
        path: str,
        names: list[str],
        variables: list[tuple[str, Any]],
        rules: list[tuple[Place, str, str, list[tuple[int, str]], str]],
        seen: set[str],
    ) -> None:
        for name in names:
            target = work_tree.join(posixpath.dirname(path) or ".", name)
            if target is not None and target not in seen and len(seen) < MAX_FILES and self._tree.is_file(target):
                seen.add(target)
                self.included.add(target)
                self._file(target, variables, rules, seen)


def _logical(lines: list[str]) -> list[tuple[int, str]]:
    """Lines, with those that a backslash continues in one; with the number of the first."""
    found: list[tuple[int, str]] = []
    start, parts = 0, []
    for number, line in enumerate(lines, 1):
        start = start or number
        parts.append(line.rstrip("\r"))
        if not line.rstrip("\r").endswith("\\"):
            found.append((start, "\n".join(parts)))
            start, parts = 0, []
    if parts:
        found.append((start, "\n".join(parts)))
    return found


def _assigned(match: re.Match[str]) -> tuple[str, Any]:
    name, sign, value = match.groups()
    if sign in ("+", "!"):
        reason = "it is the output of a command" if sign == "!" else "it is put together in several places"
        return name, go_template.Unknown(f"$({name})", reason, name=name)
    return name, value


def render(text: str, variables: Mapping[str, ExpandedText]) -> go_template.RenderedTemplate:
    """A line of a recipe with its variables put in; what is not known is marked."""
    unknowns: list[go_template.Unknown] = []

    def value(match: re.Match[str]) -> str:
        if match.group() == "$$":
            return "$"
        name = (match[1] or match[2] or match[3] or "").strip()
        if name == "CURDIR":
            return REPO
        if name == "MAKE":
            return "make"
        found = variables.get(name)
        if found is not None and found.is_known:
            return found.text
        reason = f"{name} is the output of a command" if name.startswith("shell ") else f"{name} is not known"
        unknowns.append(go_template.Unknown(match.group(), reason, name=name.split()[0] if name else match.group()))
        return unknown_values.mark(len(unknowns) - 1)

    made = _REFERENCE.sub(value, go_template.remove_marks(text))
    return go_template.RenderedTemplate(made, tuple(unknowns))
