"""Evaluates expressions of OpenTofu from files alone: literals, variables with values, locals, and functions.

What depends on a provider, the environment or state is an ``UnknownValue``. Everything is bounded: the depth, the
number of steps, and how large texts and collections may grow.
"""

import dataclasses
import functools
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.place import Place
from firstlight.repo.go_template import unknown_values
from firstlight.repo.tofu import hcl_functions, hcl_syntax
from firstlight.repo.tofu.hcl_values import EncodedYaml, FileText, HclObject, Node, UnknownValue, line_of, text_of
from firstlight.repo.work_tree import WorkTree

STEPS = 200_000
"""Expressions that one module may evaluate; a large one has some thousand."""
DEPTH = 60
SIZE = 4_000_000
"""Characters of one text."""


@dataclasses.dataclass(frozen=True)
class Scope:
    """What names mean where an expression stands."""

    names: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """``each``, ``count``, variables of for expressions and of templates."""
    path: str = ""
    """The file."""
    shift: int = 0
    """Lines before the first one of a template."""

    def with_names(self, **names: Any) -> "Scope":
        """Return a scope inside of this one."""
        return dataclasses.replace(self, names={**self.names, **names})


class TooMuch(Exception):
    """An expression that would grow without bounds."""


class Evaluator:
    """The expressions of one module."""

    def __init__(
        self,
        tree: WorkTree,
        directory: str,
        *,
        variables: Mapping[str, Callable[[], Any]],
        local_values: Mapping[str, tuple[Node, str]],
    ) -> None:
        """Prepare; nothing is evaluated yet.

        Args:
            tree: The repo.
            directory: The module's.
            variables: How to get the value of each declared variable.
            local_values: The expression of each local value, and its file.
        """
        self.tree = tree
        self.directory = directory
        self.unknowns: list[unknown_values.Unknown] = []
        self._variables = variables
        self._locals = local_values
        self._known_locals: dict[str, Any] = {}
        self._steps = 0
        self._depth = 0

    def value(self, node: Node, scope: Scope) -> Any:
        """Return the value of an expression; ``UnknownValue`` where a file alone does not tell."""
        self._steps += 1
        if self._steps > STEPS or self._depth > DEPTH:
            return UnknownValue(_short(node), "it takes too many steps")
        self._depth += 1
        try:
            handler = _HANDLERS.get(node.type)
            return (
                UnknownValue(_short(node), "this kind of expression is not read")
                if handler is None
                else handler(self, node, scope)
            )
        except TooMuch:
            return UnknownValue(_short(node), "it grows too large")
        finally:
            self._depth -= 1

    def template(self, text: str, scope: Scope) -> Any:
        """Return a template file with its variables filled in."""
        root = hcl_syntax.parse_template(text)
        return UnknownValue(scope.path, "the template cannot be parsed") if root is None else self._text(root, scope)

    def mark(self, unknown: UnknownValue, line: int) -> str:
        """Return a mark that stands for an unknown part of a text."""
        self.unknowns.append(unknown_values.Unknown(unknown.source, unknown.reason, line, unknown.source))
        return unknown_values.mark(len(self.unknowns) - 1)

    # Handlers, one for each type of node.

    def _only(self, node: Node, scope: Scope) -> Any:
        return self._chain([each for each in node.named_children if each.type != "comment"], node, scope)

    def _chain(self, nodes: Sequence[Node], whole: Node, scope: Scope) -> Any:
        """Return the value of an expression with the accessors behind it."""
        if not nodes:
            return UnknownValue(_short(whole), "it cannot be parsed")
        found = self.value(nodes[0], scope)
        for accessor in nodes[1:]:
            found = self._access(found, accessor, whole, scope)
        return found

    def _literal(self, node: Node, scope: Scope) -> Any:
        child = node.named_children[0] if node.named_children else node
        written = text_of(child)
        match child.type:
            case "numeric_lit":
                number = float(written)
                return int(number) if number.is_integer() else number
            case "bool_lit":
                return written == "true"
            case "null_lit":
                return None
            case "string_lit":
                return self._text(child, scope)
        return UnknownValue(written, "this literal is not read")

    def _text(self, node: Node, scope: Scope) -> Any:
        """Return a quoted text, a heredoc or a whole template."""
        is_heredoc = node.type == "heredoc_template"
        start, end = hcl_syntax.heredoc_bounds(node) if is_heredoc else hcl_syntax.quoted_bounds(node)
        made = self._pieces(node.children, start, end, _Text(node, scope, is_quoted=not is_heredoc))
        if len(made) > SIZE:
            raise TooMuch
        if not is_heredoc:
            return made
        made = hcl_syntax.unindented(made) if text_of(node).startswith("<<-") else made
        return FileText(made, scope.path, line_of(node) + 1 + scope.shift)

    def _pieces(self, nodes: Sequence[Node], start: int, end: int, text: "_Text") -> str:
        """Return a part of a template: what stands between the tags, and what these come to."""
        pieces: list[str] = []
        size = 0
        for child in [*(each for each in nodes if each.type in _TAGS), None]:
            until = child.start_byte if child is not None else end
            literal = hcl_syntax.source(text.node, start, until)
            if hcl_syntax.strips_after(nodes, start):
                literal = _FIRST_BREAK.sub("", literal, count=1)
            if child is not None and hcl_syntax.strips_before(child):
                literal = _LAST_BREAK.sub("", literal, count=1)
            literal = unknown_values.remove_marks(literal)
            pieces.append(hcl_syntax.unescaped(literal) if text.is_quoted else literal.replace("$${", "${"))
            if child is not None:
                pieces.append(self._tag(child, text))
                start = child.end_byte
            size += len(pieces[-1])
            if size > SIZE:
                raise TooMuch
        return "".join(pieces)

    def _tag(self, node: Node, text: "_Text") -> str:
        if node.type == "template_interpolation":
            inner = next((each for each in node.named_children if each.type == "expression"), None)
            value = self.value(inner, text.scope) if inner is not None else UnknownValue(_short(node), "it is empty")
            return self._as_text(value, node, text.scope)
        parts = hcl_syntax.directive_parts(node)
        if parts is None:
            return self.mark(UnknownValue(_short(node), "this directive is not read"), line_of(node) + text.scope.shift)
        value = self.value(parts.expression, text.scope)
        if parts.is_loop:
            pairs = self._pairs(value)
            if pairs is None:
                value = (
                    value if isinstance(value, UnknownValue) else UnknownValue(_short(node), "it is not a collection")
                )
                return self.mark(value, line_of(node) + text.scope.shift)
            made = []
            for key, each in pairs:
                names = dict(zip(parts.names, (each,) if len(parts.names) == 1 else (key, each), strict=False))
                inside = dataclasses.replace(text, scope=text.scope.with_names(**names))
                made.append(self._pieces(parts.body, *parts.body_bounds, inside))
                if sum(map(len, made)) > SIZE:
                    raise TooMuch
            return "".join(made)
        if isinstance(value, UnknownValue):
            return self.mark(value, line_of(node) + text.scope.shift)
        if value:
            return self._pieces(parts.body, *parts.body_bounds, text)
        return self._pieces(parts.otherwise, *parts.otherwise_bounds, text)

    def _as_text(self, value: Any, node: Node, scope: Scope) -> str:
        match value:
            case UnknownValue():
                return self.mark(value, line_of(node) + scope.shift)
            case bool():
                return "true" if value else "false"
            case str() | int() | float():
                return str(value)
        return self.mark(UnknownValue(_short(node), "it is not a text"), line_of(node))

    def _tuple(self, node: Node, scope: Scope) -> Any:
        return [self.value(each, scope) for each in node.named_children if each.type == "expression"]

    def _object(self, node: Node, scope: Scope) -> Any:
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for element in node.named_children:
            if element.type != "object_elem":
                continue
            parts = [each for each in element.named_children if each.type == "expression"]
            if len(parts) != 2:
                continue
            key = hcl_syntax.bare_key(parts[0])
            found = key if key is not None else self.value(parts[0], scope)
            if isinstance(found, UnknownValue) or not isinstance(found, str | int | float | bool):
                return UnknownValue(_short(node), "a key of it is not known")
            values[self._as_text(found, parts[0], scope)] = self.value(parts[1], scope)
            lines[str(found)] = line_of(element) + scope.shift
        return HclObject(values, Place(scope.path, line_of(node) + scope.shift), lines)

    def _variable(self, node: Node, scope: Scope) -> Any:
        name = text_of(node)
        if name in scope.names:
            return scope.names[name]
        if name in ("var", "local", "path"):
            return _Root(name)
        return UnknownValue(name, "only a run knows it")

    def _access(self, value: Any, accessor: Node, whole: Node, scope: Scope) -> Any:
        if isinstance(value, UnknownValue):
            return UnknownValue(_short(whole), value.reason)
        if accessor.type == "get_attr":
            key: Any = text_of(accessor.named_children[0]) if accessor.named_children else ""
        elif accessor.type == "index":
            inner = [each for each in _deep(accessor) if each.type == "expression"]
            key = self.value(inner[0], scope) if inner else UnknownValue(_short(accessor), "it is not read")
        elif accessor.type in ("splat", "attr_splat", "full_splat"):
            names = [text_of(each) for each in _deep(accessor) if each.type == "identifier"]
            items = value if isinstance(value, list) else [value]
            return [functools.reduce(_member, names, each) for each in items]
        else:
            return UnknownValue(_short(whole), "this way to a value is not read")
        if isinstance(key, UnknownValue):
            return UnknownValue(_short(whole), key.reason)
        return self._root(value, str(key)) if isinstance(value, _Root) else _member(value, key)

    def _root(self, root: "_Root", name: str) -> Any:
        match root.name:
            case "path":
                return "." if name in ("cwd", "root") else self.directory or "."
            case "var":
                if name in self._variables:
                    return self._variables[name]()
                return UnknownValue(f"var.{name}", "no such variable is declared")
        if name not in self._known_locals:
            self._known_locals[name] = UnknownValue(f"local.{name}", "it refers to itself")
            expression = self._locals.get(name)
            self._known_locals[name] = (
                self.value(expression[0], Scope(path=expression[1]))
                if expression is not None
                else UnknownValue(f"local.{name}", "it is not declared")
            )
        return self._known_locals[name]

    def _conditional(self, node: Node, scope: Scope) -> Any:
        parts = [each for each in node.named_children if each.type == "expression"]
        if len(parts) != 3:
            return UnknownValue(_short(node), "it cannot be parsed")
        condition = self.value(parts[0], scope)
        if isinstance(condition, UnknownValue):
            return UnknownValue(_short(node), condition.reason)
        return self.value(parts[1] if condition else parts[2], scope)

    def _operation(self, node: Node, scope: Scope) -> Any:
        inner = node.named_children[0]
        sign, groups = "", [[]]  # type: tuple[str, list[list[Node]]]
        for child in inner.children:
            if child.is_named:
                groups[-1].append(child)
            elif groups[-1] or not sign:
                sign = child.type
                groups += [[]] if groups[-1] else []
        values = [self._chain(each, inner, scope) for each in groups]
        return hcl_functions.operation(sign, values, _short(node))

    def _for(self, node: Node, scope: Scope) -> Any:
        inner = node.named_children[0]
        parts = hcl_syntax.for_parts(inner)
        if parts is None:
            return UnknownValue(_short(node), "it cannot be parsed")
        pairs = self._pairs(self.value(parts.collection, scope))
        if pairs is None:
            return UnknownValue(_short(node), "what it goes over is not known")
        made: list[tuple[Any, Any]] = []
        for key, value in pairs:
            names = dict(zip(parts.names, (value,) if len(parts.names) == 1 else (key, value), strict=False))
            here = scope.with_names(**names)
            wanted = self.value(parts.condition, here) if parts.condition is not None else True
            if isinstance(wanted, UnknownValue):
                return UnknownValue(_short(node), wanted.reason)
            if wanted:
                at = self.value(parts.key, here) if parts.key is not None else None
                made.append((at, self.value(parts.value, here)))
        if parts.key is None:
            return [value for _, value in made]
        if any(isinstance(key, UnknownValue) for key, _ in made):
            return UnknownValue(_short(node), "a key of it is not known")
        return {str(key): value for key, value in made}

    @staticmethod
    def _pairs(value: Any) -> list[tuple[Any, Any]] | None:
        if isinstance(value, Mapping):
            return sorted(value.items())
        return list(enumerate(value)) if isinstance(value, list) else None

    def _call(self, node: Node, scope: Scope) -> Any:
        name = text_of(node.named_children[0])
        given = next((each for each in node.named_children if each.type == "function_arguments"), None)
        parts = [each for each in given.named_children if each.type == "expression"] if given is not None else []
        if name in ("try", "can"):
            values = (self.value(each, scope) for each in parts)
            return next(
                (each for each in values if not isinstance(each, UnknownValue)), UnknownValue(_short(node), "unknown")
            )
        arguments = [self.value(each, scope) for each in parts]
        if given is not None and any(each.type == "ellipsis" for each in given.children) and arguments:
            last = arguments.pop()
            if isinstance(last, UnknownValue):
                return UnknownValue(_short(node), last.reason)
            arguments += last if isinstance(last, list) else [last]
        if name in ("file", "templatefile"):
            return self._file(name, arguments, node)
        if name == "yamlencode" and arguments:
            value = arguments[0]
            return value if isinstance(value, UnknownValue) else EncodedYaml("", self._settled(value, node))
        if name == "yamldecode" and arguments and isinstance(arguments[0], str):
            return _decoded(arguments[0], node)
        return hcl_functions.call(name, arguments, _short(node))

    def _settled(self, value: Any, node: Node) -> Any:
        """Return a value in which texts with marks stand for what is not known."""
        if isinstance(value, UnknownValue):
            return self.mark(value, line_of(node))
        if isinstance(value, HclObject):
            return HclObject({key: self._settled(each, node) for key, each in value.items()}, value.place, value.lines)
        if isinstance(value, Mapping):
            return {str(key): self._settled(each, node) for key, each in value.items()}
        return [self._settled(each, node) for each in value] if isinstance(value, list) else value

    def _file(self, name: str, arguments: list[Any], node: Node) -> Any:
        written = arguments[0] if arguments else None
        if isinstance(written, UnknownValue) or not isinstance(written, str) or unknown_values.has_mark(written):
            return UnknownValue(_short(node), "which file it is, is not known")
        is_from_top = bool(self.directory) and written.startswith(f"{self.directory}/")
        path = posixpath.normpath(written if is_from_top else self._beside(written))
        text = self.tree.text(path) if self.tree.is_file(path) else None
        if text is None:
            return UnknownValue(_short(node), f"{path} is not in the repo")
        if name == "file":
            return FileText(text, path, 1)
        names = arguments[1] if len(arguments) > 1 else {}
        if not isinstance(names, Mapping):
            return UnknownValue(_short(node), "the variables of the template are not known")
        filled = self.template(text, Scope(names=dict(names), path=path, shift=-1))
        return FileText(filled, path, 1) if isinstance(filled, str) else filled

    def _beside(self, written: str) -> str:
        return posixpath.join(self.directory, written) if self.directory else written


