"""Where a tool is, in the order of what the user means most.

A path given in ``FIRSTLIGHT_<NAME>`` wins, and a wrong one is a problem, never a reason to look elsewhere.
Then the directory of ``KUBEBUILDER_ASSETS``; then, for programs, PATH; then the cache. What is found and does
not do is passed over with a reason.
"""

import asyncio
import dataclasses
import enum
import os
from collections.abc import Iterable
from pathlib import Path

from firstlight.clients import program_path
from firstlight.tools import catalogue, probe, workshop
from firstlight.tools import version as versions


class Where(enum.Enum):
    """How a tool was found."""

    GIVEN = "given"
    ASSETS = "assets"
    PATH = "path"
    CACHE = "cache"


@dataclasses.dataclass(frozen=True)
class Found:
    """A tool that will do."""

    path: Path
    version: str
    where: Where


@dataclasses.dataclass(frozen=True)
class PassedOver:
    """A file that looked like the tool and will not do."""

    path: Path
    where: Where
    why: str


@dataclasses.dataclass(frozen=True)
class Search:
    """The outcome of looking for a tool; ``problem`` is set if the user's own path is at fault."""

    tool: catalogue.Tool
    found: Found | None
    passed_over: tuple[PassedOver, ...] = ()
    problem: str = ""


async def find_all(tools: Iterable[catalogue.Tool], shop: workshop.Workshop) -> tuple[Search, ...]:
    """Look for several tools at once."""
    return tuple(await asyncio.gather(*(find(tool, shop) for tool in tools)))


async def find(tool: catalogue.Tool, shop: workshop.Workshop) -> Search:
    """Look for a tool."""
    if given := shop.environ.get(tool.variable):
        candidate = await _examine(Path(given).expanduser().absolute(), Where.GIVEN, tool, shop)
        if isinstance(candidate, Found):
            return Search(tool, candidate)
        return Search(tool, None, (candidate,), f"{tool.variable} is {given}, but {candidate.why}")

    passed_over: list[PassedOver] = []
    for path, where in _candidates(tool, shop):
        candidate = await _examine(path, where, tool, shop)
        if isinstance(candidate, Found):
            return Search(tool, candidate, tuple(passed_over))
        passed_over.append(candidate)

    entry, damaged = shop.cache.look_up(tool.name, shop.recipes(tool))
    passed_over += [PassedOver(d.path, Where.CACHE, f"it is damaged: {d.why}") for d in damaged]
    if entry is None:
        return Search(tool, None, tuple(passed_over))
    return Search(tool, Found(entry.path, entry.provenance.version, Where.CACHE), tuple(passed_over))


def _candidates(tool: catalogue.Tool, shop: workshop.Workshop) -> Iterable[tuple[Path, Where]]:
    assets = shop.environ.get("KUBEBUILDER_ASSETS")
    if assets and tool.assets:
        yield Path(assets).absolute() / tool.name, Where.ASSETS
    if tool.kind is not catalogue.Kind.COMPONENT:
        on_path = program_path.find(tool.name, shop.environ)
        if on_path:
            yield Path(on_path), Where.PATH


async def _examine(path: Path, where: Where, tool: catalogue.Tool, shop: workshop.Workshop) -> Found | PassedOver:
    if not path.exists():
        return PassedOver(path, where, "there is no such file")
    if not path.is_file() or not os.access(path, os.X_OK):
        return PassedOver(path, where, "that is not a program")
    answer = await probe.ask(path, tool, shop)
    if answer.problem:
        return PassedOver(path, where, answer.problem)
    requirement = tool.requirement
    # Some controllers cannot be asked; whoever gives a path to one knows what it is.
    if requirement is not None and answer.version:
        try:
            fits = requirement.accepts(versions.parse(answer.version))
        except ValueError:
            fits = False
        if not fits:
            return PassedOver(path, where, f"its version is {answer.version}, and {tool.needed} is needed")
    return Found(path, answer.version, where)
