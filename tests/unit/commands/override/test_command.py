"""``firstlight override`` as it is typed: times, wishes that cannot be meant, and what a shell is told."""

import dataclasses
import json
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.commands.override import status
from firstlight.execute.overrides import override_records
from firstlight.model.override import Emergency, Override, OverrideStanding, OverrideStatus

OPEN = Override(
    id="20261116t200000z-ab12", cluster="lab", emergency=Emergency.OUTAGE, reason="down", who="ann", begun=0.0,
    until=100.0, standing=OverrideStanding.OPEN, scope=(),
)  # fmt: skip


@pytest.mark.parametrize("written", ["", "0h", "25h", "2d", "2", "2 days", "-1h", "1h-5m"])
def test_times_that_are_none(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    wish = ["begin", "--emergency=outage", "--reason=x", f"--for={written}", "--object=Deployment/a/b"]
    assert main.run(["override", *wish]) == 64
    assert "--for" in capsys.readouterr().err


def test_what_a_shell_is_told() -> None:
    seen = OverrideStatus(override=OPEN)
    assert status.exit_code((), now=0.0) == 0
    assert status.exit_code((seen,), now=0.0) == 2
    assert status.exit_code((seen,), now=100.0) == 1
    over = OverrideStatus(override=dataclasses.replace(OPEN, standing=OverrideStanding.ENDED))
    assert status.exit_code((over,), now=100.0) == 0


@pytest.mark.parametrize(
    "wish",
    [
        ["begin", "--emergency=outage", "--reason=x", "--for=2h"],
        ["begin", "--emergency=party", "--reason=x", "--for=2h", "--object=Deployment/a/b"],
        ["begin", "--emergency=outage", "--reason= ", "--for=2h", "--object=Deployment/a/b"],
        ["apply"],
        ["apply", "-f", "/does/not/exist.yaml"],
    ],
)
def test_wishes_that_cannot_be_meant(wish: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["override", *wish]) == 64
    assert "Traceback" not in capsys.readouterr().err


def test_a_manifest_that_is_none_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fix.yaml"
    file.write_text("apiVersion: v1\nkind: [\n")
    assert main.run(["override", "apply", "-f", str(file)]) == 1
    assert f"{file}:" in capsys.readouterr().err


def test_the_copies_here_are_read_and_others_passed_over(tmp_path: Path) -> None:
    state = tmp_path / ".firstlight"
    place = override_records.record_path(state, "lab", OPEN.id)
    override_records._keep(OPEN, place)
    (place.parent / "broken.json").write_text("{")
    leading_out = dataclasses.replace(OPEN, id=str(tmp_path / "elsewhere"))
    override_records._keep(leading_out, place.with_name("other.json"))
    assert override_records.local(state, "lab") == (OPEN,)
    assert json.loads(place.read_text())["reason"] == "down"
    assert place.stat().st_mode & 0o077 == 0
    with pytest.raises(errors.UsageError):
        override_records.record_path(state, "lab", "../x")
