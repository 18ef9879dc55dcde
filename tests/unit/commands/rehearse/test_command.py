"""A rehearsal that somebody ends: nothing goes on where it was, and nobody says so."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import main

PLATFORM = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\nclusters: {infra: {}}\n"


@pytest.mark.parametrize(
    ("words", "left", "said"),
    [
        (["demo"], "", "interrupted; the lab is gone; run again to begin anew"),
        (["demo", "--keep"], "demo", "interrupted; the lab stays as it is: firstlight lab down -n demo; run again"),
        (["rehearse", "infra"], "", "interrupted; the lab is gone; run again to begin anew"),
        (["demo"], "demo", "interrupted; the lab was not cleaned up: firstlight lab down -n demo; run again"),
        (
            ["rehearse", "infra"],
            "rehearsal-infra",
            "interrupted; the lab was not cleaned up: firstlight lab down -n rehearsal-infra; run again",
        ),
    ],
)
def test_it_begins_anew(
    words: list[str],
    left: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "firstlight.yaml").write_text(PLATFORM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FIRSTLIGHT_LABS", str(tmp_path / "labs"))
    if left:
        (tmp_path / "labs" / left).mkdir(parents=True)

    def interrupted(doing: Coroutine[Any, Any, Any]) -> None:
        doing.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)

    assert main.run(words) == 130
    err = capsys.readouterr().err
    assert said in err
    assert "to go on" not in err
