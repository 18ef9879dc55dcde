"""What is newer than the pins, and whether it can be had: ``make outdated``.

In come the catalogue, the go.mod files below lab and the locked Python packages; the module proxy and the package
index are asked by their own clients, ``go`` and ``pip``. A proxy lists some versions whose archive it refuses, and has
others that it does not list: so neighbours of what is listed are asked for by name, and archives are fetched.
"""

import concurrent.futures
import dataclasses
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from firstlight.drawing import table
from firstlight.tools import catalogue, tool_version
from firstlight.tools.tool_version import ToolVersion
from tests import advisories
from tests.advisories import ROOT, TOOLCHAIN, Pin

AT_ONCE = 6
"""Questions at a time."""
GAP = 2
"""Versions in a row that do not exist before the search ends: a project may skip a number, seldom two."""
TRIED = 4
"""Archives that are tried for a pin, from the newest down."""
_DIRECT = re.compile(r"^(?:require )?\s*(\S+) (v\d\S*)$", re.MULTILINE)
_STABLE = re.compile(r"v?\d+(?:\.\d+)+(?:\.post\d+)?(?:\+incompatible)?")


class Index(Protocol):
    """Where versions come from."""

    def listed(self, name: str) -> Iterable[str]:
        """The versions that it lists."""

    def exists(self, name: str, version: str) -> bool:
        """Whether it knows a version, listed or not."""

    def refusal(self, name: str, version: str) -> str:
        """Why the archive cannot be had; empty if it can."""


@dataclasses.dataclass(frozen=True)
class NewerVersions:
    """What is newer than a pin."""

    pin: Pin
    newest: str = ""
    """Of all; empty if nothing is newer."""
    available: str = ""
    """The newest whose archive can be had, and that is newer than the pin."""
    patch: str = ""
    """The same within the pin's own minor version."""
    refused: tuple[str, ...] = ()
    """Why the archives that were tried in vain cannot be had."""


def newer(pin: Pin, index: Index) -> NewerVersions:
    """Compare a pin with what there is."""
    own = tool_version.parse(pin.version)
    known = {found for each in index.listed(pin.module) if _STABLE.fullmatch(each) and (found := _parsed(each)) > own}
    if pin.is_go:
        # Of the newest line that is listed, and of the pin's own: more may be there than the list says.
        for start in {own, max(known, default=own)}:
            known |= set(neighbours(start, lambda each: index.exists(pin.module, f"v{each}")))
    refused: dict[str, str] = {}

    def first(versions: Iterable[ToolVersion]) -> str:
        for version in sorted(versions, reverse=True)[:TRIED]:
            text = f"v{version}" if pin.version.startswith("v") else str(version)
            if text not in refused:
                if not (why := index.refusal(pin.module, text)):
                    return str(version)
                refused[text] = why
        return ""

    available = first(known)
    patch = first(each for each in known if each.numbers[:2] == own.numbers[:2])
    return NewerVersions(pin, str(max(known, default="")), available, patch, tuple(refused.values()))


def neighbours(start: ToolVersion, exists: Callable[[ToolVersion], bool]) -> Iterator[ToolVersion]:
    """Versions after one that exist: later patches of its line, and all of the lines after it."""
    major, minor, patch = start.numbers
    yield from _line(major, minor, patch + 1, exists)
    absent = 0
    while absent < GAP:
        minor += 1
        line = list(_line(major, minor, 0, exists))
        yield from line
        absent = 0 if line else absent + 1


def _line(major: int, minor: int, patch: int, exists: Callable[[ToolVersion], bool]) -> Iterator[ToolVersion]:
    """The versions of a line from a patch on, until several in a row do not exist."""
    absent = 0
    while absent < GAP:
        version = ToolVersion((major, minor, patch))
        is_there = exists(version)
        if is_there:
            yield version
        absent = 0 if is_there else absent + 1
        patch += 1


def _parsed(text: str) -> ToolVersion:
    return tool_version.parse(text.removesuffix("+incompatible"))


def pins(root: Path = ROOT) -> list[Pin]:
    """What people raise, each once: programs and content of the lab, what its sources require, Python packages."""
    known = catalogue.load()
    found = [Pin(place, module, version) for place, module, version in _built(known, root)]
    found += [
        Pin(entry.name, module.path, module.version) for entry in known.content.values() for module in entry.module
    ]
    for name in ("programs", "machine"):
        text = (root / "lab" / name / "go.mod").read_text()
        found += [Pin(f"lab/{name}", module, version) for module, version in _DIRECT.findall(text)]
    found += [each for each in advisories.pins(root) if not each.is_go and each.place in _LOCKED]
    return [each for each in dict.fromkeys(found) if _STABLE.fullmatch(each.version)]


