"""The Go modules that things are built from: pins below ``lab/pins`` and programs of our own below ``lab``.

A module is read once, as a whole. What was read decides the key and is what gets built, in a private copy, so
that neither a read-only installation nor an editor that saves in between can make the two differ.
"""

import dataclasses
import importlib.resources
import os
import re
from collections.abc import Iterable
from pathlib import Path

from firstlight import errors
from firstlight.tools import tool_version


@dataclasses.dataclass(frozen=True)
class GoModule:
    """All files of a Go module, by path relative to its go.mod."""

    directory: Path
    files: tuple[tuple[str, bytes], ...]

    @property
    def go_mod(self) -> str:
        """The text of its go.mod."""
        return dict(self.files)["go.mod"].decode()

    @property
    def go(self) -> tool_version.ToolVersion:
        """The oldest Go that its go.mod accepts."""
        match = re.search(r"^go\s+(\S+)", self.go_mod, re.MULTILINE)
        return tool_version.parse(match[1] if match else "1.21")

    def write(self, to: Path) -> None:
        """A copy in another directory."""
        write_files(self.files, to)


def lab_directory() -> Path:
    """Where ``lab`` is: beside the sources in a checkout, inside the package in an installed wheel."""
    package = importlib.resources.files("firstlight")
    inside = Path(str(package)) / "_lab"
    checkout = Path(str(package)).parents[1] / "lab"
    return checkout if (checkout / "pins").is_dir() else inside


def read(directory: Path) -> GoModule:
    """Read a module.

    Raises:
        errors.ToolError: It is not there, or refers to files outside of itself.
    """
    if not (directory / "go.mod").is_file():
        raise errors.ToolError(
            f"there is no Go module in {directory}", hint="this installation of firstlight is not complete"
        )
    module = GoModule(directory, read_files(directory))
    if outside := re.search(r"=>\s+(\.\./\S*|/\S*)", module.go_mod):
        raise errors.ToolError(f"{directory}/go.mod replaces a module by {outside[1]}, which is outside of it")
    return module


def read_files(directory: Path) -> tuple[tuple[str, bytes], ...]:
    """Every file below a directory that has a say in what is made of it, by its path."""
    found: list[tuple[str, bytes]] = []
    for parent, directories, names in os.walk(directory):
        directories[:] = sorted(d for d in directories if not d.startswith(".") and d != "testdata")
        # Tests do not end up in the binary, so they are no reason to build it again.
        chosen = (n for n in names if not n.startswith(".") and not n.endswith("_test.go"))
        found.extend(
            ((Path(parent) / name).relative_to(directory).as_posix(), (Path(parent) / name).read_bytes())
            for name in chosen
        )
    return tuple(sorted(found))


def write_files(files: Iterable[tuple[str, bytes]], to: Path) -> None:
    """Write files that were read below another directory."""
    for name, content in files:
        path = to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
