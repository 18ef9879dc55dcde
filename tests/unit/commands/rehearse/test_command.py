"""A rehearsal that somebody ends: nothing goes on where it was, and nobody says so."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import main

PLATFORM = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\nclusters: {infra: {}}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["demo"], "interrupted; the lab is gone; run again to begin anew"),
        (["demo", "--keep"], "interrupted; the lab stays as it is: firstlight lab down -n demo; run again"),
        (["rehearse", "infra"], "interrupted; the lab is gone; run again to begin anew"),
    ],
)
def test_it_begins_anew(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "firstlight.yaml").write_text(PLATFORM)
    monkeypatch.chdir(tmp_path)

    def interrupted(doing: Coroutine[Any, Any, Any]) -> None:
        doing.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(asyncio, "run", interrupted)

    assert main.run(words) == 130
    err = capsys.readouterr().err
    assert said in err
    assert "to go on" not in err
