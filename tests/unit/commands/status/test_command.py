"""``firstlight status`` and ``firstlight runs`` as a user types them, on journals of real and killed runs."""

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from firstlight.cli import main
from firstlight.execute.overrides import override_records
from firstlight.journal import event_lines, run_identity, state_files
from firstlight.journal.journal_writer import Journal
from firstlight.model.event import RunStarted
from firstlight.model.override import Emergency, Override, OverrideStanding
from tests.unit.journal import stories

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "runs"


def keep(repo: Path, name: str, run: str = "", cluster: str = "infra") -> str:
    """The journal of a scenario, as if it had been run on this host."""
    story = stories.load(SCENARIOS / name / "story.yaml")
    first = dataclasses.replace(
        story.started, who=run_identity.who(), cluster=cluster, run=run or f"20261116T063000Z-{cluster}-{name}"
    )
    path = repo / ".firstlight/runs" / f"{first.run}.jsonl"
    state_files.enter(path)
    path.write_bytes(b"".join(map(event_lines.event_line, (first, *story.events[1:]))))
    return first.run


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_without_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["status", "--repo", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no run yet\nnext: firstlight up\n"
    assert main.run(["status", "-o", "json", "--repo", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"run": None, "overrides": []}
    assert not list(tmp_path.iterdir())


def override(repo: Path, id: str, *, until: float, standing: OverrideStanding = OverrideStanding.OPEN) -> None:
    record = Override(
        id=id, cluster="infra", emergency=Emergency.OUTAGE, reason="limit too low", who="ada", begun=until - 7200,
        until=until, standing=standing, scope=("component shop",),
    )  # fmt: skip
    override_records.copy(record, repo / ".firstlight", "infra")


def test_overrides_that_are_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "whole")
    override(tmp_path, "one-of-today", until=time.time() + 3600)
    override(tmp_path, "one-that-is-over", until=time.time() - 60, standing=OverrideStanding.ENDED)

    assert main.run(["status", "--repo", str(tmp_path)]) == 0

    out = capsys.readouterr().out
    assert "override one-of-today of ada: limit too low (open, expires in" in out
    assert out.endswith("next: firstlight override status infra\n")
    assert "one-that-is-over" not in out


def test_an_override_that_has_expired_is_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    override(tmp_path, "one-of-yesterday", until=time.time() - 86_400)

    assert main.run(["status", "--repo", str(tmp_path)]) == 1
    assert "EXPIRED" in capsys.readouterr().out
    assert main.run(["status", "infra", "-o", "json", "--repo", str(tmp_path)]) == 1
    (found,) = json.loads(capsys.readouterr().out)["overrides"]
    assert (found["id"], found["expired"]) == ("one-of-yesterday", True)
    assert main.run(["status", "apps", "--repo", str(tmp_path)]) == 0


def test_a_cluster_that_was_never_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "whole")

    assert main.run(["status", "apps", "--repo", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no run of apps yet; there were runs of infra\nnext: firstlight up apps\n"


def test_a_run_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = keep(tmp_path, "gave-up")
    keep(tmp_path, "whole", run="20260101T000000Z-infra-old")
    keep(tmp_path, "whole", run="20260101T000000Z-apps-old", cluster="apps")

    code = main.run(["status", "--repo", str(tmp_path)])

    out = capsys.readouterr().out
    assert code == 1
    assert "core ✘ 2/5" in out
    assert "infra   ✘ stopped after 11m39s: 8 of 20 steps done, 47 writes" in out
    assert out.index("cert-manager") < out.index("sops-age")
    assert f"firstlight runs {run}" in out
    assert out.endswith("also run: apps\n")


def test_a_run_whose_process_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "killed")

    code = main.run(["status", "--repo", str(tmp_path)])

    out = capsys.readouterr().out
    assert code == 1
    assert "✘ killed, last heard of after 29s: 1 of 20 steps done, 3 writes" in out
    assert "next     firstlight up infra: it goes on where the cluster is" in out


def test_a_run_that_goes_on_is_seen_from_another_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = stories.load(SCENARIOS / "goes-on/story.yaml")
    first = dataclasses.replace(story.started, at=time.time(), who=run_identity.who())

    with Journal.start(tmp_path / ".firstlight", first) as journal:
        for event in story.events[1:]:
            journal.write(dataclasses.replace(event, at=time.time()))
        code = main.run(["status", "infra", "--repo", str(tmp_path)])
        out = capsys.readouterr().out
        assert main.run(["status", "-o", "json", "--repo", str(tmp_path)]) == 0
        found = json.loads(capsys.readouterr().out)["run"]

    assert code == 0
    assert "▸ goes on since 0s" in out.splitlines()[0]
    assert "cert-manager       ▸ waiting" in out
    assert "to follow it: firstlight status infra --watch" in out
    assert (found["outcome"], found["writes"], len(found["steps"])) == ("running", 44, 20)


def test_watching_ends_with_the_run(tmp_path: Path) -> None:
    story = stories.load(SCENARIOS / "gave-up/story.yaml")
    first = dataclasses.replace(story.started, who=run_identity.who())
    command = [sys.executable, "-m", "firstlight", "status", "--watch", "--repo", str(tmp_path)]

    with Journal.start(tmp_path / ".firstlight", first) as journal:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"COLUMNS": "100", "CI": "1"}
        )
        assert process.stderr is not None
        began = process.stderr.readline()
        for event in story.events[1:]:
            journal.write(event)
        out, err = process.communicate(timeout=60)

    assert began == "2026-11-16T06:30:00Z  run 20261116T063000Z-infra-ab12 of infra at 4f2c9d1e8a7b: 20 steps\n"
    assert process.returncode == 1
    assert "2026-11-16T06:41:39Z  run failed after 11m39s, 47 writes\n" in err
    assert out.startswith("infra   ✘ stopped after 11m39s")


