"""Files with machine config: plain YAML, YAML with variables, and templates, each as documents with places."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo.go_template import unknown_values
from firstlight.repo.go_template.unknown_values import Unknown
from firstlight.repo.talos import embedded_yaml, machine_templates
from firstlight.repo.talos.embedded_yaml import Step
from firstlight.repo.talos.template_tags import JinjaError, Skeleton
from firstlight.repo.work_tree import WorkTree

JINJA = (".j2", ".jinja", ".jinja2")
GO = (".tpl", ".tmpl", ".gotmpl")

_INCLUDES = re.compile(r"\{%[-+]?\s*(include|import|from|extends)\b")
_PATCH = re.compile(r"(?<!\$)\$patch\b")
_VARIABLE = re.compile(
    r"\$(?:(?P<dollar>\$)|\{(?P<braced>[A-Za-z_]\w*)(?P<rest>:?[-=+?][^{}]*)?\}|(?P<bare>[A-Za-z_]\w*))"
)


@dataclasses.dataclass(frozen=True, slots=True)
class RenderedDocument(YamlDocument):
    """A document of a rendered template; its lines are those of the template, as far as they can be found."""

    template: YamlDocument | None = dataclasses.field(default=None, repr=False, compare=False)

    def place(self, *steps: Step) -> Place:
        """Where a value stands in the template."""
        return Place(self.path) if self.template is None else self.template.place(*steps)


@dataclasses.dataclass(frozen=True, slots=True)
class TalosFile:
    """A file as documents."""

    path: str
    documents: tuple[YamlDocument, ...] = ()
    unknowns: tuple[Unknown, ...] = ()
    """What the marks in texts stand for."""
    conditional: frozenset[int] = frozenset()
    """Lines of a template that depend on what is not known."""
    diagnostics: tuple[Diagnostic, ...] = ()
    is_template: bool = False

    def shown(self, text: str) -> str:
        """A text with the expressions of the template back in it."""
        return unknown_values.restore(text, self.unknowns)


def is_template(path: str) -> bool:
    """Whether a file is a template by its name."""
    return path.endswith((*JINJA, *GO))


def stem(path: str) -> str:
    """A file's name without the endings of templates and YAML."""
    name = path.rpartition("/")[2]
    for ending in (*JINJA, *GO):
        name = name.removesuffix(ending)
    return name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".json")


def read_talos_file(
    tree: WorkTree, path: str, *, variables: Mapping[str, str] | None = None, data: Any = None
) -> TalosFile:
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
    diagnostics = (*_not_known(path, unknowns), *_not_escaped(path, text))
    return _from_skeleton(path, Skeleton(substituted, unknowns, frozenset()), diagnostics)


def substitute(text: str, variables: Mapping[str, str]) -> tuple[str, tuple[Unknown, ...]]:
    """Put variables into a text as envsubst does; those that are not known become marks. Comments stay as they are."""
    unknowns: list[Unknown] = []
    lines = unknown_values.remove_marks(text).split("\n")
    for number, line in enumerate(lines, 1):
        if "$" in line and not line.lstrip().startswith("#"):
            lines[number - 1] = _VARIABLE.sub(
                functools.partial(_value, variables=variables, unknowns=unknowns, line=number), line
            )
    return "\n".join(lines), tuple(unknowns)


def _not_escaped(path: str, text: str) -> Iterator[Diagnostic]:
    for number, line in enumerate(text.split("\n"), 1):
        if _PATCH.search(line) and not line.lstrip().startswith("#"):
            message = "talhelper takes $patch for a variable, and fails since there is none"
            yield Diagnostic.error("talhelper-patch-not-escaped", message, at=Place(path, number), fix="Write $$patch.")


def _value(match: re.Match[str], *, variables: Mapping[str, str], unknowns: list[Unknown], line: int) -> str:
    name = match["braced"] or match["bare"]
    if match["dollar"] or match["bare"] == "patch":  # the second is a mistake that has a diagnostic of its own
        return "$" if match["dollar"] else match[0]
    default = (match["rest"] or "").lstrip(":")
    if name in variables:
        return variables[name].replace("\n", " ")
    if default.startswith("-"):
        return default[1:]
    unknowns.append(Unknown(match[0], "it is a variable of the environment", line, name))
    return unknown_values.mark(len(unknowns) - 1)


