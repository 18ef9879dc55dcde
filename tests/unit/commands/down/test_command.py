"""``firstlight down``: what a repo calls its machines is shown, not obeyed."""

import json
import types
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.commands.down import down
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.platform import Platform

HERE = Place("firstlight.yaml")


async def test_names_of_machines_do_not_reach_the_screen_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, other = (
        Machine(name=f"{name}\x1b[2J\u202e", role=MachineRole.WORKER, place=HERE, address="\x1b[31m") for name in "ab"
    )
    left = MachineReport(machine=other, standing=MachineStanding.ABSENT, why="\x1b]0;x\x07")

    async def nothing(*_: Any, **__: Any) -> Any:
        return types.SimpleNamespace(close=nothing)

    async def find(cluster: Cluster, means: Any) -> Any:
        return types.SimpleNamespace(cluster=cluster, ours=(one,), left=(left,))

    monkeypatch.setattr(cli_means, "user_means", nothing)
    monkeypatch.setattr(down, "find", find)
    home = Cluster(name="home", place=HERE)
    platform = Platform(name="home", root=tmp_path, engine=None, clusters=(home,), components=())

    with pytest.raises(errors.Refused, match="nothing was wiped"):
        await down.confirm_and_wipe(platform, "home", "other")

    shown = capsys.readouterr().out
    assert "a\\x1b[2J\\u202e" in shown
    assert "b\\x1b[2J\\u202e" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


async def test_as_json_the_answer_alone_is_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, other = (Machine(name=name, role=MachineRole.WORKER, place=HERE, address="10.0.0.2") for name in "ab")
    left = MachineReport(machine=other, standing=MachineStanding.ABSENT, why="it is off")

    async def nothing(*_: Any, **__: Any) -> Any:
        return types.SimpleNamespace(close=nothing)

    async def find(cluster: Cluster, means: Any) -> Any:
        return types.SimpleNamespace(cluster=cluster, ours=(one,), left=(left,))

    async def take_down(found: Any, means: Any, *, tell: Any) -> None:
        tell("a: is wiped")

    monkeypatch.setattr(cli_means, "user_means", nothing)
    monkeypatch.setattr(down, "find", find)
    monkeypatch.setattr(down, "take_down", take_down)
    home = Cluster(name="home", place=HERE)
    platform = Platform(name="home", root=tmp_path, engine=None, clusters=(home,), components=())

    assert await down.confirm_and_wipe(platform, "home", "home", "json") == 0

    shown = capsys.readouterr()
    assert json.loads(shown.out) == {
        "cluster": "home",
        "wiped": [{"name": "a", "address": "10.0.0.2"}],
        "left": [{"name": "b", "standing": str(MachineStanding.ABSENT), "why": "it is off"}],
    }
    assert "a: is wiped" in shown.err
