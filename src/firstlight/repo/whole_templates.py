"""Repos that are templates as a whole: makejinja, copier, cookiecutter and gomplate make the real repo from them.

Only their settings are read. Where what they write is not in the tree, the repo is incomplete, and the command that
completes it is said.
"""

import dataclasses
import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import toml_reader
from firstlight.document.within import at, mapping, text
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.work_tree import WorkTree

_MAKEJINJA = ("makejinja.toml", "pyproject.toml")
_COPIER = ("copier.yml", "copier.yaml")
_GOMPLATE = (".gomplate.yaml", ".gomplate.yml")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WholeTemplate:
    """A tree of templates, and what fills them in."""

    program: str
    place: Place
    """Its settings."""
    command: str
    inputs: tuple[str, ...]
    """The directories of the templates; the empty text is the top."""
    output: str | None
    """Where the result goes; None for a repo of its own."""
    suffix: str

    def holds(self, path: str) -> bool:
        """Whether a file is one of the templates, and not what is made from them."""
        if self.program == "cookiecutter":
            return "{{" in path and "cookiecutter." in path
        inside = any(not each or path.startswith(f"{each}/") for each in self.inputs)
        return inside and (path.endswith(self.suffix) or "" not in self.inputs)

    def written(self, path: str) -> str:
        """The file that is made from a template."""
        top = max((each for each in self.inputs if path.startswith(f"{each}/")), key=len, default="")
        relative = posixpath.relpath(path, top) if top else path
        return posixpath.normpath(posixpath.join(self.output or "", relative.removesuffix(self.suffix)))


def find(tree: WorkTree) -> tuple[WholeTemplate, ...]:
    """Return the templates of a tree that are for all of it."""
    return tuple(each for each in _declared(tree) if any(map(each.holds, tree.files)))


def diagnostics(tree: WorkTree, found: Sequence[WholeTemplate]) -> Iterator[Diagnostic]:
    """Say what must be run before the repo can be read, where the result is not in the tree."""
    for each in found:
        if not _is_open(tree, each):
            continue
        count = sum(map(each.holds, tree.files))
        files = f"{count} file{'s' * (count != 1)}"
        yield Diagnostic.unknown(
            "repo-is-template",
            f"{files} of this repo {'are' if count != 1 else 'is'} filled in by {each.program}, and the result is "
            "not here: what it would deploy is not known",
            at=each.place,
            fix=f"Render it first: {each.command}",
        )


def _is_open(tree: WorkTree, template: WholeTemplate) -> bool:
    """Whether there are templates, and most of what they make is missing."""
    mine = [path for path in tree.files if template.holds(path)]
    if not mine or template.output is None:
        return bool(mine)
    files = frozenset(tree.files)
    return sum(template.written(path) in files for path in mine) * 2 < len(mine)


def _declared(tree: WorkTree) -> Iterator[WholeTemplate]:
    for path in tree.files:
        name, directory = posixpath.basename(path), posixpath.dirname(path)
        if name in _MAKEJINJA:
            yield from _makejinja(tree, path, directory)
        elif name in _COPIER:
            yield from _copier(tree, path, directory)
        elif name in _GOMPLATE:
            yield from _gomplate(tree, path, directory)
        elif name == "cookiecutter.json" and _json(tree, path):
            where = directory or "."
            yield WholeTemplate(
                program="cookiecutter",
                place=Place(path, 1),
                command=f"cookiecutter {where} --output-dir ../rendered",
                inputs=(directory,),
                output=None,
                suffix="",
            )


def _makejinja(tree: WorkTree, path: str, directory: str) -> Iterator[WholeTemplate]:
    try:
        read = toml_reader.read(tree.text(path) or "")
    except toml_reader.TomlUnreadable:
        return
    settings = mapping(read, "makejinja") or mapping(read, "tool", "makejinja")
    inputs = [str(each) for each in _list(settings.get("inputs") or settings.get("input_paths"))]
    output = text(settings, "output") or text(settings, "output_path")
    if not inputs or not output:
        return
    yield WholeTemplate(
        program="makejinja",
        place=Place(path, 1),
        command=f"(cd {directory} && makejinja)" if directory else "makejinja",
        inputs=tuple(_joined(directory, each) for each in inputs),
        output=_joined(directory, output),
        suffix=text(settings, "jinja_suffix") or ".jinja",
    )


def _copier(tree: WorkTree, path: str, directory: str) -> Iterator[WholeTemplate]:
    documents = tree.documents(path)
    settings = documents[0].value if documents else None
    subdirectory = text(settings, "_subdirectory")
    suffix = at(settings, "_templates_suffix")
    yield WholeTemplate(
        program="copier",
        place=Place(path, 1),
        command=f"copier copy {directory or '.'} ../rendered",
        inputs=(_joined(directory, subdirectory) if "{" not in subdirectory else directory,),
        output=None,
        suffix=str(suffix) if isinstance(suffix, str) and suffix else ".jinja",
    )


def _gomplate(tree: WorkTree, path: str, directory: str) -> Iterator[WholeTemplate]:
    documents = tree.documents(path)
    settings = documents[0].value if documents else None
    inputs, output = text(settings, "inputDir"), text(settings, "outputDir")
    if inputs:
        yield WholeTemplate(
            program="gomplate",
            place=Place(path, 1),
            command=f"(cd {directory} && gomplate)" if directory else "gomplate",
            inputs=(_joined(directory, inputs),),
            output=_joined(directory, output) if output else None,
            suffix=".tmpl",
        )


def _joined(directory: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(directory, path))
    return "" if joined == "." else joined


def _json(tree: WorkTree, path: str) -> Mapping[str, Any]:
    try:
        found = json.loads(tree.text(path) or "")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []
