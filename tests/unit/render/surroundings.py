"""A world for unit tests: a directory, and things elsewhere that are simply there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.render import digests
from firstlight.render.charts import packing
from firstlight.render.charts.store import ChartStore
from firstlight.render.charts.wanted import Stored, Wanted
from firstlight.render.questions import Questions, Surroundings
from firstlight.render.served import Served
from firstlight.repo.work_tree import WorkTree


class FakeStore(ChartStore):
    """Answers from a table of URLs; whatever else is asked for fails."""

    def __init__(self, things: Mapping[str, Mapping[str, bytes] | bytes]) -> None:
        self.things = dict(things)
        self.asked: list[Wanted] = []

    async def get(self, wanted: Wanted) -> Stored:
        self.asked.append(wanted)
        key = wanted.url if not wanted.name else f"{wanted.url} {wanted.name}"
        if key not in self.things:
            raise errors.ClientError(f"there is no {key}")
        content = self._content(key)
        version = wanted.version or "1.0.0"
        made = digests.of_bytes(content)
        return Stored(wanted=wanted, name=wanted.name or "x", version=version, digest=f"sha256:{made}", sum=made)

    async def content(self, stored: Stored) -> bytes:
        wanted = stored.wanted
        return self._content(wanted.url if not wanted.name else f"{wanted.url} {wanted.name}")

    async def files(self, stored: Stored) -> dict[str, bytes]:
        return packing.unpack(await self.content(stored))

    def _content(self, key: str) -> bytes:
        thing = self.things[key]
        return thing if isinstance(thing, bytes) else packing.pack(thing, "x")


async def nothing(kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
    return None


async def no_kinds() -> Served:
    return Served()


def around(root: Path, things: Mapping[str, Mapping[str, bytes] | bytes] | None = None) -> Surroundings:
    return Surroundings(tree=WorkTree(root), store=FakeStore(things or {}), object=nothing, served=no_kinds)


def questions(root: Path, things: Mapping[str, Mapping[str, bytes] | bytes] | None = None) -> Questions:
    return Questions(around(root, things))
