"""The lab's Git server, registry and Helm repositories, used by the programs that use such things."""

import asyncio
import base64
import contextlib
import gzip
import hashlib
import hmac
import io
import itertools
import json
import os
import random
import signal
import socket
import sys
import tarfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
import yarl
from aiohttp import web

from firstlight import errors
from firstlight.clients import command
from firstlight.lab.sources.control_messages import SourcesStatus
from firstlight.lab.sources.declarations import Access, Credential, DeclaredWebhook
from firstlight.lab.sources.oci_artifacts import SourceFile
from firstlight.lab.sources.sources_client import SourcesClient
from firstlight.tools import install
from tests.labs import until

ADDRESS = "127.71.253.1"
PRIVATE = Access((Credential("reader", "r-token"), Credential("writer", "w-token", "write")))
OPEN = Access(anonymous="write")
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_numbers = itertools.count(1)


class Server:
    """A process of the sources, and what a client needs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.log = folder / "log"
        self.sources = SourcesClient(folder / "control.sock")
        self._process: asyncio.subprocess.Process | None = None
        self.at: SourcesStatus

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> "Server":
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        argv = [
            sys.executable, "-m", "firstlight.lab.sources", "--home", str(self.home), "--address", ADDRESS,
            "--git-port", "0", "--oci-port", "0", "--charts-port", "0", "--ready", str(ready),
            "--control", str(self.folder / "control.sock"),
        ]  # fmt: skip
        # A hook, a helper or a token of whoever runs the tests must not reach git.
        env = {**os.environ, "GIT_TRACE": str(self.folder / "trace"), "GIT_DIR": "/nonexistent"}
        self._process = await command.spawn(argv, log=self.log, env=env, cwd=self.folder)

        async def is_ready() -> bool:
            assert self._process is not None
            assert self._process.returncode is None, self.log.read_text()
            return ready.exists() and ready.read_text() == str(self.pid)

        await until(is_ready, "the sources to be ready", timeout=20)
        self.at = await self.sources.status()
        return self

    async def end(self, number: int = signal.SIGTERM) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        code = await asyncio.wait_for(self._process.wait(), 10)
        assert number == signal.SIGKILL or code == 0, self.log.read_text()[-2000:]

    def git(self, name: str, user: str = "") -> str:
        return self.at.git.replace("://", f"://{user}@" if user else "://") + name + ".git"

    def oci(self, path: str) -> str:
        return f"http://{self.at.registry}/v2/{path}"


@pytest_asyncio.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """One for all tests that leave it as it was."""
    one = await Server(tmp_path_factory.mktemp("sources")).start()
    yield one
    await one.end()
    text = one.log.read_text()
    assert "Traceback" not in text, text[-3000:]
    assert "token" not in text, "a secret is in the log"
    assert not (one.folder / "trace").exists(), "git saw the environment of the caller"


@pytest_asyncio.fixture
async def own(tmp_path: Path) -> AsyncIterator[Server]:
    """One for a test that ends it."""
    one = await Server(tmp_path).start()
    yield one
    await one.end()


@pytest_asyncio.fixture(scope="module")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


@pytest_asyncio.fixture(scope="module")
async def helm_program() -> Path:
    return (await install.ensure(["helm"]))["helm"]


def fresh(prefix: str = "team") -> str:
    return f"{prefix}/n{next(_numbers)}"


async def git(*arguments: str, cwd: Path, code: int = 0, env: Mapping[str, str] | None = None) -> str:
    given = {
        "PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "n@example.org", "GIT_COMMITTER_NAME": "n",
        "GIT_COMMITTER_EMAIL": "n@example.org", **(env or {}),
    }  # fmt: skip
    done = await command.run(["git", *arguments], cwd=cwd, env=given, check=False)
    assert (done.code == 0) == (code == 0), done.stderr
    return done.stdout.decode() + done.stderr


async def clone_with(
    folder: Path, url: str, files: Mapping[str, bytes], *, env: Mapping[str, str] | None = None
) -> Path:
    """A clone with one more commit, not pushed."""
    await git("clone", "-q", url, "clone", cwd=folder)
    for path, content in files.items():
        (folder / "clone" / path).write_bytes(content)
    await git("checkout", "-q", "-B", "main", cwd=folder / "clone")
    await git("add", "-A", cwd=folder / "clone", env=env)
    await git("commit", "-q", "-m", "more", cwd=folder / "clone")
    return folder / "clone"


def chart(name: str = "web", version: str = "1.2.3", **more: Any) -> bytes:
    """A chart's archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, content in {
            "Chart.yaml": yaml.safe_dump({"apiVersion": "v2", "name": name, "version": version, **more}),
            "templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n",
        }.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content.encode()))
    return packed.getvalue()


