"""How commands come by renditions: programs found, the store and the cache of the user, progress on the screen."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.clients import program_path

if TYPE_CHECKING:
    from firstlight.model.component import Component, Side
    from firstlight.model.platform import Platform
    from firstlight.render.rendering import Outcome, Progress, Renderer
    from firstlight.render.tools import Programs

NEEDED = ("helm", "kustomize")
SLOW = 5.0
"""Seconds of a rendering that a log without a terminal is told of."""


async def programs() -> "Programs":
    """The programs that render.

    Raises:
        errors.ToolError: One of them is not there.
    """
    from firstlight.render.tools import Programs
    from firstlight.tools import find, workshop

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
    return Programs(helm=helm, kustomize=kustomize, git=Path(git) if git else None)


async def open_renderer(
    platform: "Platform",
    *,
    offline: bool = False,
    refresh: bool = False,
    anew: bool = False,
    owner_labels: bool = False,
    quiet: bool = False,
    known_as: str = "",
    progress: "Progress | None" = None,
) -> "Renderer":
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
    from firstlight.render.cache import Cache
    from firstlight.render.charts import credentials
    from firstlight.render.charts.fetching import Means
    from firstlight.render.charts.store import ChartStore
    from firstlight.render.rendering import Renderer
    from firstlight.tools import cache

    found = await programs()
    home = cache.locate(os.environ).root
    plain = frozenset(os.environ.get("FIRSTLIGHT_PLAIN_HTTP", "").split())
    means = Means(found.helm, found.git, credentials.load(os.environ), plain)
    return Renderer(
        platform,
        programs=found,
        store=ChartStore(home / "charts", means, offline=offline, refresh=refresh),
        cache=Cache(home / "renders"),
        owner_labels=owner_labels,
        anew=anew,
        known_as=known_as,
        progress=progress or (None if quiet else Drawing().show),
    )


class Drawing:
    """A line with what is being rendered, where somebody watches."""

    def __init__(self) -> None:
        from firstlight.cli import screen

        self._screen = screen.Screen()
        self._under_way: list[str] = []
        self._begun = self._done = 0

    def show(self, component: "Component", side: "Side", outcome: "Outcome | None") -> None:
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
