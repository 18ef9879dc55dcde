"""``firstlight decide`` on Git repos: what differs is seen as Git sees it, and nothing of the user's is touched."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.commands.decide.git_repo import (
    HELMFILE,
    PEERS,
    PLATFORM,
    TALCONFIG,
    Decide,
    commit,
    git,
    paths,
    replace,
)


def test_nothing_that_differs_has_no_side(repo: Path, decide: Decide) -> None:
    found = decide()

    assert decide.code == 0
    assert (found["side"], found["changed"], found["title"]) == ("none", False, "work tree against HEAD")
    assert decide(form="text").startswith("no change: work tree against HEAD\n")


def test_comments_and_order_are_no_change(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "kind:", "# a word\nkind:")

    assert decide()["changed"] is False


def test_the_work_tree_with_files_that_nobody_added_so_far(repo: Path, decide: Decide) -> None:
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    (repo / "README.md").write_text("words\n")
    (repo / ".firstlight").mkdir()
    (repo / ".firstlight/state.yaml").write_text("ours\n")

    found = decide()

    assert paths(found) == ["README.md", TALCONFIG]
    assert (found["side"], found["risk"], found["approval"]) == ("bootstrap", "critical", "team")


def test_staged_changes_come_first_as_they_are_staged(repo: Path, decide: Decide) -> None:
    replace(repo, TALCONFIG, "v1.11.2", "v1.11.3")
    git(repo, "add", TALCONFIG)
    replace(repo, TALCONFIG, "v1.11.3", "v1.11.9")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")

    found = decide()

    assert found["title"] == "staged changes"
    assert paths(found) == [TALCONFIG]
    assert [each["after"] for each in found["items"][0]["fields"]] == ["v1.11.3"]
    assert any("not staged" in each and PEERS in each for each in found["doubts"])
    assert decide("--staged") == found


def test_a_branch_is_compared_with_where_it_left(repo: Path, decide: Decide) -> None:
    git(repo, "switch", "--quiet", "-c", "work")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    commit(repo)
    git(repo, "switch", "--quiet", "main")
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    commit(repo)

    found = decide("--diff", "main...work")
    assert paths(found) == [PEERS]
    assert found["side"] == "gitops"
    commands = [each["command"] for each in found["procedure"]]
    assert any(
        re.fullmatch(r"firstlight decide --diff main\.\.\.work --cluster \S+ --check pre", each) for each in commands
    )
    assert not any("--staged" in each for each in commands)
    assert paths(decide("--diff", "main..work")) == [PEERS, TALCONFIG]
    assert paths(decide("--diff", "work")) == [PEERS, TALCONFIG]
    assert decide("--diff", "main...HEAD")["changed"] is False


def test_a_branch_that_is_not_checked_out_is_read_as_it_is(repo: Path, decide: Decide) -> None:
    """The platform that tells what a file belongs to is the branch's, not that of the disk."""
    git(repo, "switch", "--quiet", "-c", "work")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    git(repo, "mv", PEERS, "kubernetes/bgp/neighbours.yaml")
    commit(repo)
    git(repo, "switch", "--quiet", "main")

    found = decide("--diff", "main...work")

    assert paths(found) == ["kubernetes/bgp/neighbours.yaml"]
    assert {each["component"] for item in found["items"] for each in item["components"]} == {"cilium-bgp"}