_LOCKED = ("requirements/dev.txt", "requirements/uv.txt", f"lab/pins/{TOOLCHAIN}.txt")


def _built(known: catalogue.Catalogue, root: Path) -> Iterator[tuple[str, str, str]]:
    for tool in known.tools.values():
        if tool.build is None or not tool.build.pin:
            continue
        place = f"lab/pins/{tool.build.pin}"
        if tool.build.copy is not None:
            yield place, tool.build.copy.path, tool.build.copy.version
            continue
        for pin in advisories.modules(root / place / "go.mod", root):
            if pin.version == f"v{tool.version}" and _is_of(tool.build, pin):
                yield place, pin.module, pin.version
                break


def _is_of(build: catalogue.GoBuild, pin: Pin) -> bool:
    """Whether a package is of a module; one of our own main packages stands for the client that it wraps."""
    return f"{build.package}/".startswith(f"{pin.module}/") or (build.package == "." and "/client" in pin.module)


class AllIndexes:
    """The module proxy for modules, the package index for Python packages."""

    def __init__(self, folder: Path) -> None:
        """Work in an empty directory: neither client may find a project around it."""
        self._folder = folder
        (folder / "go.mod").write_text("module firstlight.dev/outdated\n\ngo 1.21\n")

    def listed(self, name: str) -> Iterable[str]:
        """The versions that are listed."""
        if _is_module(name):
            said = json.loads(self._run("go", "list", "-m", "-versions", "-json", name) or "{}")
            return [str(each) for each in said.get("Versions", ())]
        versions = re.search(r"^Available versions: (.*)$", self._pip("index", "versions", name), re.MULTILINE)
        return versions[1].split(", ") if versions else ()

    def exists(self, name: str, version: str) -> bool:
        """Whether there is a version."""
        return bool(self._run("go", "list", "-m", "-json", f"{name}@{version}"))

    def refusal(self, name: str, version: str) -> str:
        """Why an archive cannot be had."""
        if _is_module(name):
            with tempfile.TemporaryDirectory(dir=self._folder) as cache:
                said = self._run("go", "mod", "download", "-json", f"{name}@{version}", cache=cache, always=True)
            answer = json.loads(said or "{}")
            # A module that wants a newer Go is an error, but its archive has been fetched.
            return "" if answer.get("Zip") else _reason(answer.get("Error", "go said nothing"))
        with tempfile.TemporaryDirectory(dir=self._folder) as files:
            fetched = self._pip("download", "--quiet", "--no-deps", "--dest", files, f"{name}=={version}")
            return "" if any(Path(files).iterdir()) else _reason(fetched or "pip fetched nothing")

    def _pip(self, *words: str) -> str:
        # The private environment has no pip; the one that uv came with has.
        return self._run(str(ROOT / ".venv-uv/bin/python"), "-m", "pip", "--disable-pip-version-check", *words)

    def _run(self, *words: str, cache: str = "", always: bool = False) -> str:
        """What a program prints; nothing if it fails, unless it is asked for all the same."""
        settings = {"GOFLAGS": "-mod=mod -modcacherw", "GOTOOLCHAIN": "local", "GOWORK": "off"}
        env = {**os.environ, **settings} | ({"GOMODCACHE": cache} if cache else {})
        done = subprocess.run(words, cwd=self._folder, env=env, check=False, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 or always else ""


def _is_module(name: str) -> bool:
    return "/" in name


def _reason(text: str) -> str:
    """The end of an error's first line: ``403 Forbidden``."""
    return text.strip().partition("\n")[0].rpartition(": ")[2]


def report(found: Sequence[NewerVersions]) -> list[str]:
    """A row for each pin with something newer, and how many have nothing."""
    rows = [["pin", "module or package", "pinned", "newest", "newest patch to be had", "newest to be had"]]
    newer_ones = [each for each in found if each.newest]
    for each in newer_ones:
        pin = each.pin
        had = each.available or f"none: {each.refused[0]}"
        rows.append([pin.place, pin.module, pin.version.removeprefix("v"), each.newest, each.patch or "-", had])
    lines = [line.rstrip() for line in table.render(rows, columns=_COLUMNS)] if newer_ones else []
    return [*lines, f"{len(newer_ones)} of {len(found)} pins have something newer"]


_COLUMNS = 160


def main() -> None:
    """Ask for all pins, and print what is newer."""
    everything = pins()
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        index = AllIndexes(Path(folder))
        found = list(pool.map(lambda pin: newer(pin, index), everything))
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
