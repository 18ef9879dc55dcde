"""``firstlight down``: what a repo calls its machines is shown, not obeyed."""

import types
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.cli import down, own_means
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.operate import down as operating

HERE = Place("firstlight.yaml")


async def test_names_of_machines_do_not_reach_the_screen_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, other = (
        Machine(name=f"{name}\x1b[2J\u202e", role=MachineRole.WORKER, place=HERE, address="\x1b[31m") for name in "ab"
    )
    left = MachineReport(machine=other, standing=Standing.ABSENT, why="\x1b]0;x\x07")

    async def nothing(*_: Any, **__: Any) -> Any:
        return types.SimpleNamespace(close=nothing)

    async def find(cluster: Cluster, means: Any) -> Any:
        return types.SimpleNamespace(cluster=cluster, ours=(one,), left=(left,))

    monkeypatch.setattr(own_means, "means", nothing)
    monkeypatch.setattr(operating, "find", find)
    home = Cluster(name="home", place=HERE)
    platform = Platform(name="home", root=tmp_path, engine=None, clusters=(home,), components=())

    with pytest.raises(errors.Refused, match="nothing was wiped"):
        await down._down(platform, "home", "other")

    shown = capsys.readouterr().out
    assert "a\\x1b[2J\\u202e" in shown
    assert "b\\x1b[2J\\u202e" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
