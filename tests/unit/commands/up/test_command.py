"""``firstlight up``: how it ends when somebody has interrupted it, and what it says of its certificate."""

import asyncio
import types
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.commands.up import carry_out as up_carry_out
from firstlight.commands.up import up
from firstlight.execute.loop import RunResult
from firstlight.execute.means import RunRequest
from firstlight.model.platform import Platform
from tests.unit.drawing.test_handover_text import WHOLE


async def test_an_interrupted_run_has_said_so_and_ends_with_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def prepare(*_: Any, say: Any, **__: Any) -> Any:
        say("rendering 3 components of home")
        return types.SimpleNamespace(is_blocked=False, cluster=types.SimpleNamespace(name="home"))

    async def carry_out(*_: Any, **__: Any) -> Any:
        raise asyncio.CancelledError

    monkeypatch.setattr(up, "prepare", prepare)
    monkeypatch.setattr(up_carry_out, "carry_out", carry_out)
    platform = Platform(name="home", root=tmp_path, engine=None, clusters=(), components=())
    means: Any = types.SimpleNamespace(now=lambda: 0.0, state=tmp_path)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "kubeconfig").touch()

    code = await up_carry_out.prepare_and_run(
        platform, RunRequest(cluster="home"), means, is_check=False, yes=False, form="text"
    )

    assert code == 130
    said = capsys.readouterr()
    assert said.err == "rendering 3 components of home …\n"
    assert said.out == f"  reach    export KUBECONFIG={tmp_path}/home/kubeconfig\n"


@pytest.mark.parametrize("is_dry_run", [False, True], ids=["run", "dry-run"])
async def test_the_end_names_the_certificate_with_its_verdict_and_its_place(
    is_dry_run: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def certificate(*_: Any, since: float) -> Any:
        assert since == 7.0
        return WHOLE, tmp_path / "certificate.json"

    monkeypatch.setattr(up_carry_out, "certificate", certificate)
    said = await _ended(monkeypatch, capsys, tmp_path, is_dry_run=is_dry_run)

    if is_dry_run:
        assert said == ""
    else:
        assert said.startswith("certificate 4f2c…  complete   2 objects: talos › flux")
        assert f"  in       {tmp_path}/certificate.json, as a page in certificate.html\n" in said
        assert f"  again    firstlight handover home --verify {tmp_path}/certificate.json\n" in said


async def test_a_certificate_that_cannot_be_read_spoils_no_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    async def certificate(*_: Any, since: float) -> Any:
        raise errors.Unreachable("the API does not answer")

    monkeypatch.setattr(up_carry_out, "certificate", certificate)

    said = await _ended(monkeypatch, capsys, tmp_path)

    assert said == "  note     the certificate was not read again: the API does not answer\n"


async def _ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, *, is_dry_run: bool = False
) -> str:
    """What is said after a run that came to its end."""

    async def prepare(*_: Any, **__: Any) -> Any:
        return types.SimpleNamespace(is_blocked=False, cluster=types.SimpleNamespace(name="home"))

    async def carry_out(*_: Any, **__: Any) -> Any:
        return RunResult(outcomes={}, writes=0)

    monkeypatch.setattr(up, "prepare", prepare)
    monkeypatch.setattr(up_carry_out, "carry_out", carry_out)
    platform = Platform(name="home", root=tmp_path, engine=None, clusters=(), components=())
    means: Any = types.SimpleNamespace(now=lambda: 7.0, state=tmp_path)
    wishes = RunRequest(cluster="home", is_dry_run=is_dry_run)

    assert await up_carry_out.prepare_and_run(platform, wishes, means, is_check=False, yes=False, form="text") == 0
    return capsys.readouterr().out
