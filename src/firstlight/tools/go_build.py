"""Building a tool from Go sources, in a private copy of its module, with a count of what is done and left."""

import dataclasses
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import program_limits
from firstlight.tools import catalogue, go_module, go_sources, go_toolchain, tool_progress, workshop

_TIMEOUT = 4 * 3600
"""Seconds. The slowest build takes five minutes on two cores; this only ends one that hangs for good."""

_TELLING = 8
"""Lines of a failed build that are shown: a compiler error with its context; the rest is in the log."""


async def build(
    tool: catalogue.CatalogueTool,
    module: go_sources.GoModule,
    go: go_toolchain.GoToolchain,
    *,
    shop: workshop.Workshop,
    stage: Path,
    report: tool_progress.Report,
) -> Path:
    """Build a tool in ``stage``; the path of the binary.

    Raises:
        errors.ToolError: Modules cannot be fetched or do not compile.
    """
    assert tool.build is not None
    copy = stage / "module"
    module.write(copy)
    if tool.build.copy is not None:
        await _complete(tool.build.copy, copy, name=tool.name, shop=shop, stage=stage, report=report)
    temporary = stage / "go-tmp"
    temporary.mkdir()
    # Go's own temporary files go where a later run sweeps, should this one be killed.
    env = {**go_toolchain.environment(shop), **await go_toolchain.network(go, shop), "GOTMPDIR": str(temporary)}
    shop.cache.logs.mkdir(parents=True, exist_ok=True)
    log = shop.cache.logs / f"{tool.name}.log"
    flags = shop.flags(tool)
    with log.open("w", buffering=1) as out:
        work = _Work(tool, [str(go.go)], env, copy, out, log)
        plan = await _list_stale(work, flags, report)
        binary = stage / tool.name
        await _compile(work, flags, binary, plan, report)
    return binary


async def _complete(
    wanted: catalogue.ToolCopy,
    copy: Path,
    *,
    name: str,
    shop: workshop.Workshop,
    stage: Path,
    report: tool_progress.Report,
) -> None:
    """Put the files of a published module beside those that the pin has for it."""
    (archive,) = await go_module.fetch_module([wanted.module], name=name, shop=shop, stage=stage, report=report)

    def choose(path: str) -> Iterator[str]:
        if not (copy / wanted.to / path).exists():
            yield path

    go_module.extract_files(archive, root=str(wanted.module), choose=choose, to=copy / wanted.to)


@dataclasses.dataclass(frozen=True)
class _Work:
    """One build: which tool, with which Go, in which environment, directory and log."""

    tool: catalogue.CatalogueTool
    go: Sequence[str]
    env: Mapping[str, str]
    directory: Path
    out: IO[str]
    log: Path

    @property
    def package(self) -> str:
        assert self.tool.build is not None
        return self.tool.build.package

    async def run(self, arguments: Sequence[str], on_stderr: Callable[[str], None]) -> bytes:
        def line(text: str) -> None:
            self.out.write(text + "\n")
            on_stderr(text)

        argv = [*self.go, *arguments]
        self.out.write(f"$ cd {self.directory} && {shlex.join(argv)}\n")
        done = await command.run(
            argv,
            env=self.env,
            cwd=self.directory,
            timeout=_TIMEOUT,
            check=False,
            on_stderr=line,
            dies_with_parent=True,
            within=program_limits.BUILDER,
        )
        if done.code != 0:
            raise _failure(self, done)
        return done.stdout


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The packages that have to be compiled, and how long that usually takes."""

    stale: frozenset[str]
    seconds: float


async def _list_stale(work: _Work, flags: Sequence[str], report: tool_progress.Report) -> _Plan:
    """Fetch what modules are missing, and ask which packages the build cache does not have.

    It costs 2 to 5 s for the API server's 2000 packages, of a build of 300 s, and gives the "of how many".
    """
    started = time.monotonic()
    modules = 0

    def count(line: str) -> None:
        nonlocal modules
        modules += line.startswith("go: downloading")

    def state() -> tool_progress.ToolEvent:
        return tool_progress.FetchingModules(work.tool.name, modules, time.monotonic() - started)

    async with tool_progress.heartbeat(report, state):
        listed = await work.run(
            ["list", *flags, "-deps", "-f", "{{.Stale}} {{.ImportPath}}", work.package], on_stderr=count
        )
    lines = [line.split(" ", 1) for line in listed.decode().splitlines()]
    stale = frozenset(path for is_stale, path in lines if is_stale == "true")
    assert work.tool.build is not None
    return _Plan(stale, work.tool.build.seconds * len(stale) / max(len(lines), 1))


async def _compile(work: _Work, flags: Sequence[str], binary: Path, plan: _Plan, report: tool_progress.Report) -> None:
    started = time.monotonic()
    done: set[str] = set()

    def count(line: str) -> None:
        # With -v, go prints the path of each package as it compiles it; errors and notes are other lines.
        if line in plan.stale:
            done.add(line)

    def state() -> tool_progress.ToolEvent:
        seconds = time.monotonic() - started
        left = seconds_left(len(done), len(plan.stale), seconds=seconds, usual=plan.seconds)
        return tool_progress.Compiling(work.tool.name, len(done), len(plan.stale), seconds, left)

    async with tool_progress.heartbeat(report, state):
        await work.run(["build", *flags, "-v", "-o", str(binary), work.package], on_stderr=count)


def seconds_left(done: int, total: int, *, seconds: float, usual: float) -> float:
    """What is left of a build: at first by what is usual, and the further it is, the more by its own pace."""
    share = done / total if total else 1.0
    by_habit = max(usual - seconds, 0.0)
    if not done:
        return by_habit
    return share * seconds * (1 - share) / share + (1 - share) * by_habit


def _failure(work: _Work, done: command.Completed) -> errors.ToolError:
    said = [line for line in done.stderr.splitlines() if " " in line and not line.startswith("go: downloading")]
    telling = "\n".join(f"    {line}" for line in said[-_TELLING:])
    return errors.ToolError(
        f"{work.tool.name} could not be built; the log is {work.log}\n{telling or '    it is empty'}",
        hint=f"if the network failed, run it again; else set {work.tool.variable} to a binary of version "
        f"{work.tool.version}",
    )
