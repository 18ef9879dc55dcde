"""Small repos for tests of rendering, and renderers with a cache of their own."""

import dataclasses
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight.model.component import Component, Side
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer, RenderOutcome, sides
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo import platform_reader


def write(root: Path, files: Mapping[str, object]) -> Path:
    """Put files into a directory; what is no text is written as YAML, a list as several documents."""
    for path, content in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text(content))
    return root


def text(content: object) -> str:
    if isinstance(content, str):
        return content
    return str(yaml.safe_dump_all(content) if isinstance(content, list) else yaml.safe_dump(content))


@dataclasses.dataclass(frozen=True)
class Kitchen:
    """Programs, and a home for charts and renderings."""

    programs: RendererPrograms
    home: Path
    plain_http: frozenset[str] = frozenset()
    credentials: ChartCredentials = dataclasses.field(default_factory=ChartCredentials)

    def store(self, *, offline: bool = False, refresh: bool = False) -> ChartStore:
        means = FetchClients(self.programs.helm, self.programs.git, self.credentials, self.plain_http)
        return ChartStore(self.home / "charts", means, offline=offline, refresh=refresh)

    def renderer(self, platform: Platform, *, offline: bool = False, refresh: bool = False, **more: Any) -> Renderer:
        return Renderer(
            platform,
            programs=self.programs,
            store=self.store(offline=offline, refresh=refresh),
            cache=RenderCache(self.home / "renders"),
            **more,
        )

    async def everything(self, root: Path, **more: Any) -> dict[tuple[str, Side], RenderOutcome]:
        """All components of a repo, by name and side."""
        platform = platform_reader.read(root)
        async with self.renderer(platform, **more) as renderer:
            outcomes = await renderer.render_all(platform.components)
        return {(each.rendition.component, each.rendition.side): each for each in outcomes}

    async def one(self, root: Path, name: str, *, side: Side | None = None, **more: Any) -> RenderOutcome:
        """One component of a repo."""
        platform = platform_reader.read(root)
        component = named(platform, name)
        async with self.renderer(platform, **more) as renderer:
            return await renderer.render(component, side=side or sides(component)[-1])

    def at(self, home: Path) -> "Kitchen":
        return dataclasses.replace(self, home=home)


def named(platform: Platform, name: str) -> Component:
    found = [each for each in platform.components if each.name == name]
    assert len(found) == 1, f"{name} among {sorted(each.name for each in platform.components)}"
    return found[0]


def objects(rendition: Rendition) -> dict[str, Mapping[str, Any]]:
    """Objects by ``Kind/name``."""
    return {f"{each.id.kind}/{each.id.name}": each.value for each in rendition.objects}


def messages(rendition: Rendition, *grades: str) -> list[str]:
    return [each.message for each in rendition.diagnostics if not grades or each.severity in grades]


def git() -> Path:
    found = shutil.which("git")
    assert found is not None
    return Path(found)


def plain(addresses: Collection[str]) -> frozenset[str]:
    """Addresses of URLs."""
    return frozenset(each.removeprefix("http://").removeprefix("oci://").partition("/")[0] for each in addresses)