def sha(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


async def put_blob(http: aiohttp.ClientSession, server: Server, name: str, content: bytes) -> str:
    async with http.post(server.oci(f"{name}/blobs/uploads/"), params={"digest": sha(content)}, data=content) as done:
        assert done.status == 201, await done.text()
    return sha(content)


async def put_manifest(
    http: aiohttp.ClientSession, server: Server, name: str, reference: str, manifest: Mapping[str, Any]
) -> aiohttp.ClientResponse:
    content = json.dumps(manifest).encode()
    url = server.oci(f"{name}/manifests/{reference or sha(content)}")
    async with http.put(url, data=content, headers={"Content-Type": manifest["mediaType"]}) as done:
        await done.read()
        return done


async def image(http: aiohttp.ClientSession, server: Server, name: str, **more: Any) -> dict[str, Any]:
    """A manifest with its blobs already there."""
    parts = []
    for content in (b"{}", b"a layer"):
        await put_blob(http, server, name, content)
        parts.append({"mediaType": "application/vnd.example", "size": len(content), "digest": sha(content)})
    return {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": [parts[1]], **more}


def pkt_line(line: str) -> bytes:
    """A line as Git's protocol frames it."""
    return f"{len(line) + 4:04x}{line}".encode()


def basic(user: str, token: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()}


# -- Git


async def test_clone_push_fetch_and_shallow(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name, access=OPEN)
    first = await clone_with(tmp_path, server.git(name), {"a": b"1"})
    await git("push", "-q", "origin", "main", cwd=first)
    made = await server.sources.commit(name, {"b/c": b"2"}, message="on the server")

    await git("pull", "-q", "origin", "main", cwd=first)
    await git("clone", "-q", "--depth", "1", server.git(name), "shallow", cwd=tmp_path)
    await git("-c", "protocol.version=0", "clone", "-q", server.git(name).removesuffix(".git"), "old", cwd=tmp_path)
    partial = await git("clone", "-q", "--filter=blob:none", server.git(name), "partial", cwd=tmp_path)

    assert (first / "b/c").read_bytes() == b"2"
    assert len((await git("log", "--format=%H", cwd=tmp_path / "shallow")).split()) == 1
    assert (await git("log", "--format=%H", cwd=tmp_path / "old")).split()[0] == made.after
    assert "filtering not recognized" not in partial
    assert (await git("symbolic-ref", "HEAD", cwd=tmp_path / "old")).strip() == "refs/heads/main"


@pytest.mark.parametrize(
    ("user", "may_read", "may_write"),
    [("", False, False), ("reader:r-token", True, False), ("writer:w-token", True, True),
     ("reader:w-token", False, False), ("stranger:r-token", False, False)],
)  # fmt: skip
async def test_credentials_decide(
    server: Server, http: aiohttp.ClientSession, tmp_path: Path, user: str, may_read: bool, may_write: bool
) -> None:
    name = fresh()
    await server.sources.create_git(name, access=PRIVATE)
    await server.sources.commit(name, {"a": b"1"}, message="m")

    said = await git("clone", "-q", server.git(name, user), "clone", cwd=tmp_path, code=0 if may_read else 1)
    await git("clone", "-q", server.git(name, "writer:w-token"), "other", cwd=tmp_path)
    pushed = await git(
        "push", "-q", server.git(name, user), "HEAD:refs/heads/more", cwd=tmp_path / "other", code=0 if may_write else 1
    )

    assert ("Authentication failed" in said or "terminal prompts disabled" in said) != may_read
    assert may_write or not may_read or "may not write" in pushed
    (repository,) = [each for each in await server.sources.list_git() if each.name == name]
    assert ("refs/heads/more" in repository.refs) == may_write


async def test_wrong_credentials_are_challenged_and_those_of_another_repository_are_none(
    server: Server, http: aiohttp.ClientSession
) -> None:
    public, private, other = fresh(), fresh(), fresh()
    await server.sources.create_git(public)
    await server.sources.create_git(private, access=PRIVATE)
    await server.sources.create_git(other, access=Access((Credential("third", "o-token"),)))

    async def status(name: str, headers: Mapping[str, str], service: str = "git-upload-pack") -> int:
        url = f"{server.git(name)}/info/refs?service={service}"
        async with http.get(url, headers=headers) as answer:
            assert (answer.status == 401) == answer.headers.get("WWW-Authenticate", "").startswith("Basic ")
            return answer.status

    assert await status(private, {}) == 401
    assert await status(private, basic("reader", "wrong")) == 401
    assert await status(private, {"Authorization": "Basic !!"}) == 401
    assert await status(private, {"Authorization": "Bearer r-token"}) == 200
    assert await status(private, basic("third", "o-token")) == 403
    assert await status(public, basic("third", "o-token")) == 200
    assert await status(public, basic("third", "wrong")) == 401
    assert await status(public, {}, "git-receive-pack") == 401


async def test_many_clones_at_once_while_somebody_pushes(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name, access=OPEN)
    await server.sources.commit(name, {f"f{number}": os.urandom(20_000) for number in range(20)}, message="m")

    clones = [git("clone", "-q", server.git(name), f"clone{number}", cwd=tmp_path) for number in range(10)]
    commits = [server.sources.commit(name, {f"new{number}": b"x"}, message="m") for number in range(5)]
    await asyncio.gather(*clones, *commits)

    assert all(len(list((tmp_path / f"clone{number}").glob("f*"))) == 20 for number in range(10))
    await git("clone", "-q", server.git(name), "last", cwd=tmp_path)
    assert len(list((tmp_path / "last").glob("new*"))) == 5


async def test_a_large_push_streams(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name, access=OPEN)
    content = random.Random(1).randbytes(30 << 20)
    fast = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.compression", "GIT_CONFIG_VALUE_0": "0"}
    first = await clone_with(tmp_path, server.git(name), {"large": content}, env=fast)

    def memory(line: str) -> int:
        status = Path(f"/proc/{server.pid}/status").read_text().splitlines()
        return int(next(each for each in status if each.startswith(line)).split()[1])

    Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # the peak is forgotten
    before = memory("VmRSS")
    await git("push", "-q", "origin", "main", cwd=first, env=fast)

    assert memory("VmHWM") - before < 15_000, "the server held the push in memory"
    size = await git("cat-file", "-s", "main:large", cwd=server.home / "git" / f"{name}.git")
    assert int(size) == len(content)


@contextlib.asynccontextmanager
async def raw_push(server: Server, name: str, folder: Path, *, share: float) -> AsyncIterator[str]:
    """Push a clone's main, a part of it or all, and hang up without a look at the answer; what main would be."""
    after = (await git("rev-parse", "HEAD", cwd=folder)).strip()
    argv = ["git", "pack-objects", "--quiet", "--stdout", "--revs"]
    packed = await command.run(argv, cwd=folder, stdin=f"{after}\n".encode())
    body = pkt_line(f"{'0' * 40} {after} refs/heads/main\0report-status\n") + b"0000" + packed.stdout
    lines = [
        f"POST /git/{name}.git/git-receive-pack HTTP/1.1", "Host: x", f"Content-Length: {len(body)}",
        "Content-Type: application/x-git-receive-pack-request", "", "",
    ]  # fmt: skip
    _, writer = await asyncio.open_connection(ADDRESS, int(server.at.git.split(":")[2].split("/")[0]))
    writer.write("\r\n".join(lines).encode() + body[: int(len(body) * share)])
    await writer.drain()
    yield after
    writer.close()


async def test_a_push_that_breaks_off_leaves_nothing_and_one_that_came_whole_counts(
    server: Server, tmp_path: Path
) -> None:
    name = fresh()
    await server.sources.create_git(name, access=OPEN)
    clone = await clone_with(tmp_path, server.git(name), {"a": os.urandom(100_000)})
    objects = server.home / "git" / f"{name}.git" / "objects"
    listener = Listener()

    async def refs() -> dict[str, str]:
        (repository,) = [each for each in await server.sources.list_git() if each.name == name]
        return repository.refs

    async def has_begun() -> bool:
        return any(path.name.startswith(("incoming-", "tmp_objdir-")) for path in objects.iterdir())

    async def is_tidy() -> bool:
        return not [path for path in objects.rglob("*") if path.is_file() or path.name.startswith("incoming-")]

    async def is_told() -> bool:
        return bool(listener.heard)

    async with listener.listening() as url:
        await server.sources.set_webhooks(name, [DeclaredWebhook(url)])
        async with raw_push(server, name, clone, share=0.7):
            await until(has_begun, "git to take the push", timeout=10)
        await until(is_tidy, "the rest of the push to go", timeout=10)
        assert await refs() == {}

        async with raw_push(server, name, clone, share=1) as after:
            await until(refs, "the branch", timeout=10)
        await until(is_told, "a webhook although nobody read the answer", timeout=10)
    assert await refs() == {"refs/heads/main": after}
    assert [json.loads(body)["after"] for _, body in listener.heard] == [after]
    assert not await has_begun()


async def test_hooks_in_a_repository_do_not_run(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name, access=OPEN)
    hooks = server.home / "git" / f"{name}.git" / "hooks"
    assert not hooks.exists(), "no samples either"
    hooks.mkdir()
    for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{hook}\nexit 1\n")
        (hooks / hook).chmod(0o755)

    clone = await clone_with(tmp_path, server.git(name), {"a": b"1"})
    await git("push", "-q", "origin", "main", cwd=clone)
    await server.sources.commit(name, {"b": b"1"}, message="m")

    assert list(tmp_path.glob("ran-*")) == []


@pytest.mark.parametrize(
    "path",
    ["/git/../../etc/passwd/info/refs", "/git/%2e%2e/%2e%2e/x.git/info/refs", "/git/team/..%2fn.git/info/refs",
     "/git//team/x.git/info/refs", "/git/.git/info/refs", "/git/team/-x.git/info/refs", "/git/one.git/info/refs",
     "/git/team/x%00.git/info/refs", "/", "/git/"],
)  # fmt: skip
async def test_paths_lead_nowhere_else(server: Server, path: str) -> None:
    reader, writer = await asyncio.open_connection(ADDRESS, int(server.at.git.split(":")[2].split("/")[0]))
    writer.write(f"GET {path}?service=git-upload-pack HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()

    assert answer.split()[1] in (b"404", b"400")


async def test_the_dumb_protocol_is_refused(server: Server, http: aiohttp.ClientSession) -> None:
    name = fresh()
    await server.sources.create_git(name)
    for path in ("info/refs", "HEAD", "objects/info/packs", "info/refs?service=git-upload-archive"):
        async with http.get(f"{server.git(name)}/{path}") as answer:
            assert answer.status == 403
            assert "smart" in await answer.text()


async def test_git_serves_the_service_that_was_allowed(server: Server, http: aiohttp.ClientSession) -> None:
    name = fresh()
    await server.sources.create_git(name, access=PRIVATE)
    twice = f"{server.git(name)}/info/refs?service=git-upload-pack&service=git-receive-pack"

    async with http.get(twice, headers=basic("reader", "r-token")) as answer:
        assert (await answer.read()).startswith(b"001e# service=git-upload-pack\n")
        assert answer.headers["Content-Type"] == "application/x-git-upload-pack-advertisement"


async def test_as_go_git_asks(server: Server, http: aiohttp.ClientSession) -> None:
    """Flux's source-controller: version 0, credentials at once, one POST with everything in it."""
    name = fresh()
    await server.sources.create_git(name, access=PRIVATE)
    made = await server.sources.commit(name, {"a": b"1"}, message="m")
    headers = {**basic("reader", "r-token"), "User-Agent": "go-git/5.x"}

    async with http.get(f"{server.git(name)}/info/refs?service=git-upload-pack", headers=headers) as answer:
        listed = await answer.read()
    wants = pkt_line(f"want {made.after} ofs-delta shallow no-progress\n") + pkt_line("deepen 1") + b"0000"
    packed = {**headers, "Content-Type": "application/x-git-upload-pack-request"}
    async with http.post(f"{server.git(name)}/git-upload-pack", headers=packed, data=wants + b"0009done\n") as answer:
        fetched = await answer.read()
    gzipped = {**packed, "Content-Encoding": "gzip"}
    body = gzip.compress(wants + b"0009done\n")
    async with http.post(f"{server.git(name)}/git-upload-pack", headers=gzipped, data=body) as answer:
        again = await answer.read()
    async with http.post(f"{server.git(name)}/git-upload-pack", headers=gzipped, data=body[:-9]) as answer:
        cut_off = answer.status

    assert listed.startswith(b"001e# service=git-upload-pack\n0000")
    assert made.after.encode() in listed
    assert b"PACK" in fetched
    assert fetched == again
    assert cut_off == 500


async def test_a_push_makes_a_repository_that_is_only_declared(server: Server, tmp_path: Path) -> None:
    name = fresh()
    declared = await server.sources.create_git(name, access=OPEN, on_push=True)
    (tmp_path / "new").mkdir()
    await git("init", "-q", "-b", "main", "new", cwd=tmp_path)
    await git("commit", "-q", "--allow-empty", "-m", "m", cwd=tmp_path / "new")

    await git("ls-remote", server.git(name), cwd=tmp_path, code=1)
    await git("push", "-q", server.git(name), "main", cwd=tmp_path / "new")
    refused = await git("push", "-q", server.git("team/undeclared"), "main", cwd=tmp_path / "new", code=1)

    assert not declared.exists
    assert "refs/heads/main" in await git("ls-remote", server.git(name), cwd=tmp_path)
    assert "not found" in refused


async def test_commits_on_the_server(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name)
    folder = tmp_path / "content"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file.yaml").write_text("a: ü\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("deep")

    first = await server.sources.commit_directory(name, folder, message="all of it")
    same = await server.sources.commit_directory(name, folder, message="nothing new")
    await server.sources.commit(name, {"deep/er/file.yaml": None, "deep": b"a file now"}, message="changed")
    await server.sources.commit(name, {"only": SourceFile(b"x")}, message="replaced", branch="other", replace=True)
    tagged = await server.sources.tag(name, "v1.0.0", target=first.after)
    await git("clone", "-q", server.git(name), "clone", cwd=tmp_path)
    clone = tmp_path / "clone"

    assert (first.is_changed, same.is_changed) == (True, False)
    assert same.after == first.after
    assert (clone / "deep").read_bytes() == b"a file now"
    assert os.access(clone / "run.sh", os.X_OK)
    assert os.readlink(clone / "link") == "deep"
    assert (await git("ls-tree", "--name-only", "-r", "origin/other", cwd=clone)).split() == ["only"]
    assert (await git("show", "v1.0.0:deep/er/file.yaml", cwd=clone)) == "a: ü\n"
    assert tagged.after == first.after
    await git("fsck", "--strict", cwd=clone)


async def test_to_create_again_changes_only_what_is_said(server: Server) -> None:
    name = fresh()
    await server.sources.create_git(name, access=PRIVATE)
    made = await server.sources.commit(name, {"a": b"1"}, message="m")
    await server.sources.create_charts("again", access=PRIVATE)

    same, charts = await server.sources.create_git(name), await server.sources.create_charts("again")
    opened = await server.sources.create_git(name, access=Access())

    assert (same.who.anonymous, charts.who.anonymous, opened.who.anonymous) == ("none", "none", "read")
    assert same.refs == opened.refs == {"refs/heads/main": made.after}
    with pytest.raises(errors.UsageError, match="default branch"):
        await server.sources.create_git(name, branch="trunk")


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a//b", ".git/config", "a/.GIT/hooks/x", "a\nb", ""])
async def test_a_commit_stays_in_its_repository(server: Server, path: str) -> None:
    name = fresh()
    await server.sources.create_git(name)
    with pytest.raises(errors.UsageError, match="cannot be the path"):
        await server.sources.commit(name, {path: b"x"}, message="m")


@pytest.mark.parametrize("name", ["one", "../x/y", "a/b/../c", "a/.b", "a/-b", "a/b.lock", "a b/c"])
async def test_names_are_checked(server: Server, name: str) -> None:
    with pytest.raises(errors.UsageError, match="cannot be the name"):
        await server.sources.create_git(name)


async def test_a_deleted_repository_is_gone(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name)
    await server.sources.commit(name, {"a": b"1"}, message="m")

    await server.sources.delete_git(name)

    assert "not found" in await git("clone", server.git(name), "clone", cwd=tmp_path, code=1)
    with pytest.raises(errors.UsageError, match="no Git repository"):
        await server.sources.delete_git(name)
    assert not (server.home / "git" / f"{name}.git").exists()


# -- webhooks


class Listener:
    """Somebody who is told of pushes, and does not answer well at first."""

    def __init__(self) -> None:
        self.heard: list[tuple[Mapping[str, str], bytes]] = []
        self.failures = 0

    async def _post(self, request: web.Request) -> web.Response:
        self.heard.append((dict(request.headers), await request.read()))
        self.failures -= 1
        return web.Response(status=500 if self.failures >= 0 else 204)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/hook", self._post)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, ADDRESS, 0)
        await site.start()
        try:
            yield f"http://{ADDRESS}:{runner.addresses[0][1]}/hook"
        finally:
            await runner.cleanup()


async def test_webhooks_are_signed_and_tried_again(server: Server, tmp_path: Path) -> None:
    name = fresh()
    await server.sources.create_git(name, access=PRIVATE)
    await server.sources.commit(name, {"old": b"1"}, message="before")
    listener = Listener()
    listener.failures = 1
    async with listener.listening() as url:
        await server.sources.set_webhooks(
            name,
            [
                DeclaredWebhook(url, "s-token"),
                DeclaredWebhook(url, "g-token", "generic"),
                DeclaredWebhook("http://127.71.253.9:1/closed"),
            ],
        )
        clone = await clone_with(tmp_path, server.git(name, "writer:w-token"), {"new": b"2"})
        await git("push", "-q", "origin", "main", cwd=clone)

        async def told() -> bool:
            return sum(each.is_delivered for each in await server.sources.deliveries(name)) == 2

        await until(told, "both webhooks to be told", timeout=10)
        refused = await git("push", "-q", "origin", "main", cwd=clone)
    log = await server.sources.deliveries(name)
    after = (await git("rev-parse", "HEAD", cwd=clone)).strip()

    assert not refused.strip()
    assert sorted(len(each.attempts) for each in log if each.is_delivered) == [1, 2]
    (closed,) = [each for each in log if each.url.endswith("closed")]
    assert closed.attempts[0].status == 0
    assert closed.attempts[0].problem
    github = [(headers, body) for headers, body in listener.heard if "X-GitHub-Event" in headers][-1]
    generic = [(headers, body) for headers, body in listener.heard if "X-Signature" in headers][-1]
    for (headers, body), secret in ((github, b"s-token"), (generic, b"g-token")):
        expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
        assert headers["X-Hub-Signature-256"] == expected
    said = json.loads(github[1])
    assert (said["ref"], said["after"], said["forced"]) == ("refs/heads/main", after, False)
    assert said["repository"]["clone_url"] == server.git(name)
    assert said["pusher"]["name"] == "writer"
    assert [(each["added"], each["modified"]) for each in said["commits"]] == [(["new"], [])]
    assert json.loads(generic[1])["after"] == after


async def test_webhooks_tell_what_really_moved(server: Server, tmp_path: Path) -> None:
    """Of a push with one good ref and one that is refused, only the first; of a rewrite that it is one."""
    name = fresh()
    await server.sources.create_git(name, access=OPEN)
    await server.sources.commit(name, {"a": b"1"}, message="m")
    listener = Listener()
    async with listener.listening() as url:
        clone = await clone_with(tmp_path, server.git(name), {"b": b"2"})
        await server.sources.set_webhooks(name, [DeclaredWebhook(url)])
        await git("push", "-q", "origin", "main:good", ":refs/heads/main", cwd=clone, code=1)
        await git("commit", "-q", "--amend", "-m", "other", cwd=clone)
        await git("push", "-q", "-f", "origin", "main:good", cwd=clone)
        await git("push", "-q", "origin", ":good", cwd=clone)
        await server.sources.tag(name, "v1")

        async def told() -> bool:
            return len(listener.heard) == 4

        await until(told, "four messages", timeout=10)
    said = [json.loads(body) for _, body in listener.heard]

    assert {each["ref"] for each in said} == {"refs/heads/good", "refs/tags/v1"}
    assert sorted((each["created"], each["forced"], each["deleted"]) for each in said) == [
        (False, False, True), (False, True, False), (True, False, False), (True, False, False),
    ]  # fmt: skip
    assert all("X-Hub-Signature-256" not in headers for headers, _ in listener.heard)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://user:pw@host/", "host/path"])
async def test_a_webhook_goes_to_an_http_address(server: Server, url: str) -> None:
    name = fresh()
    await server.sources.create_git(name)
    with pytest.raises(errors.UsageError, match="URL of a webhook"):
        await server.sources.set_webhooks(name, [DeclaredWebhook(url)])


# -- faults


async def test_faults_come_and_go(server: Server, http: aiohttp.ClientSession, tmp_path: Path) -> None:
    name, other = fresh(), fresh()
    for each in (name, other):
        await server.sources.create_git(each)
    url = f"{server.git(name)}/info/refs?service=git-upload-pack"

    async def status(address: str = url) -> int:
        async with http.get(address) as answer:
            return answer.status

    fault = await server.sources.fault("unavailable", repository=name)
    assert await status() == 503
    assert await status(f"{server.git(other)}/info/refs?service=git-upload-pack") == 200
    await server.sources.clear_faults(fault.id)
    assert await status() == 200

    await server.sources.fault("unauthorized")
    assert "Authentication failed" in await git("ls-remote", server.git(name, "a:b"), cwd=tmp_path, code=1)
    assert [(each.kind, each.hits > 0) for each in await server.sources.faults()] == [("unauthorized", True)]
    await server.sources.clear_faults()

    await server.sources.fault("drop")
    dropped = await git("ls-remote", server.git(name), cwd=tmp_path, code=1)
    assert "requested URL returned error" not in dropped
    await server.sources.clear_faults()

    await server.sources.fault("hang", seconds=0.4)
    started = asyncio.get_running_loop().time()
    await git("ls-remote", server.git(name), cwd=tmp_path, code=1)
    assert asyncio.get_running_loop().time() - started > 0.3
    assert await status() == 200
    assert await server.sources.faults() == ()


@pytest.mark.parametrize("kind", ["registry", "charts"])
async def test_the_other_servers_have_faults_too(server: Server, http: aiohttp.ClientSession, kind: Any) -> None:
    await server.sources.create_charts("faulty")
    url = server.oci("") if kind == "registry" else f"{server.at.charts}faulty/index.yaml"
    await server.sources.fault("unavailable", server=kind)
    async with http.get(url) as answer:
        during = answer.status
    await server.sources.clear_faults()
    async with http.get(url) as answer:
        assert (during, answer.status) == (503, 200)


# -- the registry


async def helm(program: Path, *arguments: str, cwd: Path, code: int = 0) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd)}
    done = await command.run([str(program), *arguments], cwd=cwd, env=env, check=False)
    assert (done.code == 0) == (code == 0), done.stderr
    return done.stdout.decode() + done.stderr


async def test_helm_pushes_and_pulls(server: Server, helm_program: Path, tmp_path: Path) -> None:
    await server.sources.set_oci_access("guarded", PRIVATE)
    archive = chart("web", "1.2.3+build", description="for a test")
    (tmp_path / "web-1.2.3+build.tgz").write_bytes(archive)
    url = f"oci://{server.at.registry}/guarded/charts"
    writer = ["--plain-http", "--username", "writer", "--password", "w-token"]
    reader = ["--plain-http", "--username", "reader", "--password", "r-token"]
    pull = ["pull", f"{url}/web", "--version", "1.2.3+build"]

    refused = await helm(helm_program, "push", "web-1.2.3+build.tgz", url, *reader, cwd=tmp_path, code=1)
    pushed = await helm(helm_program, "push", "web-1.2.3+build.tgz", url, *writer, cwd=tmp_path)
    wrong = await helm(helm_program, *pull, "-d", "x", "--plain-http", cwd=tmp_path, code=1)
    (tmp_path / "pulled").mkdir()
    await helm(helm_program, *pull, "-d", "pulled", *reader, cwd=tmp_path)
    shown = await helm(helm_program, "show", "chart", f"{url}/web", *reader, cwd=tmp_path)
    latest = await helm(helm_program, "template", "one", f"{url}/web", "--version", "^1.0", *reader, cwd=tmp_path)

    assert "403" in refused
    assert "Digest: sha256:" in pushed
    assert "401" in wrong or "credential" in wrong
    assert (tmp_path / "pulled/web-1.2.3+build.tgz").read_bytes() == archive
    assert "description: for a test" in shown
    assert "kind: ConfigMap" in latest


async def test_helm_logs_in_where_the_whole_registry_is_closed(
    own: Server, http: aiohttp.ClientSession, helm_program: Path, tmp_path: Path
) -> None:
    await own.sources.set_oci_access("", PRIVATE)
    await own.sources.set_oci_access("open", Access())
    await own.sources.push_oci_chart("open", chart("web", "2.0.0"))
    await own.sources.push_oci_chart("closed", chart("web", "2.0.0"))
    login = ["registry", "login", own.at.registry, "--plain-http"]

    bad = await helm(helm_program, *login, "-u", "reader", "-p", "bad", cwd=tmp_path, code=1)
    pull = ["pull", "--plain-http", "--version", "2.0.0"]
    await helm(helm_program, *pull, f"oci://{own.at.registry}/open/web", cwd=tmp_path)
    await helm(helm_program, *pull, f"oci://{own.at.registry}/closed/web", cwd=tmp_path, code=1)
    await helm(helm_program, *login, "-u", "reader", "-p", "r-token", cwd=tmp_path)
    await helm(helm_program, *pull, f"oci://{own.at.registry}/closed/web", cwd=tmp_path)

    assert "401" in bad
    async with http.get(own.oci("")) as answer:
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
    async with http.get(own.oci("_catalog"), headers=basic("reader", "r-token")) as answer:
        assert await answer.json() == {"repositories": ["closed/web", "open/web"]}
    async with http.get(own.oci("_catalog")) as answer:
        assert await answer.json() == {"repositories": ["open/web"]}


async def test_as_go_containerregistry_asks(server: Server, http: aiohttp.ClientSession) -> None:
    """Flux's source-controller with an artifact: TLS first, then a ping, HEAD by tag, GET by digest, the layer."""
    name = fresh()
    files = {"kustomization.yaml": b"resources: [a.yaml]\n", "deep/a.yaml": b"kind: ConfigMap\n"}
    pushed = await server.sources.push_artifact(
        name, files, tags=["v1", "latest"], source="http://git/x", revision="main@sha1:abc", annotations={"more": "1"}
    )
    await server.sources.set_oci_access("team", Access())

    async with asyncio.timeout(5):
        with pytest.raises(aiohttp.ClientError):
            await http.get(f"https://{server.at.registry}/v2/")
    async with http.get(server.oci("")) as answer:
        assert answer.status == 200
    async with http.head(server.oci(f"{name}/manifests/latest"), headers={"Accept": MANIFEST}) as answer:
        assert (answer.status, answer.headers["Content-Type"]) == (200, MANIFEST)
        size, digest = int(answer.headers["Content-Length"]), answer.headers["Docker-Content-Digest"]
    async with http.get(server.oci(f"{name}/manifests/{digest}")) as answer:
        content = await answer.read()
    manifest = json.loads(content)
    async with http.get(server.oci(f"{name}/blobs/{manifest['layers'][0]['digest']}")) as answer:
        layer = await answer.read()
    async with http.get(server.oci(f"{name}/blobs/{manifest['config']['digest']}")) as answer:
        config = json.loads(await answer.read())

    assert digest == pushed.digest == sha(content)
    assert size == len(content)
    assert manifest["config"]["mediaType"] == "application/vnd.cncf.flux.config.v1+json"
    assert manifest["layers"][0]["mediaType"] == "application/vnd.cncf.flux.content.v1.tar+gzip"
    assert manifest["layers"][0]["size"] == len(layer)
    notes = manifest["annotations"]
    assert notes["org.opencontainers.image.source"] == "http://git/x"
    assert notes["org.opencontainers.image.revision"] == "main@sha1:abc"
    assert notes["org.opencontainers.image.created"] == config["created"]
    assert notes["more"] == "1"
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        unpacked = {each.name: tar.extractfile(each) for each in tar if each.isreg()}
        assert {path: file.read() for path, file in unpacked.items() if file} == files
    assert config["rootfs"]["diff_ids"] == [sha(gzip.decompress(layer))]


async def test_uploads_in_parts_and_resumed(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("parts", OPEN)
    name = fresh("parts")
    content = os.urandom(300_000)
    async with http.post(server.oci(f"{name}/blobs/uploads/")) as answer:
        assert answer.status == 202
        place = f"http://{server.at.registry}{answer.headers['Location']}"

    async def patch(start: int, end: int, *, said: str = "") -> aiohttp.ClientResponse:
        headers = {"Content-Range": said or f"{start}-{end - 1}"}
        async with http.patch(place, data=content[start:end], headers=headers) as answer:
            return answer

    first = await patch(0, 100_000)
    early = await patch(200_000, 300_000)
    odd = await patch(100_000, 200_000, said="100000-100001")
    await break_off(place, content[100_000:150_000], promised=100_000)

    async def resumable() -> bool:
        async with http.get(place) as answer:
            return answer.status == 204 and answer.headers["Range"] == "0-99999"

    await until(resumable, "the broken part to be forgotten", timeout=10)
    second = await patch(100_000, 200_000)
    async with http.put(place, params={"digest": sha(content)}, data=content[200_000:]) as answer:
        done = answer
    async with http.get(server.oci(f"{name}/blobs/{sha(content)}"), headers={"Range": "bytes=10-19"}) as answer:
        part = (answer.status, await answer.read(), answer.headers["Content-Range"])
    async with http.get(server.oci(f"{name}/blobs/{sha(content)}"), headers={"Range": "bytes=299990-"}) as answer:
        tail = await answer.read()
    async with http.get(server.oci(f"{name}/blobs/{sha(content)}"), headers={"Range": "bytes=300000-"}) as answer:
        beyond = answer.status
    async with http.head(server.oci(f"{name}/blobs/{sha(content)}")) as answer:
        head = (answer.status, answer.headers["Content-Length"], answer.headers["Docker-Content-Digest"])

    assert (first.status, first.headers["Range"]) == (202, "0-99999")
    assert (early.status, early.headers["Range"]) == (416, "0-99999")
    assert odd.status == 400
    assert (second.status, second.headers["Range"]) == (202, "0-199999")
    assert (done.status, done.headers["Docker-Content-Digest"]) == (201, sha(content))
    assert part == (206, content[10:20], "bytes 10-19/300000")
    assert tail == content[-10:]
    assert beyond == 416
    assert head == (200, "300000", sha(content))


async def break_off(url: str, content: bytes, *, promised: int) -> None:
    """Send a part of what was announced, and hang up."""
    host, _, path = url.removeprefix("http://").partition("/")
    _, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(f"PATCH /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {promised}\r\n\r\n".encode() + content)
    await writer.drain()
    await asyncio.sleep(0.1)
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    writer.close()


async def test_a_wrong_digest_leaves_nothing(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("wrong", OPEN)
    name = fresh("wrong")
    async with http.post(server.oci(f"{name}/blobs/uploads/"), params={"digest": sha(b"b")}, data=b"a") as answer:
        assert (answer.status, (await answer.json())["errors"][0]["code"]) == (400, "DIGEST_INVALID")
    for content in (b"a", b"b"):
        async with http.get(server.oci(f"{name}/blobs/{sha(content)}")) as answer:
            assert (answer.status, (await answer.json())["errors"][0]["code"]) == (404, "BLOB_UNKNOWN")
    assert not list((server.home / "scratch").glob("upload-*"))


async def test_mounts_follow_the_right_to_read(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("mounts", OPEN)
    await server.sources.set_oci_access("mounts/secret", PRIVATE)
    await server.sources.push_artifact("mounts/secret/one", {"a": b"1"}, source="s", revision="r")
    source = fresh("mounts")
    digest = await put_blob(http, server, source, b"shared")
    listed = await server.sources.list_oci()
    async with http.get(server.oci("mounts/secret/one/manifests/latest"), headers=basic("reader", "r-token")) as answer:
        hidden = (await answer.json(content_type=None))["layers"][0]["digest"]

    async def mount(what: str, origin: str) -> int:
        url = server.oci(f"{fresh('mounts')}/blobs/uploads/")
        async with http.post(url, params={"mount": what, "from": origin}) as answer:
            return answer.status

    assert await mount(digest, source) == 201
    assert await mount(hidden, "mounts/secret/one") == 202
    assert await mount(sha(b"nowhere"), source) == 202
    assert listed.access["mounts/secret"].users == {"reader": "read", "writer": "write"}


async def test_manifests_tags_and_their_end(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("tags", OPEN)
    name = fresh("tags")
    manifest = await image(http, server, name)
    content = json.dumps(manifest).encode()
    for tag in ("b", "a", "c", "v1.0.0"):
        assert (await put_manifest(http, server, name, tag, manifest)).status == 201
    other = {**manifest, "annotations": {"n": "2"}}
    await put_manifest(http, server, name, "c", other)

    async with http.get(server.oci(f"{name}/tags/list"), params={"n": 2}) as answer:
        first, link = await answer.json(), answer.headers["Link"]
    async with http.get(f"http://{server.at.registry}{link.partition('>')[0][1:]}") as answer:
        second, last = await answer.json(), answer.headers.get("Link")
    async with http.delete(server.oci(f"{name}/manifests/v1.0.0")) as answer:
        assert answer.status == 202
    async with http.delete(server.oci(f"{name}/manifests/{sha(content)}")) as answer:
        assert answer.status == 202
    async with http.get(server.oci(f"{name}/tags/list")) as answer:
        left = (await answer.json())["tags"]
    async with http.get(server.oci(f"{name}/manifests/a")) as answer:
        gone = answer.status
    async with http.delete(server.oci(f"{name}/blobs/{sha(b'a layer')}")) as answer:
        assert answer.status == 202
    async with http.get(server.oci(f"{name}/blobs/{sha(b'a layer')}")) as answer:
        assert answer.status == 404

    assert first == {"name": name, "tags": ["a", "b"]}
    assert (second["tags"], last) == (["c", "v1.0.0"], None)
    assert left == ["c"]
    assert gone == 404


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"schemaVersion": 1}, "MANIFEST_INVALID"),
        ({"mediaType": "application/json"}, "MANIFEST_INVALID"),
        ({"config": {"mediaType": "x", "size": 9, "digest": sha(b"{}")}}, "MANIFEST_BLOB_UNKNOWN"),
        ({"layers": [{"mediaType": "x", "size": 1, "digest": sha(b"?")}]}, "MANIFEST_BLOB_UNKNOWN"),
        ({"layers": [{"mediaType": "x", "size": 1, "digest": "../../etc/passwd"}]}, "MANIFEST_BLOB_UNKNOWN"),
        ({"layers": 3}, "MANIFEST_INVALID"),
    ],
)
async def test_a_manifest_is_checked(
    server: Server, http: aiohttp.ClientSession, change: dict[str, Any], code: str
) -> None:
    await server.sources.set_oci_access("checked", OPEN)
    name = fresh("checked")
    content = json.dumps({**await image(http, server, name), **change}).encode()
    kind = change.get("mediaType", MANIFEST)
    async with http.put(
        server.oci(f"{name}/manifests/x"), data=content, headers={"Content-Type": kind}
    ) as answer:  # fmt: skip
        assert (answer.status, (await answer.json())["errors"][0]["code"]) == (400, code)
    async with http.get(server.oci(f"{name}/manifests/x")) as answer:
        assert answer.status == 404


async def test_referrers_by_the_api_and_by_the_fallback_tag(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("signed", OPEN)
    name = fresh("signed")
    subject = await image(http, server, name)
    await put_manifest(http, server, name, "v1", subject)
    raw = json.dumps(subject).encode()
    about = {"mediaType": MANIFEST, "size": len(raw), "digest": sha(raw)}
    signature = await image(
        http, server, name, subject=about, artifactType="application/vnd.sig", annotations={"k": "v"}
    )
    document = await image(http, server, name, subject=about)

    put = await put_manifest(http, server, name, "", signature)
    await put_manifest(http, server, name, "", document)
    url = server.oci(f"{name}/referrers/{sha(raw)}")
    async with http.get(url) as answer:
        everything, kind = await answer.json(content_type=None), answer.headers["Content-Type"]
    async with http.get(url, params={"artifactType": "application/vnd.sig"}) as answer:
        some, applied = await answer.json(content_type=None), answer.headers.get("OCI-Filters-Applied")
    async with http.get(server.oci(f"{name}/manifests/{sha(raw).replace(':', '-')}")) as answer:
        fallback = await answer.json(content_type=None)
    async with http.get(server.oci(f"{name}/referrers/{sha(b'nothing')}")) as answer:
        nothing = (answer.status, (await answer.json(content_type=None))["manifests"])
    await http.delete(server.oci(f"{name}/manifests/{sha(json.dumps(signature).encode())}"))
    async with http.get(url) as answer:
        left = await answer.json(content_type=None)

    assert put.headers["OCI-Subject"] == sha(raw)
    assert kind == "application/vnd.oci.image.index.v1+json"
    assert {each["artifactType"] for each in everything["manifests"]} == {
        "application/vnd.sig",
        "application/vnd.example",
    }
    assert [each["annotations"] for each in some["manifests"]] == [{"k": "v"}]
    assert applied == "artifactType"
    assert fallback == everything
    assert nothing == (200, [])
    assert [each["artifactType"] for each in left["manifests"]] == ["application/vnd.example"]


async def test_the_registry_keeps_to_its_credentials(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("kept", PRIVATE)
    await server.sources.push_artifact("kept/one", {"a": b"1"}, source="s", revision="r")
    await server.sources.push_artifact("keptother", {"a": b"1"}, source="s", revision="r")

    async def status(method: str, name: str, headers: Mapping[str, str]) -> int:
        path = f"{name}/manifests/latest" if method == "GET" else f"{name}/blobs/uploads/"
        async with http.request(method, server.oci(path), headers=headers) as answer:
            assert (answer.status == 401) == ("WWW-Authenticate" in answer.headers)
            return answer.status

    assert await status("GET", "kept/one", {}) == 401
    assert await status("GET", "kept/one", basic("reader", "r-token")) == 200
    assert await status("GET", "kept/one", basic("reader", "w-token")) == 401
    assert await status("POST", "kept/one", basic("reader", "r-token")) == 403
    assert await status("POST", "kept/one", basic("writer", "w-token")) == 202
    assert await status("GET", "keptother", {}) == 200
    assert await status("POST", "keptother", {}) == 401
    assert await status("GET", "keptother", basic("reader", "r-token")) == 200


async def test_many_at_once(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.set_oci_access("many", OPEN)
    name = fresh("many")
    content = os.urandom(200_000)

    await asyncio.gather(*(put_blob(http, server, name, content) for _ in range(20)))
    manifest = await image(http, server, name)
    puts = [put_manifest(http, server, name, "same", {**manifest, "annotations": {"n": str(n)}}) for n in range(20)]
    assert {answer.status for answer in await asyncio.gather(*puts)} == {201}

    async with http.get(server.oci(f"{name}/blobs/{sha(content)}")) as answer:
        assert await answer.read() == content
    async with http.get(server.oci(f"{name}/manifests/same")) as answer:
        assert sha(await answer.read()) == answer.headers["Docker-Content-Digest"]


# -- Helm repositories


async def test_helm_pulls_by_the_index(server: Server, helm_program: Path, tmp_path: Path) -> None:
    await server.sources.create_charts("stable", access=PRIVATE)
    for version in ("1.0.0", "1.10.0", "1.2.0"):
        await server.sources.push_chart("stable", chart("web", version, appVersion="2024-01-01"))
    url = f"{server.at.charts}stable"
    credentials = ["--username", "reader", "--password", "r-token"]

    await helm(helm_program, "repo", "add", "lab", url, cwd=tmp_path, code=1)
    await helm(helm_program, "repo", "add", "lab", url, *credentials, cwd=tmp_path)
    found = json.loads(await helm(helm_program, "search", "repo", "lab/web", "-l", "-o", "json", cwd=tmp_path))
    await helm(helm_program, "pull", "lab/web", "--version", "~1.2", cwd=tmp_path)
    # The index is made anew when a file comes, whoever put it there.
    (server.home / "charts/stable/by-hand.tgz").write_bytes(chart("hand", "0.1.0"))
    (server.home / "charts/stable/broken.tgz").write_bytes(b"no chart")
    await helm(helm_program, "pull", "hand", "--repo", url, *credentials, cwd=tmp_path)

    assert [each["version"] for each in found] == ["1.10.0", "1.2.0", "1.0.0"]
    assert found[0]["app_version"] == "2024-01-01"
    assert (tmp_path / "web-1.2.0.tgz").read_bytes() == (server.home / "charts/stable/web-1.2.0.tgz").read_bytes()
    assert (tmp_path / "by-hand.tgz").exists() or (tmp_path / "hand-0.1.0.tgz").exists()


async def test_helm_repositories_give_only_charts(server: Server, http: aiohttp.ClientSession) -> None:
    await server.sources.create_charts("public")
    pushed = await server.sources.push_chart("public", chart("web", "1.0.0"))
    folder = server.home / "charts/public"
    (folder / "notes.txt").write_text("private")
    (folder / "link.tgz").symlink_to("/etc/passwd")

    async def get(path: str, method: str = "GET") -> aiohttp.ClientResponse:
        async with http.request(method, yarl.URL(f"{server.at.charts}{path}", encoded=True)) as answer:
            return answer

    async with http.get(f"{server.at.charts}public/index.yaml") as answer:
        entries = yaml.safe_load(await answer.read())["entries"]
    head = await get("public/web-1.0.0.tgz", "HEAD")
    assert list(entries) == ["web"]
    assert entries["web"][0]["digest"] == pushed.digest.removeprefix("sha256:")
    assert (head.status, int(head.headers["Content-Length"])) == (200, (folder / "web-1.0.0.tgz").stat().st_size)
    for path in ("public/notes.txt", "public/link.tgz", "public/../stable/index.yaml", "nowhere/index.yaml",
                 "public/%2e%2e/public/index.yaml", "public/.hidden.tgz"):  # fmt: skip
        assert (await get(path)).status == 404, path
    assert (await get("public/index.yaml", "PUT")).status == 405
    with pytest.raises(errors.UsageError, match="already, with other content"):
        await server.sources.push_chart("public", chart("web", "1.0.0", description="other"))
    with pytest.raises(errors.UsageError, match="no chart"):
        await server.sources.push_chart("public", b"nonsense")
    await server.sources.delete_charts("public")
    assert (await get("public/index.yaml")).status == 404


# -- the process


async def test_a_restart_keeps_everything(tmp_path: Path, http: aiohttp.ClientSession) -> None:
    one = await Server(tmp_path).start()
    await one.sources.create_git("team/fleet", access=PRIVATE)
    await one.sources.set_webhooks("team/fleet", [DeclaredWebhook("http://127.0.0.1:1/", "s-token")])
    made = await one.sources.commit("team/fleet", {"a": b"1"}, message="m")
    await one.sources.set_oci_access("team", PRIVATE)
    pushed = await one.sources.push_oci_chart("team", chart("web", "1.0.0"))
    await one.sources.create_charts("stable", access=PRIVATE)
    await one.sources.push_chart("stable", chart("web", "1.0.0"))
    # A push, an upload and a write that the end of the process cuts off.
    await one.sources.set_oci_access("open", OPEN)
    half = os.urandom(1000)
    async with http.post(one.oci("open/x/blobs/uploads/")) as answer:
        place = f"http://{one.at.registry}{answer.headers['Location']}"
    async with http.patch(place, data=half) as answer:
        assert answer.status == 202
    stale = one.home / "git/team/fleet.git/objects/incoming-abcdef"
    stale.mkdir()

    await one.end(signal.SIGKILL)
    # Content that no repository refers to: what is left when a process dies between the two.
    orphan = one.home / "registry/blobs/sha256/ab" / ("ab" * 32)
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"x")
    two = await Server(tmp_path).start()
    try:
        (repository,) = await two.sources.list_git()
        assert repository.refs == {"refs/heads/main": made.after}
        assert repository.webhooks == ("http://127.0.0.1:1/",)
        cloned = two.git("team/fleet", "reader:r-token")
        await git("clone", "-q", cloned, "clone", cwd=tmp_path)
        await git("ls-remote", two.git("team/fleet"), cwd=tmp_path, code=1)
        for user, expected in (("reader", 200), ("nobody", 401)):
            async with http.get(two.oci("team/web/manifests/1.0.0"), headers=basic(user, "r-token")) as answer:
                assert answer.status == expected
        assert {each.name: each.tags for each in (await two.sources.list_oci()).repositories} == {
            "team/web": {"1.0.0": pushed.digest}
        }
        (charts,) = await two.sources.list_charts()
        assert charts.files == ("web-1.0.0.tgz",)
        async with http.get(two.oci(f"open/x/blobs/{sha(half)}")) as answer:
            assert answer.status == 404
        assert list((two.home / "scratch").iterdir()) == []
        assert not stale.exists()
        assert not orphan.exists()
        kept = two.home.joinpath("declared.json")
        assert kept.stat().st_mode & 0o777 == 0o600
        assert "r-token" not in kept.read_text(), "tokens are kept as hashes"
    finally:
        await two.end()


async def test_it_listens_where_it_was_told_and_nowhere_else(own: Server) -> None:
    inodes = {
        os.readlink(f"/proc/{own.pid}/fd/{fd}")[8:-1] for fd in os.listdir(f"/proc/{own.pid}/fd")
        if os.readlink(f"/proc/{own.pid}/fd/{fd}").startswith("socket:")
    }  # fmt: skip
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [line.split() for table in tables for line in table]
    listening = [row[1] for row in rows if row[9] in inodes and row[3] == "0A"]
    address = socket.inet_aton(ADDRESS)[::-1].hex().upper()

    assert len(listening) == 3
    assert all(each.startswith(address) for each in listening)
    assert (own.folder / "control.sock").stat().st_mode & 0o777 == 0o600


async def test_a_home_and_a_port_have_one_process(own: Server, tmp_path: Path) -> None:
    port = own.at.registry.split(":")[1]

    async def start(home: Path, oci: str) -> str:
        argv = [
            sys.executable, "-m", "firstlight.lab.sources", "--home", str(home), "--address", ADDRESS, "--git-port",
            "0", "--oci-port", oci, "--charts-port", "0", "--ready", str(tmp_path / "r"), "--control",
            str(tmp_path / "other.sock"),
        ]  # fmt: skip
        done = await command.run(argv, check=False, timeout=20)
        assert done.code == 1
        return done.stderr

    same, taken = await asyncio.gather(start(own.home, "0"), start(tmp_path / "other", port))

    assert "is served by another process" in same
    assert f"cannot listen on {ADDRESS}:{port}" in taken
    assert "Traceback" not in same + taken
    assert not (tmp_path / "r").exists()
    assert (await own.sources.status()).pid == own.pid
