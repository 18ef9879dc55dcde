"""A tree walked through with data, as Go's text/template does it."""

import copy
import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.repo.go_template import builtin_functions, go_format, sprig_data, template_parser, unknown_values
from firstlight.repo.go_template.builtin_functions import TemplateFunction, argument_kind, check_arguments
from firstlight.repo.go_template.template_parser import parse
from firstlight.repo.go_template.unknown_values import (
    FirstDocument,
    GoTemplateError,
    NotKnownBeforeRun,
    TemplateLimitExceeded,
    Unknown,
)


class MissingKey(enum.StrEnum):
    """What a map answers to a key that it does not have; Go's option ``missingkey``."""

    DEFAULT = "default"
    ZERO = "zero"
    ERROR = "error"
    UNKNOWN = "unknown"
    """Not Go's: somebody will set it before it runs, so it is not known; ``default`` still finds it missing."""


KNOWN: Mapping[str, TemplateFunction] = {
    **builtin_functions.TEXT_FUNCTIONS,
    **sprig_data.FUNCTIONS,
    **builtin_functions.FUNCTIONS,
}
"""Functions that only depend on their arguments."""
_TAKES_MISSING = {"default", "coalesce", "empty", "required", "not", "ternary"}
_CHANGING = ("set", "merge", "unset")


@dataclasses.dataclass(frozen=True, slots=True)
class _Missing:
    """What a map gives for a key that it does not have."""

    name: str = ""


_MISSING = _Missing()


