"""All programs of a command together have a bound in time."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.model.place import Place
from firstlight.render import renderer_programs
from firstlight.render.chart_packages import NotCached


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def programs(tmp_path: Path) -> renderer_programs.RendererPrograms:
    for name in ("helm", "kustomize"):
        (tmp_path / name).touch()
    return renderer_programs.RendererPrograms(tmp_path / "helm", tmp_path / "kustomize")


async def test_no_program_begins_when_the_time_of_all_is_used_up(programs: renderer_programs.RendererPrograms) -> None:
    clock = Clock()
    kitchen = renderer_programs.RenderTools(programs, at_once=1, minutes=2, clock=clock)

    for _ in range(3):  # the last begins in time, and has a limit of its own
        async with kitchen.turn():
            clock.now += 60

    with pytest.raises(errors.TimedOut, match="more than 2 min"):
        async with kitchen.turn():
            pass


@pytest.mark.parametrize(("said", "minutes"), [("", 20), ("45", 45), ("0.5", 0.5), ("-1", 20), ("nan", 20), ("x", 20)])
def test_the_environment_says_how_long(said: str, minutes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert renderer_programs._minutes(said) == minutes


def test_what_offline_would_have_to_be_fetched_has_a_code_of_its_own() -> None:
    missing = renderer_programs.failure_diagnostic(NotCached("a 1.0 is not in the cache"), Place("a.yaml", 3), ())
    refused = renderer_programs.failure_diagnostic(errors.ClientError("no"), Place("a.yaml", 3), ())

    assert (missing.code, refused.code, missing.place) == ("fetch-offline", "render-failed", Place("a.yaml", 3))
