"""Every code of a diagnostic that stands in the source, found in the syntax tree, and the page that lists their cards.

``python -m tests.codes`` writes docs/diagnostics.md, and into the cards the severities that are always the same.

A code stands in the first argument of ``Diagnostic.error`` and its like, or in an argument or a field that is called
``code``. Which functions and classes have such an argument is found in the source, too.
"""

import ast
import collections
import dataclasses
import functools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from firstlight.commands.explain import codes as code_groups
from firstlight.document import diagnostic_cards
from firstlight.document.diagnostic_cards import DiagnosticCard

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "firstlight"
PAGE = ROOT / "docs" / "diagnostics.md"
CONSTRUCTORS = ("error", "warning", "note", "unknown")
_TELLING = re.compile(rf"\bcode\b|\.(?:{'|'.join(CONSTRUCTORS)})\(")
_NOUN = "model/diagnostic.py"
"""Where the constructors are, which are told apart by their class."""
OTHERS = ("lab/",)
"""Where codes are those of other programs."""


@dataclasses.dataclass(frozen=True, order=True)
class CodeUse:
    """One place at which a code stands."""

    path: str
    line: int
    code: str
    severity: str = ""
    """Where the place itself says it."""

    @property
    def package(self) -> str:
        return self.path.rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.code}"


@dataclasses.dataclass(frozen=True)
class CodeScan:
    """What was found in the source."""

    uses: tuple[CodeUse, ...]
    built: tuple[str, ...]
    """Places at which a code is neither written out nor handed on."""


@dataclasses.dataclass(frozen=True)
class _File:
    """What counts of one file."""

    constants: Mapping[str, ast.expr]
    classes: tuple[ast.ClassDef, ...]
    functions: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]
    calls: tuple[tuple[ast.AST, ast.Call], ...]
    """Each with the innermost function that it stands in."""
    assigned: Mapping[ast.AST, tuple[ast.Assign, ...]]
    """By function."""


@functools.cache
def _files() -> Mapping[str, _File]:
    paths = ((path.relative_to(SOURCE).as_posix(), path) for path in sorted(SOURCE.rglob("*.py")))
    sources = ((name, path.read_text()) for name, path in paths if not name.startswith(OTHERS))
    # Most files have nothing to do with codes, and parsing them all takes seconds.
    return {name: _file(ast.parse(text)) for name, text in sources if _TELLING.search(text)}


def _file(tree: ast.Module) -> _File:
    classes, functions, calls = [], [], []
    assigned: dict[ast.AST, list[ast.Assign]] = collections.defaultdict(list)
    waiting: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while waiting:
        node, function = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(node)
                function = node
            case ast.ClassDef():
                classes.append(node)
            case ast.Call():
                calls.append((function, node))
            case ast.Assign():
                assigned[function].append(node)
        waiting += ((child, function) for child in ast.iter_child_nodes(node))
    found = {function: tuple(each) for function, each in assigned.items() if function is not tree}
    return _File(_constants(tree), tuple(classes), tuple(functions), tuple(calls), found)


@functools.cache
def scan() -> CodeScan:
    kinds = _diagnostic_classes()
    takers = _takers()
    uses: set[CodeUse] = set()
    built: list[str] = []
    for path, file in _files().items():
        for function, call in file.calls:
            for argument, severity in _code_arguments(call, path, kinds, takers):
                for node in _values(argument, file, file.assigned.get(function, ())):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
                        uses.add(CodeUse(path, node.lineno, node.value, severity))
                    elif _is_built(node):
                        built.append(f"{path}:{node.lineno} {ast.unparse(node)}")
    return CodeScan(tuple(sorted(uses)), tuple(built))


def _is_built(node: ast.expr) -> bool:
    """Whether a text is put together; what a function chooses stands where it chooses."""
    return isinstance(node, ast.JoinedStr | ast.BinOp) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and hasattr(str, node.func.attr)
    )


def _diagnostic_classes() -> frozenset[str]:
    known = {"Diagnostic"}
    bases = {node.name: {_last(each) for each in node.bases} for file in _files().values() for node in file.classes}
    while more := {name for name, has in bases.items() if has & known} - known:
        known |= more
    return frozenset(known)


def _takers() -> Mapping[str, Mapping[str, int]]:
    """Return functions and classes by file and name, with the position of their ``code``, -1 for a keyword alone.

    Public ones are also below the empty file, since anybody may call them.
    """
    found: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for path, file in _files().items():
        for node in (*file.classes, *file.functions) if path != _NOUN else ():
            position = _position(node)
            if position is not None:
                found[path][node.name] = position
                if not node.name.startswith("_"):
                    found[""][node.name] = position
    return found