class Evaluation:
    """One rendering: its variables, what it wrote so far, and what was not known."""

    def __init__(
        self,
        data: Any,
        *,
        functions: Mapping[str, Callable[..., Any] | TemplateFunction],
        missing_key: MissingKey,
        is_lenient: bool,
        braces: tuple[str, str],
    ) -> None:
        self._root = data
        self._functions = functions
        self._missing_key = missing_key
        self._is_lenient = is_lenient
        self._braces = braces
        self._variables: list[tuple[str, Any]] = [("$", data)]
        self._definitions: dict[str, tuple[template_parser.Node, ...]] = {}
        self._output: list[str] = []
        self._is_nested = False
        self._is_line_start = True
        self._length = 0
        self._steps = 0
        self._depth = 0
        self.unknowns: list[Unknown] = []
        self.lines: list[int] = []
        """For every line of the result the line of the template that begins it."""

    def define(self, texts: Sequence[str]) -> None:
        """Take the definitions of other texts."""
        for text in texts:
            self._definitions |= parse(text, left=self._braces[0], right=self._braces[1]).definitions

    def run(self, text: str) -> str:
        """Render a text."""
        if len(text) > unknown_values.MAX_TEMPLATE:
            raise TemplateLimitExceeded(f"the template is longer than {unknown_values.MAX_TEMPLATE} characters")
        if any(word in text for word in _CHANGING):
            # These change maps in place; what the caller handed in stays as it is.
            self._root = copy.deepcopy(self._root)
            self._variables[0] = ("$", self._root)
        template = parse(text, left=self._braces[0], right=self._braces[1])
        self._definitions |= template.definitions
        self._walk(template.nodes, self._root)
        return "".join(self._output)

    def _write(self, text: str, line: int, *, is_source: bool = False) -> None:
        self._length += len(text)
        if self._length > unknown_values.MAX_TEXT:
            raise TemplateLimitExceeded(f"the result grows beyond {unknown_values.MAX_TEXT} characters")
        self._output.append(text)
        if self._is_nested or not text:
            return
        ends = text.count("\n")
        if self._is_line_start:
            self.lines.append(line)
        # The line after the last line end begins with whatever is written next.
        self._is_line_start = text.endswith("\n")
        self.lines += [line + n + 1 if is_source else line for n in range(ends - self._is_line_start)]

    def _step(self) -> None:
        self._steps += 1
        if self._steps > unknown_values.MAX_STEPS:
            raise TemplateLimitExceeded(f"the template takes more than {unknown_values.MAX_STEPS} steps")

    # Nodes

    def _walk(self, nodes: tuple[template_parser.Node, ...], dot: Any) -> str:
        """Render nodes; ``break`` or ``continue`` if that ended them."""
        self._depth += 1
        if self._depth > unknown_values.MAX_DEPTH:
            raise TemplateLimitExceeded(
                f"blocks and templates are nested deeper than {unknown_values.MAX_DEPTH} levels"
            )
        scope = len(self._variables)
        jump = ""
        for node in nodes:
            self._step()
            if isinstance(node, template_parser.TemplateText):
                self._write(node.text, node.line, is_source=True)
                continue
            try:
                jump = self._node(node, dot)
            except TemplateLimitExceeded as error:
                raise error.at(node.line) from None
            except GoTemplateError as error:
                raise error.at(node.line) from None
            if jump:
                break
        del self._variables[scope:]
        self._depth -= 1
        return jump

    def _node(
        self,
        node: template_parser.TemplateAction
        | template_parser.Block
        | template_parser.TemplateCall
        | template_parser.Jump,
        dot: Any,
    ) -> str:
        match node:
            case template_parser.TemplateAction():
                self._action(node, dot)
            case template_parser.Jump():
                return node.keyword
            case template_parser.TemplateCall():
                argument = self._guarded(node, dot) if node.pipe else None
                self._template(node.name, argument)
            case template_parser.Block("range"):
                self._range(node, dot)
            case template_parser.Block():
                return self._if(node, dot)
        return ""

    def _guarded(
        self, node: template_parser.TemplateAction | template_parser.Block | template_parser.TemplateCall, dot: Any
    ) -> Any:
        """The value of a node's pipe; ``Unknown``, and remembered, where a lenient rendering cannot tell it."""
        assert node.pipe is not None
        kept, scope, depth = self._variables, len(self._variables), self._depth
        output, is_nested = self._output, self._is_nested
        try:
            value = self._pipe(node.pipe, dot)
            if isinstance(value, Unknown) and not node.pipe.variables:
                raise value.error()
            if (
                isinstance(value, _Missing)
                and self._missing_key == MissingKey.UNKNOWN
                and isinstance(node, template_parser.TemplateAction)
            ):
                raise _not_set(value)
        except TemplateLimitExceeded:
            raise
        except GoTemplateError as error:
            if not self._is_lenient:
                raise
            is_wrong = not isinstance(error, NotKnownBeforeRun)
            end = node.end if isinstance(node, template_parser.Block) else 0
            found = Unknown(
                node.source, error.reason, error.line or node.line, error.name, end, is_wrong, error.is_secret
            )
            self.unknowns.append(found)
            self._variables, self._depth = kept, depth
            self._output, self._is_nested = output, is_nested
            del self._variables[scope:]
            for name in node.pipe.variables:
                self._assign(name, found, is_new=not node.pipe.is_assignment)
            return found
        return value

    def _action(self, node: template_parser.TemplateAction, dot: Any) -> None:
        value = self._guarded(node, dot)
        if node.pipe.variables:
            return
        if isinstance(value, _Missing):
            self._write(go_format.NO_VALUE, node.line)
        elif isinstance(value, Unknown):
            self._write(unknown_values.mark(len(self.unknowns) - 1), node.line)
        else:
            try:
                self._write(go_format.shown_value(value), node.line)
            except NotKnownBeforeRun as error:
                if not self._is_lenient:
                    raise
                self.unknowns.append(
                    Unknown(node.source, error.reason, node.line, error.name, is_secret=error.is_secret)
                )
                self._write(unknown_values.mark(len(self.unknowns) - 1), node.line)

    def _if(self, node: template_parser.Block, dot: Any) -> str:
        scope = len(self._variables)
        value = self._guarded(node, dot)
        # What is not known is taken for true: more is shown rather than less, and the doubt is remembered.
        is_true = isinstance(value, Unknown) or (not isinstance(value, _Missing) and go_format.is_true(value))
        if is_true:
            jump = self._walk(node.body, value if node.keyword == "with" else dot)
        else:
            jump = self._walk(node.otherwise, dot)
        del self._variables[scope:]
        return jump

    def _range(self, node: template_parser.Block, dot: Any) -> None:
        scope = len(self._variables)
        pipe = template_parser.Pipe(node.pipe.commands)  # its variables are set in every turn
        value = self._guarded(dataclasses.replace(node, pipe=pipe), dot)
        turns = self._turns(value)
        for key, each in turns:
            self._step()
            names = node.pipe.variables
            values = [each] if len(names) < 2 else [key, each]
            for name, given in zip(names, values, strict=False):
                self._assign(name, given, is_new=not node.pipe.is_assignment)
            if self._walk(node.body, each) == "break":
                break
            del self._variables[scope:]
        if not turns:
            self._walk(node.otherwise, dot)
        del self._variables[scope:]

    def _turns(self, value: Any) -> list[tuple[Any, Any]]:
        if isinstance(value, Unknown):
            return [(value, value)]
        if value is None or isinstance(value, _Missing):
            return []
        if isinstance(value, Mapping):
            return [(key, value[key]) for key in go_format.ordered(value)]
        if isinstance(value, (list, tuple)):
            return list(enumerate(value))
        if isinstance(value, int) and not isinstance(value, bool):
            unknown_values.check_repetition(64, max(value, 0))
            return [(n, n) for n in range(value)]
        raise GoTemplateError(f"range cannot walk through {argument_kind(value)}", name="range")

    def _template(self, name: str, argument: Any) -> None:
        nodes = self._definitions.get(name)
        if nodes is None:
            raise NotKnownBeforeRun(f'template "{name}" is not defined here', name=name)
        kept, self._variables = self._variables, [("$", argument)]
        self._walk(nodes, argument)
        self._variables = kept

    # Values

    def _pipe(self, pipe: template_parser.Pipe, dot: Any) -> Any:
        value: Any = _MISSING
        for n, command in enumerate(pipe.commands):
            value = self._command(command, dot, (value,) if n else ())
        for name in pipe.variables:
            self._assign(name, value, is_new=not pipe.is_assignment)
        return value

    def _assign(self, name: str, value: Any, *, is_new: bool) -> None:
        if is_new:
            self._variables.append((name, value))
            return
        for n in range(len(self._variables) - 1, -1, -1):
            if self._variables[n][0] == name:
                self._variables[n] = (name, value)
                return
        raise GoTemplateError(f"variable {name} is not defined", name=name)

    def _command(self, command: template_parser.Command, dot: Any, piped: tuple[Any, ...]) -> Any:
        first, *rest = command.words
        if isinstance(first, template_parser.Name):
            return self._call(first.name, rest, dot, piped)
        if rest or piped:
            raise GoTemplateError("arguments are given to what is no function")
        if first == template_parser.LiteralValue(None):
            raise GoTemplateError("nil is not a command")
        return self._operand(first, dot)

    def _operand(self, operand: template_parser.Operand, dot: Any) -> Any:
        match operand:
            case template_parser.LiteralValue(value):
                return value
            case template_parser.Dot():
                return dot
            case template_parser.Variable(name):
                for known, value in reversed(self._variables):
                    if known == name:
                        return value
                raise GoTemplateError(f"variable {name} is not defined", name=name)
            case template_parser.Name(name):
                return self._call(name, [], dot, ())
            case template_parser.FieldChain(of, names):
                return self._fields(self._operand(of, dot), names, operand)
            case template_parser.Pipe():
                return self._pipe(operand, dot)

    def _fields(self, value: Any, names: tuple[str, ...], operand: template_parser.FieldChain) -> Any:
        more = ""
        for name in names:
            if isinstance(value, FirstDocument):
                kind = value.get("kind")
                more = f"; fromYaml takes only the first document of the file{f', of kind {kind}' if kind else ''}"
            if isinstance(value, Unknown):
                raise value.error(_written(operand))
            if isinstance(value, _Missing):
                continue
            if value is None:
                raise GoTemplateError(f"{_written(operand)}: nothing has no field {name}", name=_written(operand))
            if not isinstance(value, Mapping):
                raise GoTemplateError(
                    f"{_written(operand)}: {argument_kind(value)} has no field {name}", name=_written(operand)
                )
            if name in value:
                value = value[name]
            elif self._missing_key == MissingKey.ERROR:
                raise GoTemplateError(f'map has no entry for key "{name}"{more}', name=_written(operand))
            else:
                value = None if self._missing_key == MissingKey.ZERO else _Missing(_written(operand))
        return value

    def _call(self, name: str, words: Sequence[template_parser.Operand], dot: Any, piped: tuple[Any, ...]) -> Any:
        self._step()
        if name in ("and", "or"):
            return self._logic(name, words, dot, piped)
        arguments = [self._operand(word, dot) for word in words] + list(piped)
        for n, each in enumerate(arguments):
            if isinstance(each, Unknown):
                raise each.error()
            if isinstance(each, _Missing):
                if self._missing_key == MissingKey.UNKNOWN and name not in _TAKES_MISSING:
                    raise _not_set(each)
                arguments[n] = None
        function = self._functions.get(name) or KNOWN.get(name)
        if function is None and name in ("tpl", "include"):
            return self._nested(name, arguments)
        if function is None:
            raise NotKnownBeforeRun(f'function "{name}" is not known to reading alone', name=name)
        if isinstance(function, TemplateFunction):
            check_arguments(name, function.signature, arguments)
            function = function.run
        try:
            result = function(*arguments)
        except GoTemplateError:
            raise
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
            raise GoTemplateError(f"{name} cannot take its arguments", name=name) from error
        return unknown_values.limited_text(result) if isinstance(result, str) else result

    def _logic(self, name: str, words: Sequence[template_parser.Operand], dot: Any, piped: tuple[Any, ...]) -> Any:
        value: Any = _MISSING
        for n in range(len(words) + len(piped)):
            value = self._operand(words[n], dot) if n < len(words) else piped[0]
            if (not isinstance(value, _Missing) and go_format.is_true(value)) == (name == "or"):
                break
        return value

    def _nested(self, name: str, arguments: list[Any]) -> str:
        """``include`` of a definition, or ``tpl`` of a text, as a string."""
        if len(arguments) != 2 or not isinstance(arguments[0], str):
            raise GoTemplateError(f"{name} wants a string and its data", name=name)
        kept, self._output = self._output, []
        is_nested, self._is_nested = self._is_nested, True
        if name == "include":
            self._template(*arguments)
        else:
            inner = parse(arguments[0], left=self._braces[0], right=self._braces[1])
            self._definitions |= inner.definitions
            variables, self._variables = self._variables, [("$", arguments[1])]
            self._walk(inner.nodes, arguments[1])
            self._variables = variables
        made, self._output, self._is_nested = "".join(self._output), kept, is_nested
        return made


def _not_set(value: _Missing) -> NotKnownBeforeRun:
    return NotKnownBeforeRun(f"{value.name} is not set in the repo", name=value.name)


def _written(operand: template_parser.FieldChain) -> str:
    of = (
        operand.of.name
        if isinstance(operand.of, template_parser.Variable)
        else ""
        if isinstance(operand.of, template_parser.Dot)
        else "(…)"
    )
    return of + "".join(f".{name}" for name in operand.names)
