"""What an audit knows by Git, and edits that Git takes and takes back."""

import datetime
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.clients.git import Git
from firstlight.commands.audit import audit_cache, gather
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.repo import file_patch
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import repos

PROGRAM = Path(shutil.which("git") or "git")
TODAY = datetime.date(2026, 11, 1)
HELMFILE = """\
environments: {home: {}}
---
releases:
  - name: cilium
    namespace: kube-system
    chart: oci://registry.example.org/charts/cilium
    version: 1.18.2
    values: [values.yaml]
"""


def git(cwd: Path, *arguments: str, day: str = "2026-10-01") -> str:
    """git as anybody runs it, on a day."""
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    when = {f"GIT_{who}_DATE": f"{day}T12:00:00+00:00" for who in ("AUTHOR", "COMMITTER")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **identity, **when}
    done = subprocess.run(["git", *arguments], cwd=cwd, env=env, capture_output=True, check=True, text=True)
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    root = repos.make(tmp_path / "repo")
    (root / "bootstrap").mkdir()
    (root / "bootstrap/helmfile.yaml").write_text(HELMFILE)
    (root / "bootstrap/values.yaml").write_text("cluster: {name: home}\n")
    (root / ".gitignore").write_text("talosconfig\nsecret/\nnode_modules/\n*.log\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one", day="2025-01-02")
    return root


async def test_what_git_knows_is_in_the_scene(repo: Path) -> None:
    (repo / "bootstrap/values.yaml").write_text("cluster: {name: home, id: 1}\n")
    git(repo, "commit", "-qam", "two", day="2026-03-04")
    (repo / "new.yaml").write_text("a: 1\n")
    for path in ("talosconfig", "secret/kubeconfig", "node_modules/kubeconfig", "some.log"):
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).write_text("AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ\n")
        (repo / path).chmod(0o644)

    scene, skipped = await gather.gather(WorkTree(repo), git=PROGRAM, today=TODAY)

    assert skipped == ()
    assert scene.tracked is not None
    assert "clusters/home/web.yaml" in scene.tracked
    assert scene.untracked == ("new.yaml",)
    assert scene.ignored == ("secret/kubeconfig", "talosconfig")
    assert scene.modes == {"secret/kubeconfig": 0o644, "talosconfig": 0o644}
    assert scene.committed == {
        "bootstrap/helmfile.yaml": datetime.date(2025, 1, 2),
        "bootstrap/values.yaml": datetime.date(2026, 3, 4),
    }


async def test_a_repo_in_a_directory_of_another_counts_paths_from_itself(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    shutil.rmtree(repo / ".git")
    inner = Path(shutil.move(repo, outer / "inner"))
    git(outer, "init", "-q")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "one", day="2025-01-02")
    (inner / "clusters/home/web.yaml").write_text(repos.WEB + "# more\n")

    scene, _ = await gather.gather(WorkTree(inner), git=PROGRAM, today=TODAY)

    assert scene.tracked is not None
    assert "clusters/home/web.yaml" in scene.tracked
    assert scene.committed["bootstrap/values.yaml"] == datetime.date(2025, 1, 2)
    paths = ["clusters/home/web.yaml", "bootstrap/values.yaml", "nowhere.yaml"]
    assert await file_patch.uncommitted(inner, paths, git=PROGRAM) == ("clusters/home/web.yaml", "nowhere.yaml")


async def test_a_directory_that_the_repository_around_it_ignores_stands_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("inner/\n")
    inner = repos.make(tmp_path / "inner")

    scene, _ = await gather.gather(WorkTree(inner), git=PROGRAM, today=TODAY)

    assert (scene.tracked, scene.untracked) == (None, ())


async def test_without_a_repository_nothing_is_known(tmp_path: Path) -> None:
    scene, skipped = await gather.gather(WorkTree(repos.make(tmp_path)), git=PROGRAM, today=TODAY)

    assert (scene.tracked, scene.untracked, scene.ignored, skipped) == (None, (), (), ())


async def test_files_of_no_commit_have_no_day(repo: Path) -> None:
    assert await Git(PROGRAM).last_commits(repo, []) == {}
    assert await Git(PROGRAM).last_commits(repo, ["nowhere.yaml"]) == {}
    found = await Git(PROGRAM).last_commits(repo, ["bootstrap/values.yaml"])
    assert {path: str(when.date()) for path, when in found.items()} == {"bootstrap/values.yaml": "2025-01-02"}


def test_a_fix_of_what_is_committed_is_written_and_git_shows_the_same(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["audit", "--repo", str(repo), "--rule", repos.RULE, "--fix"]) == 0

    out = capsys.readouterr().out
    changed = [line for line in git(repo, "diff").splitlines() if line.startswith(("-  ", "+  "))]
    assert changed == ["-  replicas: 1   # for now", "+  replicas: 2   # for now"]
    assert all(line in out for line in changed)


def test_a_file_that_somebody_is_editing_is_not_fixed(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = repo / "clusters/home/web.yaml"
    web.write_text(repos.WEB + "# mine\n")

    assert main.run(["audit", "--repo", str(repo), "--rule", repos.RULE, "--fix"]) == 3

    assert "no commit has clusters/home/web.yaml as it is" in capsys.readouterr().err
    assert web.read_text() == repos.WEB + "# mine\n"


def test_a_patch_is_one_that_git_applies(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["audit", "--repo", str(repo), "--rule", repos.RULE, "--patch"])

    patch = capsys.readouterr().out
    subprocess.run(["git", "apply", "-"], cwd=repo, input=patch, text=True, check=True)

    assert (repo / "clusters/home/web.yaml").read_text() == repos.WEB.replace("replicas: 1", "replicas: 2")


async def test_what_git_tracks_is_part_of_what_an_answer_is_known_by(repo: Path, tmp_path: Path) -> None:
    async def key() -> str | None:
        wishes = AuditRequest(today=TODAY)
        return await audit_cache.key(WorkTree(repo), wishes, None, place=tmp_path / "answers", git=PROGRAM)

    (repo / "new.yaml").write_text("a: 1\n")
    names = [await key()]
    git(repo, "add", "new.yaml")
    names.append(await key())
    git(repo, "commit", "-qm", "two")
    names.append(await key())
    (repo / "talosconfig").write_text("x\n")
    names.append(await key())
    (repo / "talosconfig").chmod(0o600)
    names.append(await key())
    Path(os.fsdecode(os.fsencode(repo) + b"/\xff.log")).write_text("a name that is no text\n")

    assert len(set(names)) == len(names)
    assert await key() == names[-1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a: 1\nb: 2\n", b"a: 1\nb: 3\n"),
        (b"a: 1\r\nb: 2\r\n", b"a: 1\r\nb: 3\r\n"),
        (b"a: 1\nb: 2", b"a: 1\nb: 3"),
        (b"a: 1\nb: 2", b"a: 1\nb: 2\n"),
        ("a: \u2028\x0cx\nb: 2\n".encode(), "a: \u2028\x0cx\nb: 3\n".encode()),
        (None, b"a: 1\n"),
    ],
)
@pytest.mark.parametrize("name", ["a.yaml", "with space/a b.yaml", "ümlaut.yaml"])
def test_a_diff_is_one_that_patch_applies(tmp_path: Path, before: bytes | None, after: bytes, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    if before is not None:
        file.write_bytes(before)
    diff = file_patch.unified_diff(name, before, after)

    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"], cwd=tmp_path, input=diff.encode(), capture_output=True
    )

    assert done.returncode == 0, (done.stderr, diff)
    assert file.read_bytes() == after
