"""A world for unit tests: a directory, and things elsewhere that are simply there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.render import cache_files, chart_packages
from firstlight.render.chart_packages import FetchedContent, FetchRequest
from firstlight.render.chart_store import ChartStore
from firstlight.render.render_questions import RenderQuestions, RenderSurroundings
from firstlight.render.served_kinds import ServedKinds
from firstlight.repo.work_tree import WorkTree


class FakeStore(ChartStore):
    """Answers from a table of URLs; whatever else is asked for fails."""

    def __init__(self, things: Mapping[str, Mapping[str, bytes] | bytes]) -> None:
        self.things = dict(things)
        self.asked: list[FetchRequest] = []

    async def get(self, wanted: FetchRequest) -> FetchedContent:
        self.asked.append(wanted)
        key = wanted.url if not wanted.name else f"{wanted.url} {wanted.name}"
        if key not in self.things:
            raise errors.ClientError(f"there is no {key}")
        content = self._content(key)
        version = wanted.version or "1.0.0"
        made = cache_files.bytes_digest(content)
        return FetchedContent(
            wanted=wanted, name=wanted.name or "x", version=version, digest=f"sha256:{made}", sum=made
        )

    async def content(self, stored: FetchedContent) -> bytes:
        wanted = stored.wanted
        return self._content(wanted.url if not wanted.name else f"{wanted.url} {wanted.name}")

    async def files(self, stored: FetchedContent) -> dict[str, bytes]:
        return chart_packages.unpack_chart(await self.content(stored))

    def _content(self, key: str) -> bytes:
        thing = self.things[key]
        return thing if isinstance(thing, bytes) else chart_packages.pack_chart(thing, "x")


async def nothing(kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
    return None


async def no_kinds() -> ServedKinds:
    return ServedKinds()


def around(root: Path, things: Mapping[str, Mapping[str, bytes] | bytes] | None = None) -> RenderSurroundings:
    return RenderSurroundings(tree=WorkTree(root), store=FakeStore(things or {}), object=nothing, served=no_kinds)


def questions(root: Path, things: Mapping[str, Mapping[str, bytes] | bytes] | None = None) -> RenderQuestions:
    return RenderQuestions(around(root, things))