def _position(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int | None:
    if not isinstance(node, ast.ClassDef):
        return _parameter(node.args)
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return _parameter(each.args)
    fields = [(each.target, each.annotation) for each in node.body if isinstance(each, ast.AnnAssign)]
    named = [(target.id, ast.unparse(kind)) for target, kind in fields if isinstance(target, ast.Name)]
    return named.index(("code", "str")) if ("code", "str") in named else None


def _parameter(arguments: ast.arguments) -> int | None:
    """Return the position of a text that is called ``code``; exit codes are numbers."""
    places = [each.arg for each in (*arguments.posonlyargs, *arguments.args) if each.arg not in ("self", "cls")]
    texts = [
        each.arg
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        if each.annotation is not None and ast.unparse(each.annotation) == "str"
    ]
    if "code" not in texts:
        return None
    return places.index("code") if "code" in places else -1


def _code_arguments(
    call: ast.Call, path: str, kinds: frozenset[str], takers: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[ast.expr, str]]:
    name = _last(call.func)
    owner = _last(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    if name in CONSTRUCTORS and owner in kinds:
        yield from ((each, name) for each in call.args[:1])
        yield from ((each.value, name) for each in call.keywords if each.arg == "code")
        return
    severity = next((each.value for each in call.keywords if each.arg == "severity"), None)
    fixed = _last(severity).lower() if severity is not None and ast.unparse(severity).startswith("Severity.") else ""
    for each in call.keywords:
        is_number = isinstance(each.value, ast.Constant) and not isinstance(each.value.value, str)
        if each.arg == "code" and not is_number and (name in kinds or _is_written(each.value)):
            yield each.value, fixed if name in kinds else ""
    position = takers.get(path, {}).get(name, takers[""].get(name))
    # The name of a method of anything else means nothing.
    is_ours = not isinstance(call.func, ast.Attribute) or isinstance(call.func.value, ast.Name)
    if position is not None and is_ours and 0 <= position < len(call.args):
        argument = call.args[position]
        if _is_written(argument):
            yield argument, ""


def _is_written(node: ast.expr) -> bool:
    """Whether it is a text that is written here, or a choice of texts."""
    return isinstance(node, ast.IfExp | ast.Subscript | ast.Name) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _values(node: ast.expr, file: _File, assigned: Iterable[ast.Assign]) -> Iterator[ast.expr]:
    """Yield what an argument may be: choices, constants, tables and the variables of its function are followed."""
    match node:
        case ast.IfExp():
            yield from _values(node.body, file, assigned)
            yield from _values(node.orelse, file, assigned)
        case ast.BoolOp():
            for each in node.values:
                yield from _values(each, file, assigned)
        case ast.Subscript(value=ast.Name(id=name)) if isinstance(table := file.constants.get(name), ast.Dict):
            for each in table.values:
                yield from _values(each, file, ())
        case ast.Name(id=name):
            if name in file.constants:
                yield from _values(file.constants[name], file, ())
            for value in (found for each in assigned for found in _given(each, name)):
                yield from _values(value, file, ())
        case _:
            yield node


def _given(assignment: ast.Assign, name: str) -> Iterator[ast.expr]:
    """Yield what a variable gets, also where several get their values at once."""
    for target in assignment.targets:
        if _is_name(target, name):
            yield assignment.value
        elif isinstance(target, ast.Tuple) and isinstance(assignment.value, ast.Tuple):
            pairs = zip(target.elts, assignment.value.elts, strict=False)
            yield from (value for each, value in pairs if _is_name(each, name))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                found |= {
                    each.id: value for each in names if isinstance(each, ast.Name) for value in _given(node, each.id)
                }
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def _last(node: ast.expr) -> str:
    """Return the last name of a dotted name: ``Diagnostic`` of ``diagnostic.Diagnostic``."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last(value)
    return ""


@functools.cache
def is_named(code: str) -> bool:
    """Whether a code stands in the source as a text of its own, whichever way it goes from there."""
    return any(f'"{code}"' in text for text in _texts())


@functools.cache
def _texts() -> tuple[str, ...]:
    return tuple(path.read_text() for path in SOURCE.rglob("*.py"))


def page() -> str:
    """Return docs/diagnostics.md."""
    by_group: dict[str, list[DiagnosticCard]] = collections.defaultdict(list)
    for card in diagnostic_cards.cards().values():
        by_group[code_groups.group(card).title].append(card)
    lines = [
        "# Diagnostics",
        "",
        "Everything that firstlight finds wrong, doubtful or cannot understand has a code. This page lists",
        "all codes; `firstlight explain CODE` shows one of them. Codes are stable: scripts may compare them,",
        "messages may change.",
        "",
        "The page is generated from the cards beside the code (`make diagnostics`).",
        "",
    ]
    shown = [each for each in code_groups.groups() if by_group.get(each.title)]
    lines += [f"- [{each.title}](#{_anchor(each.title)}): {len(by_group[each.title])}" for each in shown]
    for group in shown:
        lines += ["", f"## {group.title}", "", f"More: [{group.page}]({group.page})"]
        for card in sorted(by_group[group.title], key=lambda each: each.code):
            severity = f" ({card.severity})" if card.severity else ""
            lines += ["", f"### `{card.code}`", "", *_wrapped(f"{card.title}{severity}. {card.why}")]
            lines += ["", *_wrapped(f"Fix: {card.fix}")]
    return "\n".join(lines) + "\n"


def _anchor(title: str) -> str:
    return "".join(each for each in title.lower().replace(" ", "-") if each.isalnum() or each in "-_")


def _wrapped(text: str) -> list[str]:
    """Return lines in which Markdown sees nothing of its own."""
    plain = "".join(f"\\{each}" if each in "\\*_<>[]`#" else each for each in text)
    return textwrap.wrap(plain, width=100, break_long_words=False, break_on_hyphens=False)


def severities() -> Mapping[str, str]:
    """Return the severity of each code of which the source says the same wherever it stands."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for each in scan().uses:
        found[each.code].add(each.severity)
    return {code: next(iter(each)) for code, each in found.items() if len(each) == 1 and each != {""}}


def with_severities(text: str) -> str:
    """Return a file of cards in which each has its severity below its title, if it has one."""
    lines: list[str] = []
    code, fixed = "", severities()
    for line in text.splitlines(keepends=True):
        if not line.startswith((" ", "#")):
            code = line.partition(":")[0]
        if not line.startswith("  severity:"):
            lines.append(line)
        if line.startswith("  title:") and code in fixed:
            lines.append(f"  severity: {fixed[code]}\n")
    return "".join(lines)


def files() -> list[Path]:
    """Return all files of cards whose severities stand in the source."""
    return sorted(SOURCE.rglob(diagnostic_cards.FILE))


if __name__ == "__main__":
    for file in files():
        file.write_text(with_severities(file.read_text()))
    PAGE.write_text(page())