@pytest.mark.parametrize("way", ["file", "stdin"])
def test_a_patch_is_judged_and_nothing_is_touched(
    way: str, repo: Path, tmp_path: Path, decide: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    patch = tmp_path / "change.patch"
    patch.write_text(git(repo, "diff"))
    git(repo, "checkout", "--quiet", ".")
    index = (repo / ".git/index").read_bytes()
    with patch.open() as file:
        if way == "stdin":
            monkeypatch.setattr(sys, "stdin", file)
        found = decide("--patch", str(patch) if way == "file" else "-")
        monkeypatch.undo()

    assert (found["side"], found["risk"]) == ("bootstrap", "critical")
    assert git(repo, "status", "--porcelain") == ""
    assert (repo / ".git/index").read_bytes() == index


def test_a_patch_that_does_not_fit_is_a_usage_error(repo: Path, tmp_path: Path, decide: Decide) -> None:
    (tmp_path / "a.patch").write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")

    assert "does not fit" in decide("--patch", str(tmp_path / "a.patch"))["error"]["message"]
    assert decide.code == 64
    (tmp_path / "a.patch").write_text("")
    assert decide("--patch", str(tmp_path / "a.patch"))["changed"] is False


def test_files_count_with_their_change_or_as_if_all_in_them_changed(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    (repo / HELMFILE).unlink()

    found = decide("--files", PEERS, TALCONFIG, HELMFILE)

    assert found["title"] == "3 files of the work tree against HEAD, 1 of them as if all in them changed"
    fields = {each["path"]: [field["path"] for field in each["fields"]] for each in found["items"]}
    assert fields[PEERS] == ["spec.nodeSelector.matchLabels.rack"]
    assert len(fields[TALCONFIG]) > 5
    assert {each["verb"] for each in found["items"] if each["path"] == HELMFILE} == {"removed"}


def test_a_file_that_is_misspelt_is_a_usage_error(repo: Path, decide: Decide) -> None:
    found = decide("--files", "kubernetes/bgp/peer.yaml")

    assert decide.code == 64
    assert PEERS in found["error"]["hint"]


def test_revisions_that_are_none_are_usage_errors(repo: Path, decide: Decide) -> None:
    for revisions in ("nowhere...HEAD", "nowhere", "main..nowhere", "--output=x"):
        decide("--diff", revisions, form="text")
        assert decide.code == 64
        assert "Traceback" not in decide.err


def test_a_repo_without_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = Path(shutil.copytree(PLATFORM, tmp_path / "new"))
    git(made, "init", "--quiet", "--initial-branch=main")
    decide = Decide(made, capsys)

    assert TALCONFIG in paths(decide())
    git(made, "add", "--all")
    assert decide()["title"] == "staged changes"
    assert TALCONFIG in paths(decide())


def test_a_repository_without_a_work_tree(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(repo, "clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    decide = Decide(tmp_path / "bare.git", capsys)

    assert "has no work tree" in decide()["error"]["message"]
    assert decide.code == 64


def test_a_submodule_is_nothing_that_can_be_read(repo: Path, decide: Decide) -> None:
    entry = f"160000,{git(repo, 'rev-parse', 'HEAD').strip()},kubernetes/apps/other"
    git(repo, "update-index", "--add", "--cacheinfo", entry)

    found = decide("--staged")

    assert paths(found) == ["kubernetes/apps/other"]
    assert found["risk"] != "low"
    assert any("submodule" in each for each in found["doubts"])


def test_a_directory_of_a_repo_can_be_one_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tmp_path / "all"
    shutil.copytree(PLATFORM, made / "home")
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "all")
    commit(made)
    replace(made, f"home/{PEERS}", "{}", "{matchLabels: {rack: a}}")
    (made / "other.yaml").write_text("a: 1\n")

    found = Decide(made / "home", capsys)()

    assert paths(found) == [PEERS]
    assert any("other.yaml is outside of home" in each for each in found["doubts"])


def test_names_of_files_are_obeyed_by_nobody(repo: Path, decide: Decide) -> None:
    for name in ("a\x1b[31m.yaml", "<img src=x>.md", "a|b`c.yaml", b"\xff\xfe.yaml".decode(errors="surrogateescape")):
        (repo / name).write_text("a: 1\n")

    found = decide()
    assert decide.code == 0
    assert len(found["items"]) == 4
    assert len([each for each in found["doubts"] if "a name that nobody can type" in each]) == 2
    assert "\x1b" not in decide(form="text")
    assert "<img" not in "".join(decide(form="markdown").split("```")[::2])


def test_what_came_by_merges_is_taken_back_by_the_command_that_is_printed(repo: Path, decide: Decide) -> None:
    base = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.org")
    git(repo, "switch", "--quiet", "-c", "topic")
    replace(repo, PEERS, "{}", "{matchLabels: {rack: a}}")
    commit(repo)
    git(repo, "switch", "--quiet", "main")
    git(repo, "merge", "--quiet", "--no-ff", "-m", "merge", "topic")
    merge = git(repo, "rev-parse", "HEAD").strip()

    def taken_back(revisions: str) -> str:
        (typed,) = [each["command"] for each in decide("--diff", revisions)["rollback"] if "git re" in each["command"]]
        words = typed.replace("git commit", "git commit --quiet -m back")
        subprocess.run(words, shell=True, cwd=repo, check=True, capture_output=True)
        assert git(repo, "diff", base, "HEAD") == ""
        git(repo, "reset", "--quiet", "--hard", "HEAD~1")
        return str(typed)

    assert taken_back("HEAD~1..HEAD") == f"git revert --no-edit -m 1 {merge[:12]}"
    (repo / "kubernetes/bgp/new.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n")
    commit(repo)
    assert taken_back("HEAD~2..HEAD").startswith(f"git restore --source={base[:12]} --staged --worktree -- ")
