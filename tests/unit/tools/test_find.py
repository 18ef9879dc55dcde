from pathlib import Path

import pytest

from firstlight import errors
from firstlight.tools import find, install, tool_progress, workshop
from tests.unit.tools import tiny


async def search(shop: workshop.Workshop, name: str) -> find.ToolSearch:
    return await find.find(shop.catalogue.get(name), shop)


async def test_a_given_path_wins(tmp_path: Path) -> None:
    given = tiny.program(tmp_path / "mine" / "anything", "twin", "1.5.0")
    tiny.program(tmp_path / "bin" / "twin", "twin", "1.2.3")
    shop = tiny.shop(tmp_path, {"FIRSTLIGHT_TWIN": str(given), "PATH": f"{tmp_path}/bin"})

    outcome = await search(shop, "twin")

    assert outcome.found == find.FoundTool(given, "1.5.0", find.FoundWhere.GIVEN)


@pytest.mark.parametrize(
    ("version", "said"), [("", "there is no such file"), ("9.0.0", "its version is 9.0.0, and >=1.2 <2 is needed")]
)
async def test_a_given_path_that_does_not_do_is_a_problem_and_not_skipped(
    tmp_path: Path, version: str, said: str
) -> None:
    given = tmp_path / "mine"
    if version:
        tiny.program(given, "twin", version)
    tiny.program(tmp_path / "bin" / "twin", "twin", "1.2.3")
    shop = tiny.shop(tmp_path, {"FIRSTLIGHT_TWIN": str(given), "PATH": f"{tmp_path}/bin"})

    outcome = await search(shop, "twin")

    assert outcome.found is None
    assert "FIRSTLIGHT_TWIN" in outcome.problem
    assert said in outcome.problem
    with pytest.raises(errors.ToolError, match="FIRSTLIGHT_TWIN"):
        await install.ensure(["twin"], shop=shop)


async def test_a_given_path_to_something_else_is_a_problem(tmp_path: Path) -> None:
    given = tmp_path / "mine"
    given.write_text("not a program")

    outcome = await search(tiny.shop(tmp_path, {"FIRSTLIGHT_TINY": str(given)}), "tiny")

    assert "not a program" in outcome.problem


async def test_kubebuilder_assets_are_honoured(tmp_path: Path) -> None:
    there = tiny.program(tmp_path / "assets" / "tiny", "tiny", "1.2.3")

    outcome = await search(tiny.shop(tmp_path, {"KUBEBUILDER_ASSETS": f"{tmp_path}/assets"}), "tiny")

    assert outcome.found == find.FoundTool(there, "1.2.3", find.FoundWhere.ASSETS)


async def test_kubebuilder_assets_of_another_version_are_passed_over_aloud(tmp_path: Path) -> None:
    tiny.program(tmp_path / "assets" / "tiny", "tiny", "1.1.0")

    outcome = await search(tiny.shop(tmp_path, {"KUBEBUILDER_ASSETS": f"{tmp_path}/assets"}), "tiny")

    assert outcome.found is None
    assert not outcome.problem
    assert "its version is 1.1.0, and 1.2.3 is needed" in outcome.passed_over[0].why


async def test_a_program_on_path_does_if_its_version_fits(tmp_path: Path) -> None:
    there = tiny.program(tmp_path / "bin" / "twin", "twin", "1.9.0")

    outcome = await search(tiny.shop(tmp_path, {"PATH": f"{tmp_path}/bin"}), "twin")

    assert outcome.found == find.FoundTool(there, "1.9.0", find.FoundWhere.PATH)


async def test_a_program_on_path_of_the_wrong_version_is_passed_over_aloud(tmp_path: Path) -> None:
    there = tiny.program(tmp_path / "bin" / "twin", "twin", "2.0.0")
    shop = tiny.shop(tmp_path, {"PATH": f"{tmp_path}/bin"})

    outcome = await search(shop, "twin")
    heard: list[tool_progress.ToolEvent] = []
    with pytest.raises(errors.ToolError, match="cannot be had") as caught:
        await install.ensure(["twin"], heard.append, shop=shop)

    assert outcome.found is None
    assert outcome.passed_over[0].path == there
    assert tool_progress.CandidateSkipped("twin", str(there), "its version is 2.0.0, and >=1.2 <2 is needed") in heard
    assert "Ask the neighbours" in caught.value.hint


async def test_a_component_is_not_looked_for_on_path(tmp_path: Path) -> None:
    tiny.program(tmp_path / "bin" / "tiny", "tiny", "1.2.3")

    outcome = await search(tiny.shop(tmp_path, {"PATH": f"{tmp_path}/bin"}), "tiny")

    assert outcome == find.ToolSearch(outcome.tool, None)


async def test_a_program_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "twin"
    tiny.program(broken, "twin", "1.2.3").write_text("\x7fELF broken")

    outcome = await search(tiny.shop(tmp_path, {"PATH": f"{tmp_path}/bin"}), "twin")

    assert "does not" in outcome.passed_over[0].why


async def test_a_version_is_asked_once_for_as_long_as_the_file_is_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log"
    there = tiny.program(tmp_path / "bin" / "twin", "twin", "1.9.0", log=log)
    shop = tiny.shop(tmp_path, {"PATH": f"{tmp_path}/bin"})

    await search(shop, "twin")
    await search(shop, "twin")
    asked_before = log.read_text().count("asked")
    tiny.program(there, "twin", "1.10.0", log=log)
    outcome = await search(shop, "twin")

    assert asked_before == 1
    assert outcome.found is not None
    assert outcome.found.version == "1.10.0"