def _jinja(tree: WorkTree, path: str) -> TalosFile:
    given, diagnostics = machine_templates.jinja_settings(tree, path)
    text = tree.text(path)
    if text is None:
        return TalosFile(path, is_template=True)
    try:
        found = machine_templates.read_jinja(unknown_values.remove_marks(text), given)
    except JinjaError as error:
        broken = Diagnostic.error("talos-template-wrong", f"this is no template: {error}", at=Place(path, error.line))
        return TalosFile(path, diagnostics=(*diagnostics, broken), is_template=True)
    diagnostics += _holes(path, text)
    if found.missing:
        first = min(lines[0] for lines in found.missing.values())
        listed = ", ".join(f"{name} ({_lines(lines)})" for name, lines in found.missing.items())
        message = f"a template whose variables only a run knows: {listed}; the rest of it is read"
        hint = "defines in .minijinja.toml are known"
        diagnostics.append(Diagnostic.unknown("talos-variable-unknown", message, at=Place(path, first), fix=hint))
    elif found.reason:
        diagnostics.append(
            Diagnostic.unknown(
                "talos-template-not-evaluated", f"a template that is not rendered: {found.reason}", at=Place(path)
            )
        )
    return _from_skeleton(path, found.skeleton, tuple(diagnostics), rendered=found.rendered)


def _go(tree: WorkTree, path: str, data: Any) -> TalosFile:
    text = tree.text(path)
    if text is None:
        return TalosFile(path, is_template=True)
    try:
        found = machine_templates.read_go_template(unknown_values.remove_marks(text), data)
    except JinjaError as error:
        broken = Diagnostic.error("talos-template-wrong", f"this is no template: {error}", at=Place(path, error.line))
        return TalosFile(path, diagnostics=(broken,), is_template=True)
    return _from_skeleton(path, found, _not_known(path, found.unknowns))


def _not_known(path: str, unknowns: tuple[Unknown, ...]) -> tuple[Diagnostic, ...]:
    if not unknowns:
        return ()
    places: dict[str, list[int]] = {}
    for each in unknowns:
        places.setdefault(each.text, []).append(each.line)
    listed = ", ".join(f"{text} ({_lines(lines)})" for text, lines in places.items())
    message = f"the repo alone does not tell: {listed}; the rest of it is read"
    return (Diagnostic.unknown("talos-variable-unknown", message, at=Place(path, unknowns[0].line)),)


def _from_skeleton(
    path: str, found: Skeleton, diagnostics: tuple[Diagnostic, ...], *, rendered: str | None = None
) -> TalosFile:
    contents = yaml_reader.read(found.text.encode(errors="replace"), path)
    documents, problems = contents.documents, contents.diagnostics
    if rendered is not None:
        full = yaml_reader.read(rendered.encode(errors="replace"), path)
        documents, problems = _with_places(full.documents, contents.documents), _without_lines(full.diagnostics)
    return TalosFile(
        path, documents, found.unknowns, found.conditional, (*diagnostics, *_softened(problems)), is_template=True
    )


def _holes(path: str, text: str) -> Iterator[Diagnostic]:
    """Tags that put another file here: it may hold any document or field."""
    for match in _INCLUDES.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        message = f"the template takes in another file ({match[1]}), which is not read"
        yield Diagnostic.unknown("talos-template-hole", message, at=Place(path, line))


def _with_places(rendered: tuple[YamlDocument, ...], templates: tuple[YamlDocument, ...]) -> tuple[YamlDocument, ...]:
    by_index = {each.index: each for each in templates}
    return tuple(
        RenderedDocument(
            each.path, by_index[each.index].line if each.index in by_index else 0, each.index, each.value, each.text,
            each.dialect, by_index.get(each.index),
        )
        for each in rendered
    )  # fmt: skip


