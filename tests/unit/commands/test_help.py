"""``firstlight WORD --help`` imports no machinery: what command.py needs before the command is called is light."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
WORDS = sorted(path.parent.name for path in SOURCE.glob("firstlight/commands/*/command.py"))
LIGHT = {
    "firstlight", "firstlight.errors",
    "firstlight.cli", "firstlight.cli.lazy_group", "firstlight.cli.main", "firstlight.cli.options",
    "firstlight.cli.output",
    "firstlight.clients", "firstlight.clients.atomic_file", "firstlight.clients.path_safety",
    "firstlight.commands", "firstlight.drawing", "firstlight.drawing.safe",
    "firstlight.model", "firstlight.model.argocd_names", "firstlight.model.component", "firstlight.model.flux_names",
    "firstlight.model.override", "firstlight.model.own_gates", "firstlight.model.place", "firstlight.model.remote_url",
    "firstlight.model.source",
}  # fmt: skip
"""What every command may import at once."""
LIGHT_PACKAGES = {
    "click", "collections", "contextlib", "dataclasses", "enum", "functools", "gc", "importlib", "io", "ipaddress",
    "itertools", "json", "msgspec", "os", "pathlib", "posixpath", "re", "secrets", "shutil", "signal", "stat", "sys",
    "tempfile", "threading", "types", "typing", "unicodedata",
}  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_help_imports_no_machinery(word: str) -> None:
    room = f"firstlight.commands.{word}"
    found = {each for each in reached(f"{room}.command") if each not in {*LIGHT, room, f"{room}.command"}}
    heavy = sorted(each for each in found if each.partition(".")[0] not in LIGHT_PACKAGES)

    assert heavy == []


def reached(module: str) -> set[str]:
    """Every module that is imported with this one, without what functions import when they are called."""
    found, waiting = {module}, [module]
    while waiting:
        for each in _imports(waiting.pop()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return found


@functools.cache
def _imports(module: str) -> tuple[str, ...]:
    path = _path(module)
    if path is None:
        return ()
    parents = module.split(".")[:-1]
    above = (".".join(parents[:number]) for number in range(1, len(parents) + 1))
    return (*above, *_imported(ast.parse(path.read_text()).body))


def _imported(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.Import():
                yield from (each.name for each in node.names)
            case ast.ImportFrom(module=str(name)):
                submodules = [f"{name}.{each.name}" for each in node.names]
                yield name
                yield from (each for each in submodules if _path(each) is not None)
            case ast.If() if ast.unparse(node.test) != "TYPE_CHECKING":
                yield from _imported([*node.body, *node.orelse])
            case ast.Try():
                yield from _imported([*node.body, *(each for one in node.handlers for each in one.body)])


@functools.cache
def _path(module: str) -> Path | None:
    if not module.startswith("firstlight"):
        return None
    base = SOURCE / module.replace(".", "/")
    return next((each for each in (base.with_suffix(".py"), base / "__init__.py") if each.is_file()), None)
