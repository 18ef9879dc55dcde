"""The journal as it is written: private, lasting, never broken, whatever happens to the disk or the process."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.journal import journal_reader, run_identity
from firstlight.journal.journal_writer import Journal
from firstlight.model.event import RunEnded, RunStarted, StepEnded, StepStarted, Told, Writing

STARTED = RunStarted(at=1.0, run="20261116T063000Z-infra-ab12", cluster="infra", steps=(), who=run_identity.who())


def test_every_line_has_its_version_and_type(tmp_path: Path) -> None:
    with Journal.start(tmp_path / ".firstlight", STARTED) as journal:
        journal.write(StepStarted(at=2.5, step="core/cilium"))

    lines = journal.path.read_text().splitlines()
    assert journal.path == tmp_path / ".firstlight/runs/20261116T063000Z-infra-ab12.jsonl"
    assert json.loads(lines[0])["type"] == "RunStarted"
    assert lines[1] == '{"v":1,"type":"StepStarted","at":2.5,"step":"core/cilium"}'


def test_nobody_else_reads_it_and_git_does_not_take_it(tmp_path: Path) -> None:
    state = tmp_path / ".firstlight"
    state.mkdir(mode=0o755)  # as init leaves it
    (state / "runs").mkdir(mode=0o755)

    Journal.start(state, STARTED).close()

    assert (state / "runs").stat().st_mode & 0o777 == 0o700
    assert (state / "runs" / f"{STARTED.run}.jsonl").stat().st_mode & 0o777 == 0o600
    assert (state / ".gitignore").read_text() == "*\n"


def test_what_somebody_wrote_into_gitignore_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("runs/\n")

    Journal.start(tmp_path, STARTED).close()

    assert (tmp_path / ".gitignore").read_text() == "runs/\n"


def test_what_must_survive_a_power_loss_is_on_disk_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)

    with Journal.start(tmp_path, STARTED) as journal:
        counts = [len(synced)]
        for event in (
            StepStarted(at=2, step="a"),
            Writing(at=3, step="a", writes=("create it",)),
            Told(at=4, step="a", text="half"),
            StepEnded(at=5, step="a", verdict="passed"),
            RunEnded(at=6, verdict="passed"),
        ):
            journal.write(event)
            counts.append(len(synced))

    assert counts == [1, 1, 2, 2, 3, 4]


def test_a_full_disk_is_an_error_and_leaves_whole_lines(tmp_path: Path) -> None:
    """A limit on the size of files breaks a write in the middle, as a full disk does."""
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from firstlight import errors\n"
        "from firstlight.journal.journal_writer import Journal\n"
        "from firstlight.model.event import RunStarted, Told\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n"
        "journal = Journal.start(Path(sys.argv[1]), RunStarted(at=1, run='r', cluster='c', steps=()))\n"
        "try:\n"
        "    for n in range(20):\n"
        "        journal.write(Told(at=n, step='a', text='x' * 50))\n"
        "except errors.FirstlightError as error:\n"
        "    print(error.message)\n"
    )

    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)

    path = tmp_path / "runs/r.jsonl"
    found = journal_reader.contents(path)
    assert re.fullmatch(r"the journal .*/r\.jsonl cannot be written: File too large\n", done.stdout)
    assert path.read_bytes().endswith(b"}\n")
    assert not found.is_torn
    assert not found.diagnostics
    assert 2 < len(found.events) < 8


def test_a_first_line_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    Journal.start(tmp_path, RunStarted(at=1, run="earlier", cluster="c", steps=())).close()
    monkeypatch.setattr(os, "write", full)

    with pytest.raises(errors.FirstlightError, match="No space left on device"):
        Journal.start(tmp_path, STARTED)

    assert [each.name for each in (tmp_path / "runs").iterdir()] == ["earlier.jsonl"]


@pytest.mark.parametrize("state", ["/proc/firstlight", "{tmp}/file/.firstlight"])
def test_a_directory_that_cannot_be_written(state: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(errors.FirstlightError, match="cannot be written") as raised:
        Journal.start(Path(state.replace("{tmp}", str(tmp_path))), STARTED)

    assert "run again" in raised.value.hint


@pytest.mark.parametrize("link", [".firstlight", ".firstlight/runs"])
def test_a_link_of_the_repo_is_not_followed(link: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(errors.Refused, match="is a link"):
        Journal.start(tmp_path / ".firstlight", STARTED)

    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_journal_is_never_continued_or_replaced(tmp_path: Path) -> None:
    Journal.start(tmp_path, STARTED).close()

    with pytest.raises(errors.FirstlightError, match="File exists"):
        Journal.start(tmp_path, STARTED)


def test_an_id_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError):
        Journal.start(tmp_path, RunStarted(at=1, run="../../etc/passwd", cluster="c", steps=()))


def test_it_is_seen_whether_the_process_lives(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from firstlight.journal import run_identity\n"
        "from firstlight.journal.journal_writer import Journal\n"
        "from firstlight.model.event import RunStarted\n"
        "started = RunStarted(at=1, run='r', cluster='c', steps=(), who=run_identity.who())\n"
        "journal = Journal.start(Path(sys.argv[1]), started)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"

    path = tmp_path / "runs/r.jsonl"
    while_it_lives = journal_reader.state(path).outcome
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()

    assert while_it_lives == "running"
    assert journal_reader.state(path).outcome == "killed"
    assert journal_reader.is_alive(path, "me@another-host:1") is None
    assert journal_reader.is_alive(path, f"{run_identity.who()}:20261116T063000Z-infra-ab12") is False


def test_ids_sort_by_time_and_are_file_names() -> None:
    earlier, later = (
        run_identity.make_run_id("infra", now=1794810600),
        run_identity.make_run_id("Infra West/1", now=1794810601),
    )

    assert re.fullmatch(r"20261116T063000Z-infra-[a-z0-9]{4}", earlier)
    assert re.fullmatch(r"20261116T063001Z-infra-west-1-[a-z0-9]{4}", later)
    assert earlier < later
    assert run_identity.is_run_id(run_identity.make_run_id("../\x00" + "x" * 300))
    assert run_identity.is_run_id(run_identity.make_run_id(""))
    assert not run_identity.is_run_id("..")