# A strip marker takes the white space next to it, up to and with the nearest line break.
_FIRST_BREAK = re.compile(r"\A[ \t\r]*\n?")
_LAST_BREAK = re.compile(r"\n?[ \t\r]*\Z")
_TAGS = ("template_interpolation", "template_directive")


@dataclasses.dataclass(frozen=True, slots=True)
class _Text:
    """The template that is being filled in."""

    node: Node
    scope: Scope
    is_quoted: bool


@dataclasses.dataclass(frozen=True, slots=True)
class _Root:
    """``var``, ``local`` or ``path``, before its attribute."""

    name: str


def _member(value: Any, key: Any) -> Any:
    if isinstance(value, Mapping):
        if str(key) in value:
            return value[str(key)]
        return UnknownValue(str(key), f"there is no {key}")
    if isinstance(value, list) and str(key).isdecimal() and int(key) < len(value):
        return value[int(key)]
    return value if isinstance(value, UnknownValue) else UnknownValue(str(key), f"there is no {key}")


def _decoded(text: str, node: Node) -> Any:
    try:
        documents = yaml_reader.load_all(text)
    except ValueError:
        return UnknownValue(_short(node), "it is not YAML")
    return documents[0] if len(documents) == 1 else UnknownValue(_short(node), "it is not one document")


def _deep(node: Node) -> list[Node]:
    found = []
    for child in node.named_children:
        found.append(child)
        if child.type not in ("expression", "identifier"):
            found += _deep(child)
    return found


def _short(node: Node) -> str:
    line = " ".join(text_of(node).split())
    return line if len(line) <= 80 else f"{line[:79]}…"


_HANDLERS: Mapping[str, Callable[[Evaluator, Node, Scope], Any]] = {
    "expression": Evaluator._only,
    "collection_value": Evaluator._only,
    "literal_value": Evaluator._literal,
    "template_expr": Evaluator._only,
    "quoted_template": Evaluator._text,
    "heredoc_template": Evaluator._text,
    "tuple": Evaluator._tuple,
    "object": Evaluator._object,
    "variable_expr": Evaluator._variable,
    "conditional": Evaluator._conditional,
    "operation": Evaluator._operation,
    "for_expr": Evaluator._for,
    "function_call": Evaluator._call,
    "string_lit": Evaluator._text,
}
