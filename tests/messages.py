"""Branches on what is written for people, found in the syntax tree: they break as soon as somebody rewords it.

Such a branch compares, searches or takes apart an attribute like ``message``, or the text of an exception.
"""

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "firstlight"
WORDS = frozenset({"message", "reason", "title", "says", "why", "detail", "hint", "fix"})
"""Attributes that are written for people."""
SEARCHES = frozenset({
    "startswith", "endswith", "find", "rfind", "index", "partition", "rpartition", "split", "rsplit",
    "match", "search", "fullmatch", "findall", "finditer",
})  # fmt: skip


@dataclasses.dataclass(frozen=True, order=True)
class MessageBranch:
    """A place at which a program looks into a text for people."""

    path: str
    line: int
    code: str

    @property
    def package(self) -> str:
        return self.path.rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.code}"


def branches() -> list[MessageBranch]:
    return sorted(
        MessageBranch(path.relative_to(SOURCE).as_posix(), node.lineno, ast.unparse(node))
        for path in SOURCE.rglob("*.py")
        for node in of_module(ast.parse(path.read_text()))
    )


def of_module(tree: ast.Module) -> Iterator[ast.expr]:
    exceptions = {each.name for each in ast.walk(tree) if isinstance(each, ast.ExceptHandler) and each.name}
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                parts = [node.left, *node.comparators]
                # Whether there is one at all is no question of wording.
                is_empty = any(isinstance(each, ast.Constant) and each.value in ("", None) for each in parts)
                if not is_empty and any(_is_text(each, exceptions) for each in parts):
                    yield node
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in SEARCHES:
                is_layout = name in ("split", "rsplit") and not node.args  # into words, to wrap them
                if not is_layout and any(_is_text(each, exceptions) for each in (value, *node.args)):
                    yield node
            case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]) if _is_text(key, exceptions):
                yield node
            case ast.Subscript(slice=key) if _is_text(key, exceptions):
                yield node
            case ast.Match():
                if _is_text(node.subject, exceptions):
                    yield node.subject


def _is_text(node: ast.expr, exceptions: set[str]) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in WORDS
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in exceptions
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if hasattr(str, name) and name not in SEARCHES:
            return _is_text(value, exceptions)  # error.message.lower()
        case ast.Subscript(value=value):
            return _is_text(value, exceptions)
    return False