def test_watching_as_json_is_the_event_stream(tmp_path: Path) -> None:
    story = stories.load(SCENARIOS / "whole/story.yaml")
    first = dataclasses.replace(story.started, who=run_identity.who())
    command = [sys.executable, "-m", "firstlight", "status", "--watch", "-o", "json", "--repo", str(tmp_path)]

    with Journal.start(tmp_path / ".firstlight", first) as journal:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        began = process.stdout.readline()
        for event in story.events[1:]:
            journal.write(event)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 0
    assert began + out == journal.path.read_text()


def test_a_run_that_is_over_is_not_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "whole")

    assert main.run(["status", "--watch", "-o", "json", "--repo", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["outcome"] == "passed"


def test_the_list_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "again", run="20261116T071500Z-infra-cd34")
    keep(tmp_path, "gave-up", run="20261116T063000Z-infra-ab12")
    keep(tmp_path, "dry-run", run="20261115T063000Z-apps-zz99", cluster="apps")

    assert main.run(["runs", "--repo", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run                           cluster   began                  took     outcome    writes",
        "20261116T071500Z-infra-cd34   infra     2026-11-16 06:30 UTC   2s       ✔ passed   0",
        "20261116T063000Z-infra-ab12   infra     2026-11-16 06:30 UTC   11m39s   ✘ failed   47",
        "20261115T063000Z-apps-zz99    apps      2026-11-16 06:30 UTC   1s       ✘ failed   0        dry run",
    ]
    assert main.run(["runs", "--cluster", "apps", "-o", "json", "--repo", str(tmp_path)]) == 0
    (only,) = json.loads(capsys.readouterr().out)["runs"]
    assert (only["run"], only["outcome"], only["dryRun"], only["steps"]) == (
        "20261115T063000Z-apps-zz99", "failed", True, 20,
    )  # fmt: skip


def test_one_run_by_a_part_of_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(tmp_path, "whole", run="20261116T063000Z-infra-ab12")
    keep(tmp_path, "again", run="20261116T071500Z-infra-cd34")

    assert main.run(["runs", "ab12", "--repo", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("run 20261116T063000Z-infra-ab12   infra   ✔ passed after 4m12s   80 writes\n")
    assert "58s      rook-ceph" in out

    assert main.run(["runs", "infra", "--repo", str(tmp_path)]) == 64
    assert "infra may be one of 2 runs" in capsys.readouterr().err
    assert main.run(["runs", "nothing", "--repo", str(tmp_path)]) == 64
    assert "there is no run nothing" in capsys.readouterr().err
    assert main.run(["runs", "../../../etc/passwd", "--repo", str(tmp_path)]) == 64


def test_the_picture_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = keep(tmp_path, "whole")
    out = tmp_path / "run.svg"
    nowhere = tmp_path / "nowhere" / "run.svg"

    assert main.run(["runs", "--timeline", str(out), "--repo", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{out} shows run {run}\n"
    ElementTree.fromstring(out.read_text())
    assert main.run(["runs", "--timeline", str(nowhere), "--repo", str(tmp_path)]) == 1
    assert "cannot be written: No such file" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == [".firstlight", "run.svg"]


def test_lines_of_a_newer_firstlight_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = keep(tmp_path, "whole")
    path = tmp_path / ".firstlight/runs" / f"{run}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"v":1,"type":"Told"', b'{"v":2,"type":"Told"'))

    assert main.run(["runs", run, "--repo", str(tmp_path)]) == 0

    assert "2 lines, from 6 on, are passed over: a newer firstlight wrote it" in capsys.readouterr().err


def test_a_run_without_steps(tmp_path: Path) -> None:
    first = RunStarted(at=time.time(), run="20261116T063000Z-x-y", cluster="infra", steps=(), who=run_identity.who())
    Journal.start(tmp_path / ".firstlight", first).close()

    assert main.run(["status", "--repo", str(tmp_path)]) == 1
    assert main.run(["runs", "x-y", "--repo", str(tmp_path)]) == 0
    assert main.run(["runs", "--timeline", str(tmp_path / "a.svg"), "--repo", str(tmp_path)]) == 0
