"""The tree itself: names that do not repeat, tests where the source is, rooms without circles, imports at the top."""

import ast
import collections
import configparser
import functools
import graphlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "firstlight"
FIXED_NAMES = {"__init__", "__main__", "command", "text", "data", "markdown", "page", "output_form"}
"""File names that mean the same in every room."""
ENGINE_NAMES = {"adapter", "roots", "verdicts", "manifests"}
"""File names that mean the same in the package of every engine."""
MOST = 3
LAZY_PACKAGES = {
    "aiohttp", "yarl", "cryptography", "jsonschema_rs", "minijinja", "msgspec", "re2", "celpy", "tree_sitter",
    "tree_sitter_hcl",
}  # fmt: skip
"""Slow to import, and not needed by every call of those who use them."""
LAZY_MODULES = {"cli/main.py", "cli/lazy_group.py", "clients/kube/__init__.py", "api.py", "model/remote_url.py"}
"""Modules that defer imports of ours on purpose: each says why."""


@functools.cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def test_no_module_name_stands_for_more_than_three_things() -> None:
    found = collections.defaultdict(list)
    for path in _trees():
        is_engine = path.parent.parent.name == "engines" and path.stem in ENGINE_NAMES
        if path.stem not in FIXED_NAMES and not is_engine:
            found[path.stem].append(str(path.relative_to(SOURCE)))

    assert {name: paths for name, paths in found.items() if len(paths) > MOST} == {}


def test_no_public_class_name_twice() -> None:
    found = collections.defaultdict(list)
    for path, tree in _trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(SOURCE)))

    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_unit_tests_lie_where_their_source_lies() -> None:
    beside = ROOT / "tests" / "unit"
    directories = {path.parent.relative_to(beside) for path in beside.rglob("test_*.py")}

    assert {str(each) for each in directories if not (SOURCE / each).is_dir()} == set()


def test_integration_tests_lie_where_their_source_lies() -> None:
    beside = ROOT / "tests" / "integration"
    directories = {path.parent.relative_to(beside) for path in beside.rglob("test_*.py")}

    assert {str(each) for each in directories if not (SOURCE / each).is_dir()} == set()


def test_rooms_that_use_rooms_make_no_circle() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    uses = collections.defaultdict(set)
    for line in parser["importlinter:contract:rooms"]["ignore_imports"].split("\n"):
        if "->" in line:
            room, other = (each.strip().split(".")[2] for each in line.split("->"))
            uses[room].add(other)

    assert len(uses) > 1
    graphlib.TopologicalSorter(uses).prepare()


def test_imports_are_at_the_top() -> None:
    found = []
    for path, tree in _trees().items():
        place = path.relative_to(SOURCE).as_posix()
        for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)):
            for node in (each for each in ast.walk(function) if isinstance(each, ast.Import | ast.ImportFrom)):
                name = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
                if path.name == "command.py":  # click alone: what a command does is imported when it is called
                    continue
                if place not in LAZY_MODULES and name.split(".")[0] not in LAZY_PACKAGES:
                    found.append(f"{place}:{node.lineno} {name}")

    assert found == []
