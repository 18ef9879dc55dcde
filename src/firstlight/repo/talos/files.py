"""Files with machine config: plain YAML, YAML with variables, and templates, each as documents with places."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import reading
from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.go_template import unknown
from firstlight.repo.go_template.unknown import Unknown
from firstlight.repo.talos import go_tags, jinja
from firstlight.repo.talos.embedded import Step
from firstlight.repo.talos.jinja_tags import TemplateError
from firstlight.repo.talos.skeleton import Skeleton
from firstlight.repo.work_tree import WorkTree

JINJA = (".j2", ".jinja", ".jinja2")
GO = (".tpl", ".tmpl", ".gotmpl")

_PATCH = re.compile(r"(?<!\$)\$patch\b")
_VARIABLE = re.compile(
    r"\$(?:(?P<dollar>\$)|\{(?P<braced>[A-Za-z_]\w*)(?P<rest>:?[-=+?][^{}]*)?\}|(?P<bare>[A-Za-z_]\w*))"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Rendered(Document):
    """A document of a rendered template; its lines are those of the template, as far as they can be found."""

    template: Document | None = dataclasses.field(default=None, repr=False, compare=False)

    def place(self, *steps: Step) -> Place:
        """Where a value stands in the template."""
        return Place(self.path) if self.template is None else self.template.place(*steps)


@dataclasses.dataclass(frozen=True, slots=True)
class TalosFile:
    """A file as documents."""

    path: str
    documents: tuple[Document, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    """What the marks in texts stand for."""
    conditional: frozenset[int] = frozenset()
    """Lines of a template that depend on what is not known."""
    remarks: tuple[Remark, ...] = ()
    is_template: bool = False

    def shown(self, text: str) -> str:
        """A text with the expressions of the template back in it."""
        return unknown.restore(text, self.unknowns)


def is_template(path: str) -> bool:
    """Whether a file is a template by its name."""
    return path.endswith((*JINJA, *GO))


def stem(path: str) -> str:
    """A file's name without the endings of templates and YAML."""
    name = path.rpartition("/")[2]
    for ending in (*JINJA, *GO):
        name = name.removesuffix(ending)
    return name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".json")


def read(tree: WorkTree, path: str, *, variables: Mapping[str, str] | None = None, data: Any = None) -> TalosFile:
    """Read a file.

    Args:
        tree: The repo.
        path: The file.
        variables: What ``${NAME}`` stands for, as talhelper has it; without, it is a text like any other.
        data: What a Go template is given.
    """
    if path.endswith(JINJA):
        return _jinja(tree, path)
    if path.endswith(GO):
        return _go(tree, path, data or {})
    text = tree.text(path) if variables is not None else None
    if text is None or "$" not in text:
        return TalosFile(path, tree.documents(path))
    substituted, unknowns = substitute(text, variables or {})
    remarks = (*_not_known(path, unknowns), *_not_escaped(path, text))
    return _from_skeleton(path, Skeleton(substituted, unknowns, frozenset()), remarks)


def substitute(text: str, variables: Mapping[str, str]) -> tuple[str, tuple[Unknown, ...]]:
    """Put variables into a text as envsubst does; those that are not known become marks. Comments stay as they are."""
    unknowns: list[Unknown] = []
    lines = unknown.remove_marks(text).split("\n")
    for number, line in enumerate(lines, 1):
        if "$" in line and not line.lstrip().startswith("#"):
            lines[number - 1] = _VARIABLE.sub(
                functools.partial(_value, variables=variables, unknowns=unknowns, line=number), line
            )
    return "\n".join(lines), tuple(unknowns)


def _not_escaped(path: str, text: str) -> Iterator[Remark]:
    for number, line in enumerate(text.split("\n"), 1):
        if _PATCH.search(line) and not line.lstrip().startswith("#"):
            message = "talhelper takes $patch for a variable, and fails since there is none"
            yield Remark(Place(path, number), Grade.ERROR, message, "Write $$patch.")


