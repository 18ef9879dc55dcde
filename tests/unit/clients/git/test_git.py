"""Which command lines are made, in which environment, and what becomes of the answers."""

import contextlib
import datetime
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import command
from firstlight.clients import git as clients_git
from firstlight.clients.git import Git
from firstlight.model import git, secret
from firstlight.model.secret import Secret
from tests.unit.clients.git.conftest import TIP
from tests.unit.clients.recorder import Recorder

ADA = git.GitPerson("Ada", "ada@example.org")
URL = "https://git.example.org/a/b.git"
ZERO = "0" * 40
PLAIN = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--submodule=short"]
SHALLOW = ["--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=all"]
STATUS = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all"]
FETCH = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head"]
COMMIT = ["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim", "--no-status", "--file=-"]
PUSH = ["push", "--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no", "--no-follow-tags"]

Call = Callable[[Git, Path], Awaitable[object]]

ARGVS: dict[str, tuple[Call, list[str]]] = {
    "head": (lambda g, p: g.head(p), [*STATUS, "--no-ahead-behind", "--find-renames"]),
    "status": (lambda g, p: g.status(p), [*STATUS, "--no-ahead-behind", "--find-renames"]),
    "unwatched": (lambda g, p: g.unwatched(p), ["ls-files", "-v", "-z", "--full-name"]),
    "resolve": (
        lambda g, p: g.resolve(p, "a~1"),
        ["rev-parse", "--verify", "--quiet", "--end-of-options", "a~1^{commit}"],
    ),
    "log": (
        lambda g, p: g.log(p, "a", "b", limit=3),
        ["log", "--format=…", "--max-count=3", "--no-show-signature", TIP, f"^{TIP}", "--"],
    ),
    "changed": (
        lambda g, p: g.changed_files(p, "a", "b"),
        ["diff", "--raw", "-z", "--no-abbrev", "--find-renames", *PLAIN, ZERO, TIP, "--"],
    ),
    "diff": (
        lambda g, p: g.diff(p, "a", paths=["-x"], since_fork=False),
        ["diff", "--patch", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/", *PLAIN, TIP, TIP, "--", "-x"],
    ),
    "staged": (
        lambda g, p: g.staged(p),
        ["diff", "--cached", "--raw", "-z", "--no-abbrev", "--find-renames", *PLAIN, TIP, "--"],
    ),
    "changed_since": (
        lambda g, p: g.changed_since(p, "a"),
        ["diff", "--raw", "-z", "--no-abbrev", "--find-renames", *SHALLOW, TIP, "--"],
    ),
    "contents": (
        lambda g, p: g.contents(p, "a", ["-x", "-x"]),
        ["ls-tree", "-r", "-l", "-z", "--full-tree", "--", TIP, "-x"],
    ),
    "ls_tree": (
        lambda g, p: g.ls_tree(p, under="-x"),
        ["ls-tree", "-r", "-l", "-z", "--full-tree", "--", TIP, "-x"],
    ),
    "ls_remote": (lambda g, p: g.ls_remote(URL), ["ls-remote", "--quiet", "--symref", "--", URL]),
    "init": (
        lambda g, p: g.init(p / "new", branch="x", bare=True),
        ["init", "--quiet", "--template=", "--initial-branch=x", "--bare", "--", "WORK/new"],
    ),
    "add": (lambda g, p: g.add(p, ["-x"]), ["add", "--all", "--", "-x"]),
    "fetch": (
        lambda g, p: g.fetch(p, URL, "a/b", depth=2),
        [*FETCH, "--depth=2", "--", URL, "+refs/heads/a/b:refs/remotes/origin/a/b"],
    ),
}


@pytest.mark.parametrize("name", ARGVS)
async def test_command_lines(git_client: Git, program: Recorder, work_tree: Path, name: str) -> None:
    call, expected = ARGVS[name]

    await call(git_client, work_tree)

    ran = [
        [
            "--format=…" if argument.startswith("--format=") else argument.replace(str(work_tree), "WORK")
            for argument in argv
        ]
        for argv in program.argvs
    ]
    assert expected in ran


async def test_the_command_lines_of_a_commit(git_client: Git, program: Recorder, work_tree: Path) -> None:
    program.says(code=1, when="diff-index")
    when = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))

    assert await git_client.commit(work_tree, "-m\n", author=ADA, when=when, files=["-x"]) == TIP

    assert ["diff-index", "--quiet", "HEAD", "--", "-x"] in program.argvs
    made = program.argvs.index([*COMMIT, "--only", "--", "-x"])
    call = program.calls[made]
    assert call["stdin"] == "-m\n"
    assert {name: value for name, value in call["env"].items() if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))} == {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "@1772319600 +0100"))
    }


