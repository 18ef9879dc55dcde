"""git itself: what it says of repositories, what it does not do in those of strangers, and its errors."""

import asyncio
import contextlib
import datetime
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from firstlight import errors
from firstlight.clients import git as clients_git
from firstlight.clients import path_safety
from firstlight.model import git, secret
from firstlight.model.secret import Secret

AUTHOR = git.GitPerson("Ada Löve", "ada@example.org")
WHEN = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.UTC)
WEIRD = (
    "-n",
    "new\nline.yaml",
    "ünï/ß.yaml",
    "sp ace/ta\tb",
    'quo"te',
    ":(glob)*",
    "*.yaml",
    os.fsdecode(b"latin-\xe9"),
)
PROGRAM = Path(shutil.which("git") or "git")


@pytest.fixture
def git_client() -> clients_git.Git:
    return clients_git.Git(PROGRAM, schemes={"https", "http", "ssh", "file"})


def real(cwd: Path, *arguments: str, stdin: bytes = b"") -> str:
    """git as anybody runs it, to prepare what is then looked at."""
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **identity}
    done = subprocess.run(["git", *arguments], cwd=cwd, env=env, input=stdin, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
async def work_tree(git_client: clients_git.Git, tmp_path: Path) -> Path:
    """A repository with one commit of a few files."""
    path = tmp_path / "work"
    await git_client.init(path)
    (path / "apps").mkdir()
    (path / "apps" / "a.yaml").write_text("kind: A\n" * 20)
    (path / "run.sh").write_text("#!/bin/sh\n")
    (path / "run.sh").chmod(0o755)
    (path / "link").symlink_to("apps/a.yaml")
    await git_client.add(path, ["apps", "run.sh", "link"])
    await git_client.commit(path, "First\n\nwith a body\n", author=AUTHOR, when=WHEN)
    return path


@pytest.fixture
async def bare(git_client: clients_git.Git, work_tree: Path, tmp_path: Path) -> Path:
    """A bare repository that has what the work tree has."""
    path = tmp_path / "bare.git"
    await git_client.init(path, bare=True)
    await git_client.push(work_tree, f"file://{path}", "main")
    return path


async def committed(client: clients_git.Git, path: Path, **files: str) -> str:
    for name, content in files.items():
        (path / name).write_text(content)
    await client.add(path, list(files))
    commit = await client.commit(path, "More", author=AUTHOR)
    assert commit is not None
    return commit


async def test_where_a_repository_stands(git_client: clients_git.Git, work_tree: Path, bare: Path) -> None:
    head = await git_client.head(work_tree)

    assert head == git.Head(
        commit=real(work_tree, "rev-parse", "HEAD"), branch="main", is_dirty=False, remote_url="", work_tree=work_tree
    )
    assert (await git_client.head(work_tree / "apps")) == head
    assert (await git_client.head(work_tree / ".git")).commit == head.commit
    assert await git_client.head(bare) == git.Head(head.commit, "main", False, "", None)
    (work_tree / "new").write_text("x")
    assert (await git_client.head(work_tree)).is_dirty
    real(work_tree, "checkout", "-q", "--detach")
    real(work_tree, "remote", "add", "origin", "https://ada:hunter2@git.example.org/a/b.git")
    head = await git_client.head(work_tree)
    assert (head.branch, head.remote_url) == ("", "https://git.example.org/a/b.git")


async def test_a_new_repository_has_no_commit(git_client: clients_git.Git, tmp_path: Path) -> None:
    await git_client.init(tmp_path / "new", branch="trunk")

    head = await git_client.head(tmp_path / "new")

    assert (head.commit, head.branch, head.is_dirty) == ("", "trunk", False)
    with pytest.raises(clients_git.GitNotFound):
        await git_client.resolve(tmp_path / "new", "HEAD")
    with pytest.raises(errors.UsageError, match="not empty"):
        await git_client.init(tmp_path / "new")


async def test_further_work_trees_and_sha256_work(git_client: clients_git.Git, work_tree: Path, tmp_path: Path) -> None:
    real(work_tree, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    commit = await committed(git_client, tmp_path / "side", b="b")

    assert (await git_client.head(tmp_path / "side")).branch == "side"
    assert (await git_client.head(tmp_path / "side")).commit == commit
    assert real(work_tree, "rev-parse", "side") == commit
    assert real(tmp_path / "side", "status", "--porcelain") == ""
    assert (await git_client.head(work_tree)).commit != commit

    real(tmp_path, "init", "-q", "--object-format=sha256", "long")
    long = await committed(git_client, tmp_path / "long", b="b")
    assert len(long) == 64
    assert (await git_client.show(tmp_path / "long", "HEAD", "b")) == b"b"


async def test_commits_are_told(git_client: clients_git.Git, work_tree: Path) -> None:
    first = await git_client.resolve(work_tree, "HEAD")
    second = await committed(git_client, work_tree, b="b")

    [told] = await git_client.log(work_tree, first, "main")
    assert (told.id, told.parents, told.subject, told.author) == (second, (first,), "More", AUTHOR)
    *_, oldest = await git_client.log(work_tree)
    assert (oldest.id, oldest.body, oldest.authored, oldest.committed) == (first, "with a body", WHEN, WHEN)
    assert len(await git_client.log(work_tree, limit=1)) == 1
    assert await git_client.is_ancestor(work_tree, "HEAD~1", "HEAD")
    assert not await git_client.is_ancestor(work_tree, "HEAD", "HEAD^")


async def test_changes_since_the_fork_with_renames(git_client: clients_git.Git, work_tree: Path) -> None:
    real(work_tree, "branch", "base")
    real(work_tree, "mv", "--", "apps/a.yaml", "-moved\nname")
    real(work_tree, "rm", "-q", "run.sh")
    (work_tree / "link").unlink()
    (work_tree / "link").write_text("no link")
    await committed(git_client, work_tree, b="b", link="no link")
    real(work_tree, "checkout", "-q", "base")
    await committed(git_client, work_tree, other="x")

    changes = await git_client.changed_files(work_tree, "base", "main")

    assert set(changes) == {
        git.FileChange("renamed", "-moved\nname", "apps/a.yaml"),
        git.FileChange("deleted", "run.sh"),
        git.FileChange("type-changed", "link"),
        git.FileChange("added", "b"),
    }
    assert git.FileChange("deleted", "other") in await git_client.changed_files(
        work_tree, "base", "main", since_fork=False
    )
    text = await git_client.diff(work_tree, "base", "main", paths=["b"])
    assert "+++ b/b\n@@ -0,0 +1 @@\n+b\n" in text
    assert "run.sh" not in text


async def test_names_that_are_no_names(git_client: clients_git.Git, tmp_path: Path) -> None:
    path = tmp_path / "weird"
    await git_client.init(path)
    for name in WEIRD:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(repr(name))

    assert {change.path for change in await git_client.status(path)} == set(WEIRD)
    await git_client.add(path, [":(glob)*"])
    assert [c.path for c in await git_client.status(path) if c.status == "added"] == [":(glob)*"]
    await git_client.add(path, WEIRD)
    commit = await git_client.commit(path, "-m", author=AUTHOR)

    assert commit is not None
    assert (await git_client.log(path))[0].subject == "-m"
    assert {entry.path for entry in await git_client.ls_tree(path)} == set(WEIRD)
    for name in WEIRD:
        assert await git_client.show(path, "HEAD", name) == repr(name).encode("utf-8", "surrogateescape")
    await git_client.export(path, commit, tmp_path / "out")
    for name in WEIRD:
        assert (tmp_path / "out" / name).read_bytes() == (path / name).read_bytes()


async def test_files_of_a_commit(git_client: clients_git.Git, work_tree: Path, bare: Path) -> None:
    for place in (work_tree, bare):
        entries = {entry.path: (entry.kind, entry.size) for entry in await git_client.ls_tree(place)}
        assert entries == {"apps/a.yaml": ("file", 160), "run.sh": ("executable", 10), "link": ("symlink", 11)}
        assert [entry.path for entry in await git_client.ls_tree(place, under="apps")] == ["apps/a.yaml"]
        assert await git_client.show(place, "main", "run.sh") == b"#!/bin/sh\n"
        with pytest.raises(clients_git.GitNotFound, match="no file 'apps'"):
            await git_client.show(place, "main", "apps")
        with pytest.raises(clients_git.GitTooLarge):
            await git_client.show(place, "main", "run.sh", limit=9)


async def test_what_git_knows(git_client: clients_git.Git, work_tree: Path) -> None:
    """A file that is gone from the work tree, or from the index, is known while the last commit has it."""
    (work_tree / "apps" / "a.yaml").unlink()
    real(work_tree, "rm", "--quiet", "run.sh")
    (work_tree / "new").touch()
    (work_tree / "added").touch()
    real(work_tree, "add", "added")
    real(work_tree, "init", "--quiet", "empty")

    known = {
        name: await git_client.knows(work_tree, name)
        for name in ("apps/a.yaml", "run.sh", "added", "new", "apps", "a*")
    }

    assert known == {"apps/a.yaml": True, "run.sh": True, "added": True, "new": False, "apps": False, "a*": False}
    assert await git_client.knows(work_tree / "apps", "a.yaml")
    assert not await git_client.knows(work_tree / "empty", "a.yaml")
    with pytest.raises(errors.UsageError):
        await git_client.knows(work_tree, "../other")


async def test_an_export_is_what_was_committed(git_client: clients_git.Git, work_tree: Path, tmp_path: Path) -> None:
    (work_tree / ".gitattributes").write_text("*.yaml text eol=crlf ident export-ignore\n")
    await committed(git_client, work_tree, **{".gitattributes": "*.yaml text eol=crlf ident export-ignore\n"})

    exported = await git_client.export(work_tree, "HEAD", tmp_path / "out")

    assert (exported.files, exported.path) == (4, tmp_path / "out")
    assert (tmp_path / "out/apps/a.yaml").read_bytes() == b"kind: A\n" * 20
    assert os.access(tmp_path / "out/run.sh", os.X_OK)
    assert not os.access(tmp_path / "out/apps/a.yaml", os.X_OK)
    assert os.readlink(tmp_path / "out/link") == "apps/a.yaml"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "work"]
    with pytest.raises(errors.UsageError, match="already"):
        await git_client.export(work_tree, "HEAD", tmp_path / "out")
    await git_client.export(work_tree, "HEAD", tmp_path / "part", under="apps")
    assert [path.name for path in (tmp_path / "part").iterdir()] == ["apps"]


@pytest.mark.parametrize(
    "links",
    [
        {"out": "/etc/passwd"},
        {"out": "../../etc/passwd"},
        {"d/e/up": "../..", "out": "d/e/up/../secret"},
        {"out": "../work/apps"},
    ],
)
async def test_a_link_out_of_a_commit_is_refused(
    git_client: clients_git.Git, work_tree: Path, tmp_path: Path, links: dict[str, str]
) -> None:
    for name, target in links.items():
        (work_tree / name).parent.mkdir(parents=True, exist_ok=True)
        (work_tree / name).symlink_to(target)
    await git_client.add(work_tree, list(links))
    await git_client.commit(work_tree, "Links", author=AUTHOR)

    with pytest.raises(errors.Refused, match="leads out of"):
        await git_client.export(work_tree, "HEAD", tmp_path / "exported")
    with pytest.raises(errors.Refused, match="leads out of"):
        await git_client.clone(f"file://{work_tree}", tmp_path / "cloned")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["work"]


@pytest.mark.parametrize("name", ["..", ".git", ".GIT", "."])
async def test_a_path_out_of_a_commit_is_refused(
    git_client: clients_git.Git, work_tree: Path, tmp_path: Path, name: str
) -> None:
    blob = real(work_tree, "hash-object", "-w", "--stdin", stdin=b"#!/bin/sh\n")
    inner = bytes.fromhex(
        real(work_tree, "hash-object", "-w", "--literally", "-t", "tree", "--stdin", stdin=_tree(("x", "100755", blob)))
    ).hex()
    outer = real(
        work_tree, "hash-object", "-w", "--literally", "-t", "tree", "--stdin", stdin=_tree((name, "40000", inner))
    )
    commit = real(work_tree, "commit-tree", "-m", "evil", outer)

    with pytest.raises(errors.Refused, match="leads out of it"):
        await git_client.export(work_tree, commit, tmp_path / "out")


async def test_two_entries_of_one_name_do_not_write_through_a_link(
    git_client: clients_git.Git, work_tree: Path, tmp_path: Path
) -> None:
    (tmp_path / "victim").mkdir()
    link = real(work_tree, "hash-object", "-w", "--stdin", stdin=os.fsencode(tmp_path / "victim"))
    blob = real(work_tree, "hash-object", "-w", "--stdin", stdin=b"pwned")
    literally = ("hash-object", "-w", "--literally", "-t", "tree", "--stdin")
    inner = real(work_tree, *literally, stdin=_tree(("x", "100644", blob)))
    outer = real(work_tree, *literally, stdin=_tree(("a", "120000", link), ("a", "40000", inner)))
    commit = real(work_tree, "commit-tree", "-m", "evil", outer)

    with pytest.raises(errors.Refused):
        await git_client.export(work_tree, commit, tmp_path / "out")

    assert list((tmp_path / "victim").iterdir()) == []


async def test_too_much_is_refused_before_it_is_written(
    git_client: clients_git.Git, work_tree: Path, tmp_path: Path
) -> None:
    for limits in (path_safety.TreeLimits(files=2), path_safety.TreeLimits(size=100), path_safety.TreeLimits(depth=1)):
        with pytest.raises(errors.Refused):
            await git_client.export(work_tree, "HEAD", tmp_path / "out", limits=limits)
    assert not (tmp_path / "out").exists()


async def test_commits_of_some_files_leave_the_rest(git_client: clients_git.Git, work_tree: Path) -> None:
    (work_tree / "staged").write_text("1")
    await git_client.add(work_tree, ["staged"])
    (work_tree / "wanted").write_text("2")
    await git_client.add(work_tree, ["wanted"])

    await git_client.commit(work_tree, "Only one", author=AUTHOR, files=["wanted"])

    assert await git_client.status(work_tree) == (git.FileChange("added", "staged"),)
    assert real(work_tree, "status", "--porcelain") == "A  staged"
    assert "Only one" in real(work_tree, "reflog")
    await git_client.commit(work_tree, "The other", author=AUTHOR)
    assert await git_client.commit(work_tree, "Nothing", author=AUTHOR) is None
    (work_tree / "staged").unlink()
    await git_client.add(work_tree, ["staged"])
    assert await git_client.status(work_tree) == (git.FileChange("deleted", "staged"),)
    with pytest.raises(clients_git.GitNotFound):
        await git_client.add(work_tree, ["never"])


async def test_no_commit_where_it_would_be_lost_or_wrong(git_client: clients_git.Git, work_tree: Path) -> None:
    (work_tree / "a").write_text("a")
    await git_client.add(work_tree, ["a"])
    (work_tree / ".git" / "MERGE_HEAD").write_text(await git_client.resolve(work_tree, "HEAD"))
    with pytest.raises(errors.Refused, match="MERGE_HEAD"):
        await git_client.commit(work_tree, "m", author=AUTHOR)
    (work_tree / ".git" / "MERGE_HEAD").unlink()
    real(work_tree, "checkout", "-q", "--detach")
    with pytest.raises(errors.Refused, match="no branch"):
        await git_client.commit(work_tree, "m", author=AUTHOR)
    (work_tree / ".git" / "index.lock").touch()
    with pytest.raises(clients_git.GitBusy):
        await git_client.add(work_tree, ["a"])


async def test_clone_fetch_push_and_whether_it_is_pushed(
    git_client: clients_git.Git, work_tree: Path, bare: Path, tmp_path: Path
) -> None:
    url = f"file://{bare}"
    first = await git_client.resolve(work_tree, "HEAD")
    assert await git_client.is_pushed(work_tree, first, url, "main")
    assert not await git_client.is_pushed(work_tree, first, url, "other")

    second = await committed(git_client, work_tree, b="b")
    assert not await git_client.is_pushed(work_tree, second, url, "main")
    assert await git_client.push(work_tree, url, "main") == git.PushResult("main", second, "updated")
    assert (await git_client.push(work_tree, url, "main")).outcome == "unchanged"
    assert (await git_client.push(work_tree, url, "other", revision=first)).outcome == "created"

    clone = tmp_path / "clone"
    assert await git_client.clone(url, clone) == second
    assert (clone / "b").read_text() == "b"
    assert (await git_client.head(clone)) == git.Head(second, "main", False, url, clone)
    third = await committed(git_client, clone, c="c")
    await git_client.push(clone, url, "main")
    before = _contents(work_tree / ".git")
    assert await git_client.is_pushed(work_tree, second, url, "main")  # the tip is not known here
    assert not await git_client.is_pushed(work_tree, first, url, "gone")
    assert _contents(work_tree / ".git") == before

    await committed(git_client, work_tree, d="d")
    with pytest.raises(clients_git.GitRejected) as caught:
        await git_client.push(work_tree, url, "main")
    assert caught.value.is_behind
    assert await git_client.fetch(work_tree, url, "main") == third
    assert real(work_tree, "rev-parse", "origin/main") == third
    with pytest.raises(clients_git.GitRejected):
        await git_client.push(work_tree, url, "main", expected=first)
    assert (await git_client.push(work_tree, url, "main", expected=third)).outcome == "forced"
    with pytest.raises(clients_git.GitRejected):
        await git_client.push(work_tree, url, "main", revision=third, expected="")


async def test_shallow_clones_of_branches_tags_and_commits(
    git_client: clients_git.Git, work_tree: Path, bare: Path, tmp_path: Path
) -> None:
    url = f"file://{bare}"
    first = await git_client.resolve(work_tree, "HEAD")
    second = await committed(git_client, work_tree, b="b")
    await git_client.push(work_tree, url, "main")
    real(bare, "tag", "-a", "-m", "v1", "v1", first)

    assert await git_client.clone(url, tmp_path / "shallow", depth=1) == second
    assert [commit.id for commit in await git_client.log(tmp_path / "shallow")] == [second]
    assert await git_client.clone(url, tmp_path / "tag", ref="v1", depth=1) == first
    assert await git_client.clone(url, tmp_path / "commit", ref=first, depth=1) == first
    assert not (tmp_path / "commit" / "b").exists()
    assert (await git_client.head(tmp_path / "commit")).branch == ""
    assert await git_client.is_pushed(tmp_path / "shallow", second, url, "main")
    third = await committed(git_client, work_tree, c="c")
    await git_client.push(work_tree, url, "main")
    assert await git_client.is_pushed(tmp_path / "shallow", second, url, "main")
    assert await git_client.fetch(tmp_path / "shallow", url, "main", depth=1) == third
    assert real(tmp_path / "shallow", "fsck", "--connectivity-only") == ""
    with pytest.raises(clients_git.GitNotFound):
        await git_client.changed_files(tmp_path / "shallow", second, third)
    refs = await git_client.ls_remote(url)
    assert (refs.head, refs.branch("main"), refs.tag("v1"), refs.branch("x")) == ("main", third, first, "")
    for ref in ("nope", "0" * 40):
        with pytest.raises(clients_git.GitNotFound):
            await git_client.clone(url, tmp_path / "none", ref=ref)
    assert not (tmp_path / "none").exists()


async def test_an_empty_remote_is_cloned_empty(git_client: clients_git.Git, tmp_path: Path) -> None:
    await git_client.init(tmp_path / "empty.git", bare=True)

    assert await git_client.clone(f"file://{tmp_path}/empty.git", tmp_path / "clone") == ""

    assert (await git_client.head(tmp_path / "clone")).commit == ""


def poison(git_dir: Path, marker: Path, *, script: Path) -> None:
    """Everything in a repository that makes an unsuspecting Git run a program."""
    script.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\ncat\nexit 0\n")
    script.chmod(0o755)
    (git_dir / "hooks").mkdir(exist_ok=True)
    hooks = (
        "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change",
        "reference-transaction", "pre-push", "pre-receive", "update", "post-receive", "post-update", "pre-auto-gc",
        "post-merge", "fsmonitor-watchman", "applypatch-msg", "push-to-checkout", "proc-receive",
    )  # fmt: skip
    for name in hooks:
        shutil.copy(script, git_dir / "hooks" / name)
    (git_dir / "more").write_text(f"[core]\n\tfsmonitor = {script}\n")
    with (git_dir / "config").open("a") as config:
        config.write(
            f"""
[core]
    fsmonitor = {script}
    sshCommand = {script}
    gitProxy = {script}
    askPass = {script}
    pager = {script}
    editor = {script}
    hooksPath = {git_dir}/hooks
    alternateRefsCommand = {script}
    attributesFile = {git_dir}/attributes
[alias]
    status = !{script}
    rev-parse = !{script}
[diff]
    external = {script}
[diff "evil"]
    command = {script}
    textconv = {script}
[filter "evil"]
    clean = {script}
    smudge = {script}
    process = {script}
    required = true
[merge "evil"]
    driver = {script}
[credential]
    helper = {script}
[gpg]
    program = {script}
[commit]
    gpgSign = true
[log]
    showSignature = true
[include]
    path = {git_dir}/more
[url "ext::{script} "]
    insteadOf = https://
    insteadOf = file://
[remote "origin"]
    url = https://git.example.org/a/b.git
    uploadpack = {script}
    receivepack = {script}
[uploadpack]
    packObjectsHook = {script}
[gc]
    auto = 1
[submodule]
    recurse = true
[pager]
    log = {script}
    diff = {script}
[trailer "x"]
    command = {script}
"""
        )
    (git_dir / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text("*.yaml filter=evil diff=evil\n")


@pytest.mark.parametrize("is_bare", [False, True])
async def test_a_strangers_repository_is_not_obeyed(
    git_client: clients_git.Git, work_tree: Path, bare: Path, tmp_path: Path, is_bare: bool
) -> None:
    marker = tmp_path / "ran"
    first = await git_client.resolve(work_tree, "HEAD")
    await committed(git_client, work_tree, b="b")
    await git_client.push(work_tree, f"file://{bare}", "main")
    (work_tree / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (work_tree / "b").write_text("changed")
    os.utime(work_tree / "apps" / "a.yaml", (1, 1))  # Git must read it again to know
    place = bare if is_bare else work_tree
    poison(bare if is_bare else work_tree / ".git", marker, script=tmp_path / "evil")

    await git_client.head(place)
    await git_client.resolve(place, "main")
    await git_client.log(place)
    await git_client.changed_files(place, first, "HEAD")
    await git_client.diff(place, first, "HEAD")
    await git_client.ls_tree(place)
    await git_client.show(place, "HEAD", "apps/a.yaml")
    await git_client.export(place, "HEAD", tmp_path / "exported")
    await git_client.clone(f"file://{place}", tmp_path / "cloned")
    await git_client.ls_remote(f"file://{place}")
    await git_client.push(place, f"file://{bare}", "branch")
    await git_client.push(work_tree, f"file://{bare}", "again", revision=first)
    await git_client.fetch(place, f"file://{bare}", "main")
    await git_client.is_pushed(place, "HEAD", f"file://{bare}", "main")
    with pytest.raises(clients_git.GitUnreachable):
        await git_client.ls_remote("https://127.0.0.1:1/a/b.git")
    if not is_bare:
        assert {change.path for change in await git_client.status(work_tree)} == {".gitattributes", "b"}
        with pytest.raises(errors.Refused, match="filter 'evil'"):
            await git_client.add(work_tree, ["b"])
        (work_tree / ".gitattributes").unlink()
        await git_client.add(work_tree, ["b"])
        assert await git_client.commit(work_tree, "Mine", author=AUTHOR)

    assert not marker.exists(), marker.read_text()
    # The poison is real: an unsuspecting git takes it.
    with contextlib.suppress(subprocess.CalledProcessError):
        real(work_tree, *(["push", "-q", str(bare), "HEAD:refs/heads/real"] if is_bare else ["diff"]))
    assert marker.exists()


async def test_a_submodule_is_not_asked(git_client: clients_git.Git, work_tree: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    await git_client.clone(f"file://{work_tree}", work_tree / "sub")
    real(work_tree, "add", "sub")
    (work_tree / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = ./x\n')
    await git_client.add(work_tree, [".gitmodules"])
    commit = await git_client.commit(work_tree, "Submodule", author=AUTHOR)
    assert commit is not None
    poison(work_tree / "sub" / ".git", marker, script=tmp_path / "evil")
    (work_tree / "sub" / "apps" / "a.yaml").write_text("changed")

    assert await git_client.status(work_tree) == ()
    assert (await git_client.export(work_tree, commit, tmp_path / "out")).submodules == ("sub",)
    await git_client.diff(work_tree, "HEAD~1")
    await git_client.clone(f"file://{work_tree}", tmp_path / "clone")

    assert not marker.exists(), marker.read_text()
    with contextlib.suppress(subprocess.CalledProcessError):
        real(work_tree, "status")
    assert marker.exists()


async def test_what_is_no_repository(git_client: clients_git.Git, tmp_path: Path) -> None:
    with pytest.raises(clients_git.NotARepository):
        await git_client.head(tmp_path)
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(clients_git.NotARepository):
        await git_client.head(tmp_path)


@contextlib.asynccontextmanager
async def backend(root: Path, *, login: str = "", status: int = 0) -> AsyncIterator[tuple[str, list[str]]]:
    """git http-backend behind a small server, and the credentials that it was shown."""
    shown: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "")
        shown.append(given)
        if status:
            return web.Response(status=status, headers={"Location": "http://127.0.0.2:1/x"} if status == 302 else {})
        if login and given != f"Basic {login}":
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "ada",
        }
        process = await asyncio.create_subprocess_exec("git", "http-backend", env=env, stdin=-1, stdout=-1)
        body, _ = await process.communicate(await request.content.read())
        head, _, rest = body.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        code = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=code, body=rest, headers=headers)

    application = web.Application(handler_args={"auto_decompress": False})
    application.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(application, auto_decompress=False)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", shown
    finally:
        await runner.cleanup()


async def test_a_password_is_shown_to_the_server_and_to_nobody_else(
    git_client: clients_git.Git, work_tree: Path, bare: Path, tmp_path: Path
) -> None:
    good = secret.Login("ada", Secret("hunter2"))
    async with backend(tmp_path, login="YWRhOmh1bnRlcjI=") as (server, shown):
        url = f"{server}/bare.git"
        with pytest.raises(clients_git.GitUnauthorised) as caught:
            await git_client.ls_remote(url)
        assert caught.value.hint
        with pytest.raises(clients_git.GitUnauthorised):
            await git_client.ls_remote(url, credentials=secret.Login("ada", Secret("wrong")))
        assert (await git_client.ls_remote(url, credentials=good)).head == "main"
        with pytest.raises(clients_git.GitNotFound):
            await git_client.ls_remote(f"{server}/none.git", credentials=good)
        commit = await git_client.clone(url, tmp_path / "clone", credentials=good)
        assert "hunter2" not in (tmp_path / "clone/.git/config").read_text()
        real(bare, "config", "http.receivepack", "true")
        assert (await git_client.push(work_tree, url, "new", credentials=good)).commit == commit
        assert await git_client.is_pushed(work_tree, "HEAD", url, "new", credentials=good)
        assert set(shown) == {"", "Basic YWRhOmh1bnRlcjI=", "Basic YWRhOndyb25n"}


async def test_a_key_reaches_ssh_and_no_disk(work_tree: Path, bare: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin" / "ssh"
    # It closes what it inherited, as ssh does, shows what it was given, and does here what it should do there.
    ssh.write_text(
        f"""#!/bin/bash
for fd in /proc/self/fd/*; do n=${{fd##*/}}; [ "$n" -gt 2 ] && [ "$n" -lt 255 ] && eval "exec $n>&-"; done
for option; do case "$option" in -oIdentityFile=*|-oUserKnownHostsFile=*)
  stat -L -c %a "${{option#*=}}"; readlink "${{option#*=}}"; cat "${{option#*=}}";; esac; done >> {tmp_path}/given
echo "$@" >> {tmp_path}/argv
exec sh -c "${{@: -1}}"
"""
    )
    ssh.chmod(0o755)
    environ = {"PATH": f"{ssh.parent}:{os.environ['PATH']}", "SSH_AUTH_SOCK": "/run/agent"}
    client = clients_git.Git(PROGRAM, environ=environ)
    key = secret.SshKey(Secret("KEY\n"), "git.example.org ssh-ed25519 HOSTKEY\n")

    commit = await client.clone(f"ssh://git@git.example.org:2222{bare}", tmp_path / "clone", credentials=key)

    assert commit == await client.resolve(work_tree, "main")
    assert (tmp_path / "given").read_text() == (
        "600\n/memfd:firstlight (deleted)\nKEY\n600\n/memfd:firstlight (deleted)\ngit.example.org ssh-ed25519 HOSTKEY\n"
    )
    argv = (tmp_path / "argv").read_text()
    assert "-F /dev/null" in argv
    assert "-oProxyCommand=none" in argv
    assert "-oStrictHostKeyChecking=yes" in argv
    assert "-p 2222 git@git.example.org git-upload-pack" in argv
    assert (await client.ls_remote(f"git@git.example.org:{bare}", credentials=secret.OwnSsh())).head == "main"
    assert "-F" not in (tmp_path / "argv").read_text().splitlines()[-1]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (403, clients_git.GitUnauthorised),
        (404, clients_git.GitNotFound),
        (500, clients_git.GitUnreachable),
        (302, clients_git.GitUnreachable),
    ],
)
async def test_what_a_server_answers(
    git_client: clients_git.Git, tmp_path: Path, status: int, expected: type[clients_git.GitError]
) -> None:
    async with backend(tmp_path, status=status) as (server, shown):
        with pytest.raises(expected):
            await git_client.ls_remote(f"{server}/a.git", credentials=secret.Login("ada", Secret("hunter2")))
        assert set(shown) == {""}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://127.0.0.1:1/a.git", clients_git.GitUnreachable),
        ("https://nothing.invalid/a.git", clients_git.GitUnreachable),
        ("ssh://git@127.0.0.1:1/a.git", clients_git.GitUnreachable),
        ("file:///nowhere/a.git", clients_git.GitNotFound),
    ],
)
async def test_where_nothing_is(git_client: clients_git.Git, url: str, expected: type[clients_git.GitError]) -> None:
    with pytest.raises(expected):
        await git_client.ls_remote(url)


async def test_a_transport_that_is_not_allowed_is_not_used(work_tree: Path) -> None:
    strict = clients_git.Git(PROGRAM)

    with pytest.raises(errors.UsageError, match="not allowed"):
        await strict.ls_remote(f"file://{work_tree}")
    with pytest.raises(errors.UsageError):
        await strict.ls_remote("ext::sh -c true")


def _tree(*entries: tuple[str, str, str]) -> bytes:
    return b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(id_) for name, mode, id_ in entries)


def _contents(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
