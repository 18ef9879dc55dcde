"""``firstlight up``: how it ends when somebody has interrupted it."""

import asyncio
import types
from pathlib import Path
from typing import Any

import pytest

from firstlight.cli import up
from firstlight.model.platform import Platform
from firstlight.operate import up as operating
from firstlight.operate.means import Wishes


async def test_an_interrupted_run_has_said_so_and_ends_with_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def prepare(*_: Any, say: Any, **__: Any) -> Any:
        say("rendering 3 components of home")
        return types.SimpleNamespace(is_blocked=False)

    async def carry_out(*_: Any, **__: Any) -> Any:
        raise asyncio.CancelledError

    monkeypatch.setattr(operating, "prepare", prepare)
    monkeypatch.setattr(up, "carry_out", carry_out)
    platform = Platform(name="home", root=tmp_path, engine=None, clusters=(), components=())
    means: Any = None

    code = await up._up(platform, Wishes(cluster="home"), means, is_check=False, yes=False, form="text")

    assert code == 130
    assert capsys.readouterr().err == "rendering 3 components of home …\n"