def _value(match: re.Match[str], *, variables: Mapping[str, str], unknowns: list[Unknown], line: int) -> str:
    name = match["braced"] or match["bare"]
    if match["dollar"] or match["bare"] == "patch":  # the second is a mistake that has a remark of its own
        return "$" if match["dollar"] else match[0]
    default = (match["rest"] or "").lstrip(":")
    if name in variables:
        return variables[name].replace("\n", " ")
    if default.startswith("-"):
        return default[1:]
    unknowns.append(Unknown(match[0], "it is a variable of the environment", line, name))
    return unknown.mark(len(unknowns) - 1)


def _jinja(tree: WorkTree, path: str) -> TalosFile:
    given, remarks = jinja.settings(tree, path)
    text = tree.text(path)
    if text is None:
        return TalosFile(path, is_template=True)
    try:
        found = jinja.read(unknown.remove_marks(text), given)
    except TemplateError as error:
        broken = Remark(Place(path, error.line), Grade.ERROR, f"this is no template: {error}")
        return TalosFile(path, remarks=(*remarks, broken), is_template=True)
    if found.missing:
        first = min(lines[0] for lines in found.missing.values())
        listed = ", ".join(f"{name} ({_lines(lines)})" for name, lines in found.missing.items())
        message = f"a template whose variables only a run knows: {listed}; the rest of it is read"
        hint = "defines in .minijinja.toml are known"
        remarks.append(Remark(Place(path, first), Grade.UNKNOWN, message, hint))
    elif found.reason:
        remarks.append(Remark(Place(path), Grade.UNKNOWN, f"a template that is not rendered: {found.reason}"))
    return _from_skeleton(path, found.skeleton, tuple(remarks), rendered=found.rendered)


def _go(tree: WorkTree, path: str, data: Any) -> TalosFile:
    text = tree.text(path)
    if text is None:
        return TalosFile(path, is_template=True)
    try:
        found = go_tags.read(unknown.remove_marks(text), data)
    except TemplateError as error:
        broken = Remark(Place(path, error.line), Grade.ERROR, f"this is no template: {error}")
        return TalosFile(path, remarks=(broken,), is_template=True)
    return _from_skeleton(path, found, _not_known(path, found.unknowns))


def _not_known(path: str, unknowns: tuple[Unknown, ...]) -> tuple[Remark, ...]:
    if not unknowns:
        return ()
    places: dict[str, list[int]] = {}
    for each in unknowns:
        places.setdefault(each.text, []).append(each.line)
    listed = ", ".join(f"{text} ({_lines(lines)})" for text, lines in places.items())
    message = f"the repo alone does not tell: {listed}; the rest of it is read"
    return (Remark(Place(path, unknowns[0].line), Grade.UNKNOWN, message),)


def _from_skeleton(
    path: str, found: Skeleton, remarks: tuple[Remark, ...], *, rendered: str | None = None
) -> TalosFile:
    contents = reading.read(found.text.encode(errors="replace"), path)
    documents, problems = contents.documents, contents.remarks
    if rendered is not None:
        full = reading.read(rendered.encode(errors="replace"), path)
        documents, problems = _with_places(full.documents, contents.documents), _without_lines(full.remarks)
    return TalosFile(
        path, documents, found.unknowns, found.conditional, (*remarks, *_softened(problems)), is_template=True
    )


def _with_places(rendered: tuple[Document, ...], templates: tuple[Document, ...]) -> tuple[Document, ...]:
    by_index = {each.index: each for each in templates}
    return tuple(
        Rendered(
            each.path, by_index[each.index].line if each.index in by_index else 0, each.index, each.value, each.text,
            each.dialect, by_index.get(each.index),
        )
        for each in rendered
    )  # fmt: skip


def _without_lines(remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    return tuple(dataclasses.replace(each, place=Place(each.place.path)) for each in remarks)


def _softened(remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """What is wrong with the YAML of a template is perhaps only wrong in the way it was read."""
    return tuple(
        dataclasses.replace(each, grade=Grade.UNKNOWN, message=f"read line by line, this is no YAML: {each.message}")
        for each in remarks
        if each.grade is Grade.ERROR
    )


def _lines(lines: tuple[int, ...] | list[int]) -> str:
    unique = list(dict.fromkeys(lines))
    few = ", ".join(str(each) for each in unique[:5])
    return f"line {few}" if len(unique) == 1 else f"lines {few}{' …' if len(unique) > 5 else ''}"
