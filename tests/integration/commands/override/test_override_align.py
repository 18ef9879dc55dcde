"""Live changes made changes of a repo: what is edited, what is asked, and that it renders to what is live."""

import asyncio
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.override import repo_alignment
from firstlight.model.component import ObjectId
from firstlight.model.platform import Platform
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import install

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios/align").glob("*.yaml"))
COMMON = Path(__file__).parents[3] / "scenarios/align/common"


@pytest.fixture(scope="module")
def programs() -> RendererPrograms:
    found = asyncio.run(install.ensure(["helm", "kustomize"]))
    return RendererPrograms(found["helm"], found["kustomize"], None)


@dataclasses.dataclass(frozen=True)
class Kitchen:
    programs: RendererPrograms
    home: Path

    async def open(self, platform: Platform, known_as: str) -> Renderer:
        store = ChartStore(
            self.home / "charts", FetchClients(self.programs.helm, None, ChartCredentials()), offline=True
        )
        cache = RenderCache(self.home / "renders")
        return Renderer(platform, programs=self.programs, store=store, cache=cache, known_as=known_as)


@pytest.fixture(scope="module")
def kitchen(programs: RendererPrograms, tmp_path_factory: pytest.TempPathFactory) -> Kitchen:
    return Kitchen(programs, tmp_path_factory.mktemp("align"))


def _cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in SCENARIOS
        for case in yaml.safe_load_all(path.read_text())
    ]


def _files(case: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in case.get("uses", ()):
        found |= yaml.safe_load((COMMON / f"{name}.yaml").read_text())
    return {**found, **case.get("files", {})}


@pytest.mark.parametrize("case", _cases())
async def test_a_live_change_becomes_a_change_of_the_repo(
    case: Mapping[str, Any], kitchen: Kitchen, tmp_path: Path
) -> None:
    root = tmp_path / "repo"
    for path, content in _files(case).items():
        if content is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
    applied = {ObjectId.of(each): each for each in case.get("live", ())}
    gone = {ObjectId.of(each): None for each in case.get("gone", ())}
    choices = case.get("choose", {})
    made = await repo_alignment.align_repo(
        WorkTree(root), {**applied, **gone}, cluster=case.get("cluster", "home"), open_renderer=kitchen.open,
        component=case.get("component", ""), choose=lambda wish, offered: choices.get(wish.path),
    )  # fmt: skip
    said = [f"{each.wish}: {each.why}; {each.choices}; {each.obstacles}" for each in made.open]
    wanted = case["expect"]
    assert made.diff == wanted.get("diff", ""), f"{said}"
    assert len(made.open) == len(wanted.get("open", ())), f"{said}"
    for one, expected in zip(made.open, wanted.get("open", ()), strict=True):
        assert one.wish.path == expected.get("field", "")
        assert [each.key for each in one.choices] == expected.get("choices", [])
        for word in expected.get("says", ()):
            assert any(word in each for each in (one.why, *one.obstacles)), f"{word!r} is not in {said}"
    for word in wanted.get("says", ()):
        assert any(word in each.says for each in made.aligned), [each.says for each in made.aligned]
