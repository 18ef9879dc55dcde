"""``firstlight override`` as it is typed: times, wishes that cannot be meant, and what a shell is told."""

import dataclasses
import json
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import main, override_status
from firstlight.execute.overriding import keeping
from firstlight.model.override import Emergency, Override, Seen, Standing

OPEN = Override(
    id="20261116t200000z-ab12", cluster="lab", emergency=Emergency.OUTAGE, reason="down", who="ann", begun=0.0,
    until=100.0, standing=Standing.OPEN, scope=(),
)  # fmt: skip


@pytest.mark.parametrize("written", ["", "0h", "25h", "2d", "2", "2 days", "-1h", "1h-5m"])
def test_times_that_are_none(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    wish = ["begin", "--emergency=outage", "--reason=x", f"--for={written}", "--object=Deployment/a/b"]
    assert main.run(["override", *wish]) == 64
    assert "--for" in capsys.readouterr().err


def test_what_a_shell_is_told() -> None:
    seen = Seen(override=OPEN)
    assert override_status.exit_code((), now=0.0) == 0
    assert override_status.exit_code((seen,), now=0.0) == 2
    assert override_status.exit_code((seen,), now=100.0) == 1
    over = Seen(override=dataclasses.replace(OPEN, standing=Standing.ENDED))
    assert override_status.exit_code((over,), now=100.0) == 0


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
    place = keeping.path(state, "lab", OPEN.id)
    keeping._keep(OPEN, place)
    (place.parent / "broken.json").write_text("{")
    leading_out = dataclasses.replace(OPEN, id=str(tmp_path / "elsewhere"))
    keeping._keep(leading_out, place.with_name("other.json"))
    assert keeping.local(state, "lab") == (OPEN,)
    assert json.loads(place.read_text())["reason"] == "down"
    assert place.stat().st_mode & 0o077 == 0
    with pytest.raises(errors.UsageError):
        keeping.path(state, "lab", "../x")
