"""How commands come by renditions: programs found, the store and the cache of the user, progress on the screen."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.cli import screen
from firstlight.clients import program_path
from firstlight.model.component import Component, Side
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.render import chart_fetch
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Progress, Renderer, RenderOutcome
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.tools import binary_cache, find, workshop

NEEDED = ("helm", "kustomize")
SLOW = 5.0
"""Seconds of a rendering that a log without a terminal is told of."""


async def programs() -> RendererPrograms:
    """The programs that render.

    Raises:
        errors.ToolError: One of them is not there.
    """
    shop = workshop.here()
    searches = await find.find_all([shop.catalogue.get(name) for name in NEEDED], shop)
    for search in searches:
        if search.problem:
            raise errors.ToolError(search.problem)
    missing = [search.tool.name for search in searches if search.found is None]
    if missing:
        raise errors.ToolError(
            f"rendering needs {' and '.join(missing)}", hint=f"firstlight tools install {' '.join(missing)}"
        )
    helm, kustomize = (search.found.path for search in searches if search.found is not None)
    git = program_path.find("git")
    return RendererPrograms(helm=helm, kustomize=kustomize, git=Path(git) if git else None)


async def open_renderer(
    platform: Platform,
    *,
    offline: bool = False,
    refresh: bool = False,
    anew: bool = False,
    owner_labels: bool = False,
    quiet: bool = False,
    known_as: str = "",
    progress: Progress | None = None,
) -> Renderer:
    """A renderer with the user's own store, cache and logins; to be used by ``async with``.

    Args:
        platform: What is rendered.
        offline: Fetch nothing.
        refresh: Resolve charts and files from elsewhere anew.
        anew: Render even what was rendered before.
        owner_labels: Also put on objects what engines put on theirs.
        quiet: Show no progress.
        known_as: By what renderings are known again where the platform's directory has another name each time.
        progress: Told of what happens, in place of a line that is drawn.
    """
    found = await programs()
    home = binary_cache.locate(os.environ).root
    plain = frozenset(os.environ.get("FIRSTLIGHT_PLAIN_HTTP", "").split())
    means = FetchClients(found.helm, found.git, chart_fetch.load_credentials(os.environ), plain)
    return Renderer(
        platform,
        programs=found,
        store=ChartStore(home / "charts", means, offline=offline, refresh=refresh),
        cache=RenderCache(home / "renders"),
        owner_labels=owner_labels,
        anew=anew,
        known_as=known_as,
        progress=progress or (None if quiet else RenderProgress().show),
    )


class RenderProgress:
    """A line with what is being rendered, where somebody watches."""

    def __init__(self) -> None:
        self._screen = screen.Screen()
        self._under_way: list[str] = []
        self._begun = self._done = 0

    def show(self, component: Component, side: Side, outcome: RenderOutcome | None) -> None:
        """Draw what began or ended; a ``rendering.Progress``."""
        name = f"{component.name} ({side})"
        news = []
        if outcome is None:
            self._under_way.append(name)
            self._begun += 1
        else:
            self._under_way.remove(name)
            self._done += 1
            if outcome.seconds > SLOW:
                news = [f"rendered {name} in {component.cluster}, {outcome.seconds:.0f} s"]
        if self._under_way or news:
            self._screen.draw([f"rendering {self._done}/{self._begun}   {_some(self._under_way)}"], news=news)
        if not self._under_way:
            self._screen.clear()


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + ("" if len(names) <= 4 else f" and {len(names) - 4} more")


def rendered(
    platform: Platform, *, wanted: bool | None, offline: bool, components: Sequence[Component] | None = None
) -> tuple[Rendition, ...]:
    """What components deploy; nothing where that is not wanted, or cannot be had and was not asked for.

    Args:
        platform: Everything around them.
        wanted: Whether it must be, must not be, or is welcome.
        offline: Fetch nothing.
        components: Which ones; all of the platform if they are not given.

    Raises:
        errors.ToolError: It is wanted, and a program is missing.
    """
    if wanted is False:
        return ()
    try:
        return asyncio.run(_rendered(platform, platform.components if components is None else components, offline))
    except errors.ToolError as error:
        if wanted:
            raise
        print(f"nothing is rendered: {error.message}. {error.hint}", file=sys.stderr)
        return ()


async def _rendered(platform: Platform, components: Sequence[Component], offline: bool) -> tuple[Rendition, ...]:
    async with await open_renderer(platform, offline=offline) as renderer:
        return tuple(each.rendition for each in await renderer.render_all(components))
