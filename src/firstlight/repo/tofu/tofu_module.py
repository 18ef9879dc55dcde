"""One module of OpenTofu: its blocks, and the values of its variables as far as files say them."""

import functools
import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.tofu import hcl_syntax
from firstlight.repo.tofu.hcl_evaluator import Evaluator, Scope
from firstlight.repo.tofu.hcl_syntax import HclBlock
from firstlight.repo.tofu.hcl_values import Node, UnknownValue
from firstlight.repo.work_tree import WorkTree

ENDINGS = (".tf", ".tofu")
TEMPLATES = (".tftpl",)
_DEPTH = 4
"""Modules inside of modules that are followed."""


class TofuModule:
    """A directory of files, called with arguments or by itself."""

    def __init__(self, tree: WorkTree, directory: str, arguments: Mapping[str, Any] | None = None) -> None:
        """Read the files; nothing is evaluated yet.

        Args:
            tree: The repo.
            directory: Where the files are.
            arguments: What the caller gives; None for a module that nobody of this repo calls.
        """
        self.tree = tree
        self.directory = directory
        self.diagnostics: list[Diagnostic] = []
        self.blocks: list[HclBlock] = []
        local_values: dict[str, tuple[Node, str]] = {}
        declared: dict[str, HclBlock] = {}
        for path in module_files(tree, directory):
            found, line = hcl_syntax.blocks(tree.bytes(path) or b"", path)
            if line:
                message = "the file cannot be parsed whole; what is before and after the mistake is read"
                self.diagnostics.append(Diagnostic.unknown("tofu-syntax", message, at=Place(path, line)))
            for block in found:
                if block.type == "locals":
                    local_values |= {name: (node, path) for name, node in block.attributes.items()}
                elif block.type == "variable" and block.labels:
                    declared[block.labels[0]] = block
                else:
                    self.blocks.append(block)
        given = arguments if arguments is not None else self._files_of_values()
        self._values: dict[str, Any] = {}
        self.evaluator = Evaluator(
            tree,
            directory,
            variables={name: functools.partial(self._variable, name, block, given) for name, block in declared.items()},
            local_values=local_values,
        )

    def of(self, kind: str, label: str) -> Iterator[HclBlock]:
        """Yield the blocks of a type: ``("data", "talos_machine_configuration")``."""
        return (each for each in self.blocks if each.type == kind and each.labels[:1] == (label,))

    def value(self, block: HclBlock, name: str, **names: Any) -> Any:
        """Return an attribute of a block; None where it has none."""
        node = block.attributes.get(name)
        return None if node is None else self.evaluator.value(node, Scope(names, block.path))

    def text(self, block: HclBlock, name: str, **names: Any) -> str:
        """Return an attribute that is a known text; empty otherwise."""
        value = self.value(block, name, **names)
        from_marks = isinstance(value, str) and "\ue0f0" not in value
        return str(value) if from_marks else ""

    def each_of(self, block: HclBlock) -> list[dict[str, Any]] | None:
        """Return the names of each instance of a block; None where only a run knows how many there are."""
        if "for_each" in block.attributes:
            over = self.value(block, "for_each")
            if isinstance(over, Mapping):
                return [{"each": {"key": key, "value": value}} for key, value in sorted(over.items())]
            if isinstance(over, list) and all(isinstance(one, str) for one in over):
                return [{"each": {"key": one, "value": one}} for one in sorted(over)]
            return None
        if "count" in block.attributes:
            number = self.value(block, "count")
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 1000:
                return None
            return [{"count": {"index": at}} for at in range(number)]
        return [{}]

    def called(self, *, depth: int = 0) -> Iterator["TofuModule"]:
        """Yield this module, and those of the repo that it calls."""
        yield self
        if depth >= _DEPTH:
            return
        for block in self.blocks:
            source = self.text(block, "source") if block.type == "module" else ""
            if not source.startswith("."):
                continue
            directory = work_tree.join(self.directory, source)
            if directory is None or not any(module_files(self.tree, directory)):
                continue
            for names in self.each_of(block) or [{}]:
                arguments = {name: self.value(block, name, **names) for name in block.attributes if name != "source"}
                yield from TofuModule(self.tree, directory, arguments).called(depth=depth + 1)

    def _variable(self, name: str, block: HclBlock, given: Mapping[str, Any]) -> Any:
        if name not in self._values:
            if name in given:
                self._values[name] = given[name]
            elif "default" in block.attributes:
                self._values[name] = self.value(block, "default")
            else:
                self._values[name] = UnknownValue(f"var.{name}", f"no file of the repo gives {name} a value")
        return self._values[name]

    def _files_of_values(self) -> dict[str, Any]:
        """Return what the files of values say that OpenTofu reads by itself."""
        names = [posixpath.basename(path) for path in self.tree.below(self.directory or ".")]
        automatic = sorted(name for name in names if name.endswith((".auto.tfvars", ".auto.tfvars.json")))
        chosen = [name for name in ("terraform.tfvars", "terraform.tfvars.json") if name in names] + automatic
        found: dict[str, Any] = {}
        for name in chosen:
            path = posixpath.join(self.directory, name) if self.directory else name
            data = self.tree.bytes(path) if self.tree.is_file(path) else None
            if data is None:
                continue
            if name.endswith(".json"):
                found |= _json(data)
                continue
            plain = Evaluator(self.tree, self.directory, variables={}, local_values={})
            found |= {key: plain.value(node, Scope(path=path)) for key, node in hcl_syntax.attributes(data).items()}
        return found


def roots(tree: WorkTree) -> list[TofuModule]:
    """Return the modules that no other module of the repo calls: what people run."""
    directories = dict.fromkeys(posixpath.dirname(path) for path in tree.current_files if path.endswith(ENDINGS))
    found = [TofuModule(tree, directory) for directory in directories]
    inside = {each.directory for root in found for each in root.called() if each is not root}
    return [root for root in found if root.directory not in inside]


def mentions(tree: WorkTree, *names: bytes) -> bool:
    """Whether any file of OpenTofu has one of some names in it."""
    return any(
        name in (tree.bytes(path) or b"") for path in tree.current_files if path.endswith(ENDINGS) for name in names
    )


def module_files(tree: WorkTree, directory: str) -> list[str]:
    """Return the files of a module; those below its directory are other modules."""
    return [
        path
        for path in tree.below(directory or ".", *ENDINGS)
        if posixpath.dirname(path) == (directory if directory != "." else "")
    ]


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