async def test_the_command_lines_of_clones(git_client: Git, program: Recorder, tmp_path: Path) -> None:
    program.says(code=1, stderr="fatal: no", when="clone")
    with pytest.raises(clients_git.GitError):
        await git_client.clone(URL, tmp_path / "to", ref="v1", depth=1)
    with pytest.raises(errors.ClientError, match="not a directory"):
        await git_client.clone(URL, tmp_path / "to", ref=TIP)  # nothing was really made

    clone = program.argvs[0]
    assert clone[:-1] == [
        "clone", "--quiet", "--template=", "--no-checkout", "--no-recurse-submodules", "--no-hardlinks", "--depth=1",
        "--branch=v1", "--", URL,
    ]  # fmt: skip
    assert Path(clone[-1]).parent == tmp_path
    assert program.argvs[1][:-1] == ["init", "--quiet", "--template=", "--"]


@pytest.mark.parametrize(
    ("url", "expected", "option"),
    [
        (URL, None, []),
        (URL, ZERO, [f"--force-with-lease=refs/heads/main:{ZERO}"]),
        (URL, "", ["--force-with-lease=refs/heads/main:"]),
        (
            "file:///srv/b.git",
            None,
            [
                "--receive-pack=git -c core.hooksPath=/dev/null -c core.fsmonitor=false"
                " -c core.attributesFile=/dev/null -c core.excludesFile=/dev/null -c core.alternateRefsCommand=true"
                " -c receive.autoGC=false receive-pack"
            ],
        ),
    ],
)
async def test_the_command_lines_of_a_push(
    git_client: Git, program: Recorder, work_tree: Path, url: str, expected: str | None, option: list[str]
) -> None:
    program.says(f"To x\n \t{TIP}:refs/heads/main\tabc..def\nDone\n", when="push")

    assert (await git_client.push(work_tree, url, "main", expected=expected)).outcome == "updated"

    assert program.argv == [*PUSH, *option, "--", url, f"{TIP}:refs/heads/main"]


async def test_a_repository_is_looked_at_through_a_stand_in(
    git_client: Git, program: Recorder, work_tree: Path
) -> None:
    (work_tree / ".git" / "config").write_text("[core]\n\tfsmonitor = evil\n")
    program.says(
        "core.fsmonitor\nevil\0core.autocrlf\ninput\0core.eol\nnot;known\0remote.origin.url\nhttps://u:p@h/x\0",
        when="config",
    )

    head = await git_client.head(work_tree)

    assert head.remote_url == "https://h/x"
    env = program.env
    assert env["GIT_DIR"] == "HOME/git"
    assert env["GIT_WORK_TREE"] == str(work_tree)
    assert env["GIT_INDEX_FILE"] == str(work_tree / ".git" / "index")
    assert program.calls[-1]["cwd"] == str(work_tree)
    assert program.calls[-1]["home"] == ["git"]
    assert program.argvs[0] == ["config", "--no-includes", "-z", "--list", f"--file={work_tree}/.git/config"]
    assert "GIT_DIR" not in program.calls[0]["env"]


async def test_nothing_of_the_callers_environment_is_left(program: Recorder, work_tree: Path) -> None:
    caller = {
        "PATH": "/usr/bin:/bin", "HOME": "/home/ada", "GIT_DIR": "/x", "GIT_EXTERNAL_DIFF": "/x",
        "GIT_SSH_COMMAND": "/x", "GIT_CONFIG_PARAMETERS": "'a.b=c'", "XDG_CONFIG_HOME": "/x", "SSH_AUTH_SOCK": "/x",
        "HTTPS_PROXY": "http://p:1", "LANG": "de_DE.UTF-8", "EDITOR": "/x", "GIT_TRACE": "1", "GIT_TEMPLATE_DIR": "/x",
    }  # fmt: skip
    await Git(program.path, environ=caller).status(work_tree)

    env = program.env
    configured = {env[f"GIT_CONFIG_KEY_{n}"]: env[f"GIT_CONFIG_VALUE_{n}"] for n in range(int(env["GIT_CONFIG_COUNT"]))}
    rest = {name: value for name, value in env.items() if not name.startswith(("GIT_CONFIG_KEY", "GIT_CONFIG_VALUE"))}
    assert rest == {
        "PATH": "/usr/bin:/bin",
        "HOME": "HOME",
        "HTTPS_PROXY": "http://p:1",
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_ASKPASS": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(Path(program.calls[-1]["env"]["HOME"]).parent),
        "GIT_CONFIG_COUNT": str(len(configured)),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DIR": "HOME/git",
        "GIT_EDITOR": ":",
        "GIT_INDEX_FILE": str(work_tree / ".git" / "index"),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_WORK_TREE": str(work_tree),
        "SSH_ASKPASS": "",
    }
    assert configured["core.hooksPath"] == "/dev/null"
    assert configured["core.fsmonitor"] == "false"
    assert configured["credential.helper"] == ""