def _without_lines(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    return tuple(dataclasses.replace(each, places=(Place(each.place.path),)) for each in diagnostics)


def _softened(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """What is wrong with the YAML of a template is perhaps only wrong in the way it was read."""
    return tuple(
        dataclasses.replace(
            each,
            code="talos-template-not-yaml",
            severity=Severity.UNKNOWN,
            message=f"read line by line, this is no YAML: {each.message}",
        )
        for each in diagnostics
        if each.severity is Severity.ERROR
    )


def _lines(lines: tuple[int, ...] | list[int]) -> str:
    unique = list(dict.fromkeys(lines))
    few = ", ".join(str(each) for each in unique[:5])
    return f"line {few}" if len(unique) == 1 else f"lines {few}{' …' if len(unique) > 5 else ''}"


# One document that goes into machine configs, wherever it is written: a file, a text in another file, a JSON patch.


DELETE = "$patch"
"""The key of Talos's strategic merge patches that takes something away."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigDocument:
    """A document of machine config, or a part of another document that is one."""

    value: Any = dataclasses.field(repr=False)
    document: YamlDocument = dataclasses.field(repr=False)
    file: TalosFile = dataclasses.field(repr=False)
    prefix: tuple[Step, ...] = ()
    """The way to it in the document."""
    skipped: int = 0
    """Steps of its own that the document does not have: those of a JSON pointer."""

    def place(self, *steps: Step) -> Place:
        """Where a value stands, or the nearest parent that exists."""
        return self.document.place(*self.prefix, *steps[self.skipped :])

    def way(self, *steps: Step) -> tuple[YamlDocument, tuple[Step, ...]]:
        """The document of the file, and the way from there to a value."""
        return embedded_yaml.way(self.document, (*self.prefix, *steps[self.skipped :]))

    def inside(self, text: str, *steps: Step) -> embedded_yaml.EmbeddedContents:
        """The documents in a text."""
        return embedded_yaml.read(self.document, (*self.prefix, *steps[self.skipped :]), text)

    def get(self, *steps: Step) -> Any:
        """A value; None where there is none, or where it is taken away."""
        value = self.value
        for step in steps:
            if isinstance(value, Mapping) and value.get(DELETE) != "delete":
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return None if isinstance(value, Mapping) and value.get(DELETE) == "delete" else value

    def text(self, *steps: Step) -> str:
        """A text that is known; empty where there is none."""
        return text_of(self.get(*steps))

    def texts(self, *steps: Step) -> tuple[str, ...]:
        """A list of texts; empty unless all of them are known."""
        value = self.get(*steps)
        found = [text_of(each) for each in value] if isinstance(value, list) else []
        return tuple(found) if all(found) else ()

    def flag(self, *steps: Step) -> bool | None:
        """A truth value, if it is known."""
        value = self.get(*steps)
        return value if isinstance(value, bool) else None

    def items(self, *steps: Step) -> Iterator[tuple[int, Any]]:
        """The entries of a list, numbered."""
        value = self.get(*steps)
        yield from enumerate(value) if isinstance(value, list) else ()

    def shown(self, text: str) -> str:
        """A text with the expressions of a template back in it."""
        return self.file.shown(text)

    def is_conditional(self, *steps: Step) -> bool:
        """Whether a value is there only under a condition of a template."""
        return self.place(*steps).line in self.file.conditional


_FILLED_IN = re.compile(r"\A[^\n]*\$\{[A-Za-z_]\w*\}[^\n]*\Z", re.ASCII)
"""Something that envsubst or a task fills in before Talos sees it."""


def text_of(value: Any) -> str:
    """A scalar as text; empty if it is none, or not known, or encrypted."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    text = str(value)
    return "" if unknown_values.has_mark(text) or text.startswith("ENC[") or _FILLED_IN.search(text) else text


def configs_of_document(document: YamlDocument, file: TalosFile) -> list[ConfigDocument]:
    """The configs of a document: itself, or one for each operation of a JSON patch."""
    if isinstance(document.value, list):
        found = (_operation(entry, index, document, file) for index, entry in enumerate(document.value))
        return [each for each in found if each is not None]
    return [ConfigDocument(document.value, document, file)]


def _operation(entry: Any, index: int, document: YamlDocument, file: TalosFile) -> ConfigDocument | None:
    """What an ``add`` or ``replace`` of a JSON patch says, as if it were written in its place."""
    if not isinstance(entry, Mapping) or str(entry.get("op")) not in {"add", "replace"}:
        return None
    steps = pointer(entry.get("path"))
    value = entry.get("value")
    for step in reversed(steps):
        value = [value] if isinstance(step, int) else {step: value}
    return ConfigDocument(value, document, file, (index, "value"), skipped=len(steps))


def pointer(path: Any) -> tuple[Step, ...]:
    """The steps of a JSON pointer; an index is the only entry of the list that is seen here."""
    parts = str(path).split("/")[1:] if isinstance(path, str) else []
    return tuple(
        0 if part == "-" or part.isdecimal() else part.replace("~1", "/").replace("~0", "~") for part in parts[:20]
    )


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping; an empty one where something else stands."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """A list; an empty one where something else stands."""
    return value if isinstance(value, list) else []
