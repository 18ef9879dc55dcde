"""Where a tool is, in the order of what the user means most.

A path given in ``FIRSTLIGHT_<NAME>`` wins, and a wrong one is a problem, never a reason to look elsewhere.
Then the directory of ``KUBEBUILDER_ASSETS``; then, for programs, PATH; then the cache. What is found and does
not do is passed over with a reason.
"""

import asyncio
import dataclasses
import enum
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file, command, program_path
from firstlight.clients.sandbox import program_limits
from firstlight.tools import catalogue, tool_version, workshop


class FoundWhere(enum.Enum):
    """How a tool was found."""

    GIVEN = "given"
    ASSETS = "assets"
    PATH = "path"
    CACHE = "cache"


@dataclasses.dataclass(frozen=True)
class FoundTool:
    """A tool that will do."""

    path: Path
    version: str
    where: FoundWhere


@dataclasses.dataclass(frozen=True)
class SkippedCandidate:
    """A file that looked like the tool and will not do."""

    path: Path
    where: FoundWhere
    why: str


@dataclasses.dataclass(frozen=True)
class ToolSearch:
    """The outcome of looking for a tool; ``problem`` is set if the user's own path is at fault."""

    tool: catalogue.CatalogueTool
    found: FoundTool | None
    passed_over: tuple[SkippedCandidate, ...] = ()
    problem: str = ""


async def find_all(tools: Iterable[catalogue.CatalogueTool], shop: workshop.Workshop) -> tuple[ToolSearch, ...]:
    """Look for several tools at once."""
    return tuple(await asyncio.gather(*(find(tool, shop) for tool in tools)))


async def find(tool: catalogue.CatalogueTool, shop: workshop.Workshop) -> ToolSearch:
    """Look for a tool."""
    if given := shop.environ.get(tool.variable):
        candidate = await _examine(Path(given).expanduser().absolute(), FoundWhere.GIVEN, tool, shop)
        if isinstance(candidate, FoundTool):
            return ToolSearch(tool, candidate)
        return ToolSearch(tool, None, (candidate,), f"{tool.variable} is {given}, but {candidate.why}")

    passed_over: list[SkippedCandidate] = []
    for path, where in _candidates(tool, shop):
        candidate = await _examine(path, where, tool, shop)
        if isinstance(candidate, FoundTool):
            return ToolSearch(tool, candidate, tuple(passed_over))
        passed_over.append(candidate)

    entry, damaged = shop.cache.look_up(tool.name, shop.recipes(tool))
    passed_over += [SkippedCandidate(d.path, FoundWhere.CACHE, f"it is damaged: {d.why}") for d in damaged]
    if entry is None:
        return ToolSearch(tool, None, tuple(passed_over))
    return ToolSearch(tool, FoundTool(entry.path, entry.provenance.version, FoundWhere.CACHE), tuple(passed_over))


def _candidates(tool: catalogue.CatalogueTool, shop: workshop.Workshop) -> Iterable[tuple[Path, FoundWhere]]:
    assets = shop.environ.get("KUBEBUILDER_ASSETS")
    if assets and tool.assets:
        yield Path(assets).absolute() / tool.name, FoundWhere.ASSETS
    if tool.kind is not catalogue.ToolKind.COMPONENT:
        on_path = program_path.find(tool.file_name, shop.environ)
        if on_path:
            yield Path(on_path), FoundWhere.PATH


async def _examine(
    path: Path, where: FoundWhere, tool: catalogue.CatalogueTool, shop: workshop.Workshop
) -> FoundTool | SkippedCandidate:
    if not path.exists():
        return SkippedCandidate(path, where, "there is no such file")
    if not path.is_file() or not os.access(path, os.X_OK):
        return SkippedCandidate(path, where, "that is not a program")
    answer = await ask_version(path, tool, shop)
    if answer.problem:
        return SkippedCandidate(path, where, answer.problem)
    requirement = tool.requirement
    # Some controllers cannot be asked; whoever gives a path to one knows what it is.
    if requirement is not None and answer.version:
        try:
            fits = requirement.accepts(tool_version.parse(answer.version))
        except ValueError:
            fits = False
        if not fits:
            return SkippedCandidate(path, where, f"its version is {answer.version}, and {tool.needed} is needed")
    return FoundTool(path, answer.version, where)


# Asking a program for its version, and remembering the answer for as long as the file is the same.


_TIMEOUT = 20
"""Seconds. The slowest answer seen was 0.4 s; a busy machine with cold disks may need many times that."""


@dataclasses.dataclass(frozen=True)
class VersionAnswer:
    """The version that a program told, or why it did not."""

    version: str
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class _Remembered:
    path: str
    modified: int
    size: int
    question: str
    version: str


async def ask_version(path: Path, tool: catalogue.CatalogueTool, shop: workshop.Workshop) -> VersionAnswer:
    """The version of the program at ``path``; from memory if the file has not changed."""
    if not tool.ask:
        return VersionAnswer("")
    status = path.stat()
    question = f"{' '.join(tool.ask)} {tool.answer}"
    note = shop.cache.versions / hashlib.sha256(str(path).encode()).hexdigest()[:16]
    remembered = _recall(note)
    if remembered is not None and dataclasses.replace(remembered, version="") == _Remembered(
        str(path), status.st_mtime_ns, status.st_size, question, ""
    ):
        return VersionAnswer(remembered.version)
    answer = await ask_version_now(path, tool, shop)
    if answer.version:
        _remember(note, _Remembered(str(path), status.st_mtime_ns, status.st_size, question, answer.version))
    return answer


async def ask_version_now(path: Path, tool: catalogue.CatalogueTool, shop: workshop.Workshop) -> VersionAnswer:
    """The version of the program at ``path``, asked in any case."""
    try:
        # Away from the working directory, where some look for settings of a project.
        completed = await command.run(
            [str(path), *tool.ask],
            env=shop.environ,
            cwd=Path("/"),
            timeout=_TIMEOUT,
            check=False,
            within=program_limits.READER,
        )
    except (errors.ClientError, OSError) as error:
        return VersionAnswer("", f"it does not run: {error}")
    printed = completed.stdout.decode(errors="replace") + completed.stderr
    match = re.search(tool.answer, printed)
    if match is None:
        return VersionAnswer("", f"it does not tell its version when asked with {' '.join(tool.ask)}")
    return VersionAnswer(match[1])


def _recall(note: Path) -> _Remembered | None:
    try:
        return msgspec.json.decode(note.read_bytes(), type=_Remembered)
    except (OSError, msgspec.DecodeError):
        return None


def _remember(note: Path, remembered: _Remembered) -> None:
    # A cache that cannot be written only makes the next listing slower.
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.replace(note, msgspec.json.encode(remembered), durable=False)
    except OSError:
        return