async def test_a_password_is_in_no_argument_and_no_variable(git_client: Git, program: Recorder) -> None:
    program.says(stderr="fatal: Authentication failed for 'https://ada:hunter2@h/': token hunter2 is bad\n", code=128)

    with pytest.raises(clients_git.GitUnauthorised) as caught:
        await git_client.ls_remote("https://h:8443/x", credentials=secret.Login("ada", Secret("hunter2")))

    assert "hunter2" not in "".join(program.calls[-1]["proc"])
    env = program.env
    helper = next(n for n in range(99) if env.get(f"GIT_CONFIG_KEY_{n}") == "credential.https://h:8443.helper")
    assert env[f"GIT_CONFIG_VALUE_{helper}"] == (
        '!f() { test "$1" = get && cat <username=ada\npassword=hunter2\n>; }; f'
    )
    assert env["GIT_ALLOW_PROTOCOL"] == "https"
    assert "hunter2" not in f"{caught.value} {caught.value.stderr}"


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("ssh://git@h/x", secret.Login("a", Secret("b"))),
        (URL, secret.SshKey(Secret("k"), "")),
        (URL, secret.OwnSsh()),
        ("file:///x", secret.Login("a", Secret("b"))),
        (URL, secret.Login("a\nhost=evil", Secret("b"))),
        (URL, secret.Login("a", Secret("b\n"))),
    ],
)
async def test_credentials_that_do_not_fit(
    git_client: Git, program: Recorder, url: str, given: secret.Login | secret.SshKey | secret.OwnSsh
) -> None:
    with pytest.raises(errors.UsageError):
        await git_client.ls_remote(url, credentials=given)

    assert program.calls == []


async def test_ssh_without_a_key_has_no_identity(git_client: Git, program: Recorder) -> None:
    await git_client.ls_remote("git@git.example.org:a/b.git")

    assert program.env["GIT_SSH_COMMAND"].endswith("-oIdentityFile=/dev/null -oUserKnownHostsFile=/dev/null")
    assert "SSH_AUTH_SOCK" not in program.env


async def test_what_takes_too_long_or_is_not_there(git_client: Git, program: Recorder, tmp_path: Path) -> None:
    program.says(sleep=30)
    with pytest.raises(clients_git.GitTimedOut):
        await git_client.ls_remote(URL, timeout=0.3)
    with pytest.raises(errors.ToolError):
        await Git(tmp_path / "none").version()


async def test_the_version(git_client: Git, program: Recorder) -> None:
    program.says("git version 2.39.5 (Apple Git-154)\n")

    assert await git_client.version() == "2.39.5"


async def test_an_answer_that_makes_no_sense(git_client: Git, program: Recorder, work_tree: Path) -> None:
    program.says("nonsense", when="status")

    with pytest.raises(clients_git.GitUnreadable):
        await git_client.head(work_tree)


HEADS = ["-", "--", "--upload-pack=", "ext::", "-oProxyCommand=", "^", ":/"]
STRANGE = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="-=:^~.@{}/*?[\\ \n\0ab1", max_size=20),
    st.builds(lambda head, rest: head + rest, st.sampled_from(HEADS), st.text(max_size=9)),
)


@settings(deadline=None)
@given(STRANGE)
@example("--output=/tmp/x")
@example("main^@")
@example("^main")
@example("main..other")
async def test_no_string_becomes_an_option(text: str) -> None:
    argvs: list[list[str]] = []

    async def run(argv: Sequence[str], **_: object) -> command.Completed:
        argvs.append(list(argv[1:]))
        return command.Completed(tuple(argv), 0 if argv[1] == "rev-parse" else 1, f"{TIP}\n".encode(), "")

    calls: list[Call] = [
        lambda g, p: g.resolve(p, text),
        lambda g, p: g.log(p, text),
        lambda g, p: g.show(p, text, "x"),
        lambda g, p: g.show(p, "main", text),
        lambda g, p: g.ls_tree(p, under=text),
        lambda g, p: g.ls_remote(text),
        lambda g, p: g.fetch(p, URL, text),
        lambda g, p: g.fetch(p, text, "main"),
        lambda g, p: g.push(p, URL, text),
        lambda g, p: g.clone(URL, p / "to", ref=text or "-"),
        lambda g, p: g.add(p, [text]),
    ]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "run", run)
        place = Path(directory)
        (place / "objects").mkdir()
        (place / "refs").mkdir()
        (place / "HEAD").write_text("ref: refs/heads/main\n")
        for call in calls:
            with contextlib.suppress(errors.UsageError, clients_git.GitError):
                await call(Git(Path("/git")), place)

    for argv in argvs:
        options = argv[: argv.index("--")] if "--" in argv else argv
        assert not text.startswith("-") or text not in options[1:]
        if "--end-of-options" in argv:
            assert argv[:4] == ["rev-parse", "--verify", "--quiet", "--end-of-options"]
            assert len(argv) == 5
            assert not argv[4].startswith(("-", "^", ":"))
            assert ".." not in argv[4]
