"""``firstlight move --rehearse`` as it is typed: what is written after it, what is printed, and its exit codes."""

import dataclasses
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.cli import main
from firstlight.commands.change import change_start
from firstlight.commands.move import move
from firstlight.commands.move.lab_rehearsal import RehearsedMove

HOME = Path(__file__).parents[4] / "examples" / "home"
FINE = RehearsedMove(
    what="move cert-manager to gitops", cluster="home", lab="move-home", brought_up=90.0, moved=12.0,
    passed=(("flux (HelmRelease cert-manager/cert-manager)", 47),), certificate="abcd1234", pods=12,
    second_run="0 writes to the API server in a second run, by the audit log", simulated=("nodes",),
)  # fmt: skip
MOVE = ("cert-manager", "--to", "gitops")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOME, tmp_path / "home"))


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a rehearsal come to this; and what was rehearsed."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def play(told: RehearsedMove | Exception) -> list[tuple[str, dict[str, Any]]]:
        def rehearsed(found: Any, **given: Any) -> tuple[RehearsedMove, ...]:
            asked.append((move.what(found), given))
            if isinstance(told, Exception):
                raise told
            return (told,)

        monkeypatch.setattr(move, "rehearsed", rehearsed)
        return asked

    return play


def run(repo: Path, *arguments: str) -> int:
    return main.run(["move", *arguments, "--repo", str(repo), "--no-render"])


def declared(repo: Path) -> str:
    return (repo / "firstlight.yaml").read_text()


def test_rehearsed_alone_nothing_is_written(repo: Path, played: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = played(FINE)
    before = declared(repo)

    assert run(repo, *MOVE, "--rehearse", "--keep", "--offline") == 0

    ((what, given),) = asked
    assert what == "move cert-manager to gitops"
    assert (given["offline"], given["keep"]) == (True, True)
    assert declared(repo) == before
    told = capsys.readouterr().out
    assert "\n-  cert-manager: {phase: core" in told
    assert "home   rehearsed: move cert-manager to gitops   ✔" in told
    assert told.rstrip().splitlines()[-1].startswith("next: --write")


def test_written_once_it_went_well(repo: Path, played: Any, capsys: pytest.CaptureFixture[str]) -> None:
    played(FINE)

    assert run(repo, *MOVE, "--rehearse", "--write", "-o", "json") == 0

    told = msgspec.json.decode(capsys.readouterr().out)
    assert told["written"] is True
    (rehearsal,) = told["rehearsals"]
    assert (rehearsal["cluster"], rehearsal["fine"], rehearsal["failed"]) == ("home", True, None)
    assert rehearsal["passed"] == [{"owner": "flux (HelmRelease cert-manager/cert-manager)", "objects": 47}]
    assert "cert-manager:" not in declared(repo)


@pytest.mark.parametrize(
    "wrong",
    [{"failure": "apps: forbidden", "certificate": "", "second_run": ""}, {"replaced": ("web/web-1",)},
     {"deleted": ("delete deployments web/web",)}, {"written": ("the second run wrote 1 time",)}],
)  # fmt: skip
@pytest.mark.parametrize("further", ["--write", "--carry-out"])
def test_nothing_is_written_once_it_went_wrong(
    wrong: dict[str, Any], further: str, repo: Path, played: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    played(dataclasses.replace(FINE, **wrong))
    _commit(repo)
    before = declared(repo)

    assert run(repo, *MOVE, "--rehearse", further, "--yes") == 1

    assert declared(repo) == before
    told = capsys.readouterr()
    assert "✘" in told.out
    assert "nothing was written; --keep" in told.out
    assert "next: --write" not in told.out


def test_what_is_refused_is_not_rehearsed(repo: Path, played: Any) -> None:
    asked = played(FINE)

    assert run(repo, "cilium", "--to", "gitops", "--rehearse") == 3
    assert run(repo, "cert-manager", "--to", "bootstrap", "--rehearse") == 0
    assert asked == []


def test_somebody_ends_it(repo: Path, played: Any) -> None:
    played(move.RehearsalInterrupted(130))
    before = declared(repo)

    assert run(repo, *MOVE, "--rehearse", "--write") == 130
    assert declared(repo) == before


@pytest.mark.parametrize(("options", "is_said"), [((), True), (("--rehearse",), False)])
def test_carried_out_it_is_said_that_it_was_not_rehearsed(
    options: tuple[str, ...], is_said: bool, repo: Path, played: Any, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    asked = played(FINE)
    started: list[object] = []

    async def start(*given: object) -> int:
        started.append(given)
        return 0

    monkeypatch.setattr(change_start, "start", start)
    _commit(repo)

    assert run(repo, *MOVE, *options, "--carry-out", "--yes") == 0

    assert len(started) == 1
    assert len(asked) == len(options)
    assert (move.UNREHEARSED in capsys.readouterr().err) is is_said


def test_with_other_changes_it_is_not_rehearsed_in_vain(repo: Path, played: Any) -> None:
    asked = played(FINE)
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)

    assert run(repo, *MOVE, "--rehearse", "--carry-out", "--yes") == 3
    assert asked == []


def test_the_lab_is_of_a_rehearsal(repo: Path) -> None:
    assert run(repo, *MOVE, "--keep") == 64
    assert run(repo, *MOVE, "--charts", "charts") == 64


@pytest.mark.parametrize(("bad", "expected"), [("", ["apps", "infra"]), ("apps", ["apps"])])
def test_clusters_have_their_turn_up_to_the_first_that_fails(
    bad: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = Path(shutil.copytree(HOME.parent / "two-clusters", tmp_path / "two"))

    async def one(found: Any, platform: Any, cluster: Any, **given: Any) -> RehearsedMove:
        failure = "forbidden" if cluster.name == bad else ""
        return dataclasses.replace(FINE, cluster=cluster.name, lab=given["lab"], failure=failure)

    monkeypatch.setattr(move, "_one", one)

    code = run(repo, "external-secrets", "--to", "gitops", "--rehearse", "-o", "json")

    told = msgspec.json.decode(capsys.readouterr().out)
    assert code == (1 if bad else 0)
    assert [each["cluster"] for each in told["rehearsals"]] == expected
    assert [each["lab"] for each in told["rehearsals"]] == [f"move-{each}" for each in expected]


def _commit(repo: Path) -> None:
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=the platform"]):
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(repo), *who, *arguments], check=True)
