"""What a command is by content: words and every file of the repo, unless it reads none of them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.execute import command_digest as execute_command_digest
from firstlight.execute.command_digest import command_digest

FILES = {
    "hooks/seed.sh": "#!/bin/sh\n. ./lib/common.sh\n",
    "lib/common.sh": "echo one\n",
    "lib/__init__.py": "",
    "lib/tool.py": "print(1)\n",
    "k/kustomization.yaml": "resources: [../other]\n",
    "k/a.yaml": "a: 1\n",
    "Makefile": "include mk/*.mk\n",
    "mk/seed.mk": "seed:\n\techo ok\n",
    "Taskfile.yml": "includes: {x: ./mk}\n",
    "check.jq": ".a\n",
    "curl.conf": "data = @k/a.yaml\n",
}


def git(root: Path, *words: str) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *name, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture(params=["git", "plain"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "hooks" / "seed.sh").chmod(0o755)
    if request.param == "git":
        git(root, "init", "-q")
        git(root, "add", ".")
    return root


READING: dict[str, tuple[list[str], str]] = {
    "a script that a script includes": (["./hooks/seed.sh"], "lib/common.sh"),
    "the script itself": (["hooks/seed.sh"], "hooks/seed.sh"),
    "a script of an interpreter": (["bash", "-eu", "hooks/seed.sh"], "lib/common.sh"),
    "what -c includes": (["sh", "-c", ". ./lib/common.sh"], "lib/common.sh"),
    "what -c finds by a variable": (["sh", "-c", 'd=lib; . "./$d/common.sh"'], "lib/common.sh"),
    "what -c of env starts": (["env", "-C", "lib", "sh", "common.sh"], "lib/common.sh"),
    "a module of Python": (["python3", "-m", "lib.tool"], "lib/tool.py"),
    "a package of Python": (["python3", "-c", "import lib.tool"], "lib/__init__.py"),
    "a glob that the program expands": (["kubectl", "apply", "-f", "k/*.yaml"], "k/a.yaml"),
    "a glob that a shell expands": (["sh", "-c", "cat k/*"], "k/a.yaml"),
    "a file that is named": (["kubectl", "apply", "-fk/a.yaml"], "k/a.yaml"),
    "a file of a list": (["kubectl", "apply", "--filename=x,k/a.yaml"], "k/a.yaml"),
    "a kustomization": (["kubectl", "apply", "-k", "k"], "lib/common.sh"),
    "what a file of options names": (["curl", "-K", "curl.conf", "https://example.org"], "k/a.yaml"),
    "what a file of options names, in one word": (["curl", "-Kcurl.conf"], "k/a.yaml"),
    "a body": (["curl", "-d@k/a.yaml", "https://example.org"], "k/a.yaml"),
    "a program of jq": (["jq", "-n", 'include "check"; .'], "check.jq"),
    "a file by its address": (["curl", "file:///anywhere"], "k/a.yaml"),
    "an include of make": (["make", "seed"], "mk/seed.mk"),
    "an include of make, by its path": (["/usr/bin/make", "seed"], "mk/seed.mk"),
    "an include of task": (["task", "x:seed"], "mk/seed.mk"),
    "a program that is not there": (["./missing"], "k/a.yaml"),
    "the top": (["kubectl", "get", "-f", "."], "k/a.yaml"),
    "a path that leaves and comes back": (["kubectl", "get", "x=../repo/k/a.yaml"], "k/a.yaml"),
    "a plugin of kubectl": (["kubectl", "seed"], "k/a.yaml"),
}


@pytest.mark.parametrize(("words", "read"), READING.values(), ids=READING)
def test_what_a_command_may_read_makes_another_one_when_it_changes(repo: Path, words: list[str], read: str) -> None:
    before = command_digest(words, repo)
    assert before.is_whole
    assert command_digest(words, repo) == before

    (repo / read).write_text("another\n")

    assert command_digest(words, repo).value != before.value


def added(root: Path) -> None:
    (root / "lib" / "new.py").write_text("")


def removed(root: Path) -> None:
    (root / "lib" / "tool.py").unlink()


def renamed(root: Path) -> None:
    (root / "lib" / "tool.py").rename(root / "lib" / "other.py")


def executable(root: Path) -> None:
    (root / "lib" / "tool.py").chmod(0o755)


def not_executable(root: Path) -> None:
    (root / "hooks" / "seed.sh").chmod(0o644)


def linked(root: Path) -> None:
    (root / "lib" / "tool.py").unlink()
    (root / "lib" / "tool.py").symlink_to("common.sh")


def tracked_state(root: Path) -> None:
    (root / ".firstlight").mkdir()
    (root / ".firstlight" / "x.sh").write_text("")
    if (root / ".git").exists():
        git(root, "add", "-f", ".firstlight")
    else:
        (root / "x.sh").write_text("")


@pytest.mark.parametrize(
    "change", [added, removed, renamed, executable, not_executable, linked, tracked_state], ids=lambda one: one.__name__
)
def test_so_does_every_other_change_of_the_repo(repo: Path, change: Callable[[Path], None]) -> None:
    before = command_digest(["./hooks/seed.sh"], repo)

    change(repo)

    assert command_digest(["./hooks/seed.sh"], repo).value != before.value


class TestLinks:
    def test_a_file_outside_counts_with_its_content_and_mode(self, repo: Path) -> None:
        outside = repo.parent / "outside"
        outside.write_text("one")
        (repo / "lib" / "link").symlink_to("../../outside")
        first = command_digest(["./hooks/seed.sh"], repo)
        outside.write_text("two")
        second = command_digest(["./hooks/seed.sh"], repo)
        outside.chmod(0o755)

        assert len({first.value, second.value, command_digest(["./hooks/seed.sh"], repo).value}) == 3

    def test_what_git_ignores_counts_where_a_link_leads_to_it(self, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q")
        (tmp_path / ".gitignore").write_text("made\n")
        (tmp_path / "made").write_text("one")
        (tmp_path / "link").symlink_to("made")
        before = command_digest(["./x"], tmp_path)
        (tmp_path / "made").write_text("two")

        assert command_digest(["./x"], tmp_path).value != before.value

    @pytest.mark.parametrize("target", ["/etc", "/dev/zero", "../.."])
    def test_what_cannot_be_covered_is_refused(self, repo: Path, target: str) -> None:
        (repo / "lib" / "link").symlink_to(target)

        with pytest.raises(errors.Refused, match="the link lib/link leads to") as caught:
            command_digest(["./hooks/seed.sh"], repo)
        assert "Remove the link" in caught.value.hint

    @pytest.mark.parametrize("target", ["nowhere", "link", "../hooks", "common.sh"])
    def test_where_a_link_leads_counts(self, repo: Path, target: str) -> None:
        before = command_digest(["./hooks/seed.sh"], repo)
        (repo / "lib" / "link").symlink_to(target)
        linked = command_digest(["./hooks/seed.sh"], repo)
        (repo / "lib" / "link").unlink()
        (repo / "lib" / "link").symlink_to("tool.py")

        assert len({before.value, linked.value, command_digest(["./hooks/seed.sh"], repo).value}) == 3


def test_the_files_of_a_submodule_count(tmp_path: Path) -> None:
    other, root = tmp_path / "other", tmp_path / "repo"
    for each in (other, root):
        each.mkdir()
        git(each, "init", "-q")
    (other / "x.sh").write_text("one")
    git(other, "add", ".")
    git(other, "commit", "-qm", "x")
    git(root, "submodule", "add", "-q", str(other), "sub")
    before = command_digest(["./run"], root)
    assert "sub/x.sh" in before.files

    (root / "sub" / "x.sh").write_text("two")

    assert command_digest(["./run"], root).value != before.value


def test_what_git_ignores_counts_only_where_it_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "x.sh").write_text("one")
    before = command_digest(["./run"], tmp_path), command_digest(["sh", "made/x.sh"], tmp_path)
    (tmp_path / "made" / "x.sh").write_text("two")
    after = command_digest(["./run"], tmp_path), command_digest(["sh", "made/x.sh"], tmp_path)

    assert before[0] == after[0]
    assert before[1].value != after[1].value


def test_what_firstlight_and_git_keep_does_not_count(repo: Path) -> None:
    (repo / ".firstlight").mkdir()
    (repo / ".firstlight" / ".gitignore").write_text("*\n")
    before = command_digest(["./hooks/seed.sh"], repo)
    (repo / ".firstlight" / "run").write_text("x")
    (repo / ".git" / "x").write_text("x") if (repo / ".git").exists() else None

    assert command_digest(["./hooks/seed.sh"], repo) == before


@pytest.mark.parametrize(
    "words",
    [
        ["kubectl", "rollout", "status", "deployment/web", "-n", "data", "--timeout=60s"],
        ["/usr/bin/kubectl", "get", "pods", "-o", "jsonpath={.items[*].metadata.name}"],
        ["kubectl", "wait", "--for=jsonpath={.status.phase}=Running", "pod/x"],
        ["curl", "-fsS", "https://example.org/?a=b"],
        ["true"],
    ],
    ids=" ".join,
)
def test_a_command_that_reads_nothing_of_the_repo_is_its_words(repo: Path, words: list[str]) -> None:
    before = command_digest(words, repo)
    (repo / "lib" / "common.sh").write_text("two")

    assert (before.files, before.is_whole) == ((), False)
    assert command_digest(words, repo) == before


def test_a_program_on_a_path_that_leads_into_the_repo_is_a_file_of_it(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "bin").mkdir()
    (repo / "bin" / "kubectl").write_text("#!/bin/sh\n")
    (repo / "bin" / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{repo / 'bin'}{os.pathsep}{os.environ['PATH']}")

    assert command_digest(["kubectl", "get", "pods"], repo).is_whole


def test_a_file_that_words_name_later_makes_another_command(repo: Path) -> None:
    before = command_digest(["kubectl", "get", "later"], repo)
    (repo / "later").write_text("")

    assert command_digest(["kubectl", "get", "later"], repo).value != before.value


def test_what_to_look_at_are_the_scripts_and_what_they_name(repo: Path) -> None:
    assert command_digest(["./hooks/seed.sh"], repo).named == ("hooks/seed.sh", "lib/common.sh")


def test_a_content_that_changes_with_the_same_times_is_seen(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute_command_digest, "_SETTLED", 3600)
    file = repo / "k" / "a.yaml"
    before = command_digest(["./x"], repo)
    times = file.stat()
    file.write_text("a: 2\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert command_digest(["./x"], repo).value != before.value


@pytest.mark.parametrize(("limit", "value"), [("MOST", 3), ("LARGEST", 10)])
def test_what_is_too_much_is_refused(repo: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(execute_command_digest, limit, value)

    with pytest.raises(errors.Refused, match="too much to allow a command by content") as caught:
        command_digest(["./x"], repo)
    assert "ignore" in caught.value.hint


words = st.lists(st.text(st.characters(blacklist_categories=["Cs"]), max_size=8), min_size=1, max_size=4)


@given(one=words, other=words)
def test_different_words_are_different_commands(one: list[str], other: list[str]) -> None:
    nowhere = Path("/nowhere/at/all")

    assert (command_digest(one, nowhere).value == command_digest(other, nowhere).value) == (one == other)


def test_a_long_word_takes_no_time(repo: Path) -> None:
    assert command_digest(["true", "x" * (execute_command_digest._LONGEST + 1)], repo).is_whole
    assert not command_digest(["true", "," * execute_command_digest._LONGEST], repo).is_whole
