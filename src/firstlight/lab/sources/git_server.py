"""Git's smart HTTP protocol, versions 0 to 2. The old one without a server program behind it is refused."""

import asyncio
import contextlib
import os
import re
import signal
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from aiohttp import web

from firstlight.lab import http_serving
from firstlight.lab.sources import declarations, git_repositories, pkt_line, source_names
from firstlight.lab.sources.declarations import DeclaredSources
from firstlight.lab.sources.git_repositories import BareRepositories
from firstlight.lab.sources.pkt_line import RefUpdate
from firstlight.lab.sources.source_faults import ServerName

Notify = Callable[[str, tuple[RefUpdate, ...], str], Awaitable[None]]
"""Told of every push that moved something: the repository, what moved, and who pushed."""

SERVICES = ("git-upload-pack", "git-receive-pack")
AT_ONCE = 16
"""Git processes at a time; more requests wait."""
_PATH = re.compile(r"/git/(?P<name>.+?)(?:\.git)?/(?P<what>info/refs|git-upload-pack|git-receive-pack)")
_ANY_PATH = re.compile(r"/git/(?P<name>.+?)(?:\.git)?(?:/(?:HEAD|objects/.*|info/.*|git-.*)?)?")
_PROTOCOL = re.compile(r"[a-z0-9=:._-]{1,100}")
_NEVER_CACHED = {"Cache-Control": "no-cache, max-age=0, must-revalidate", "Pragma": "no-cache"}


class GitServer:
    """Serves the declared repositories."""

    name: ServerName = "git"

    def __init__(self, declared: DeclaredSources, repositories: BareRepositories, notify: Notify) -> None:
        self._declared = declared
        self._repositories = repositories
        self._notify = notify
        self._places = asyncio.Semaphore(AT_ONCE)

    def repository(self, path: str) -> str:
        """The repository of a path, also of one that is not served."""
        match = _ANY_PATH.fullmatch(path)
        return match["name"] if match and source_names.is_git(match["name"]) else ""

    def refusal(self, status: int, message: str) -> web.Response:
        """Plain text: git shows it to its user."""
        headers = {"WWW-Authenticate": 'Basic realm="firstlight lab git", charset="UTF-8"'} if status == 401 else {}
        return web.Response(status=status, text=f"{message}\n", headers={**headers, **_NEVER_CACHED})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A list of refs, a fetch or a push."""
        match = _PATH.fullmatch(request.rel_url.raw_path)
        if not match or not source_names.is_git(match["name"]):
            known = self.repository(request.rel_url.raw_path) in self._declared.git
            return self.refusal(403 if known else 404, "only the smart protocol is served" if known else "not found")
        name, what = match["name"], match["what"]
        service = request.query.get("service", "") if what == "info/refs" else what
        if request.method != ("GET" if what == "info/refs" else "POST"):
            return self.refusal(405, f"{what} is not for {request.method}")
        if service not in SERVICES:
            return self.refusal(403, "only the smart protocol is served")
        if name not in self._declared.git:
            return self.refusal(404, f"no repository {name}")
        if refused := self._refuse(request, name, service):
            return refused
        if service == "git-receive-pack":
            await self._repositories.make(name)
        if not self._repositories.exists(name):
            return self.refusal(404, f"repository {name} has had no push yet")
        try:
            async with self._places:
                return await (self._list if what == "info/refs" else self._exchange)(request, name, service)
        except BadBodyError as error:
            return self.refusal(400, str(error))

    def _refuse(self, request: web.Request, name: str, service: str) -> web.Response | None:
        wanted: declarations.Level = "write" if service == "git-receive-pack" else "read"
        everywhere = (each.access for each in self._declared.git.values())
        header = request.headers.get("Authorization", "")
        verdict = declarations.judge(header, wanted, self._declared.git[name].access, everywhere)
        request[http_serving.USER] = verdict.user
        if verdict.status == 200:
            return None
        if verdict.status == 401:
            return self.refusal(401, "wrong credentials" if header else f"credentials are needed to {wanted}")
        return self.refusal(403, f"{verdict.user or 'this token'} may not {wanted} {name}")

    async def _list(self, request: web.Request, name: str, service: str) -> web.StreamResponse:
        protocol = self._protocol(request)
        is_v2 = service == "git-upload-pack" and "version=2" in protocol.split(":")
        preface = b"" if is_v2 else pkt_line.encode(f"# service={service}\n".encode()) + pkt_line.FLUSH
        response, complaint = await serve_git(
            request, self._argv(service, "--advertise-refs", name), limit=0, preface=preface,
            env=self._environment(name, protocol), headers=self._headers(f"{service}-advertisement"),
        )  # fmt: skip
        return response or self._failed(name, complaint)

    async def _exchange(self, request: web.Request, name: str, service: str) -> web.StreamResponse:
        if request.content_type != f"application/x-{service}-request":
            return self.refusal(415, f"this is for application/x-{service}-request")
        is_push = service == "git-receive-pack"
        commands, report = pkt_line.PushCommands(), pkt_line.PushReport()
        try:
            response, complaint = await serve_git(
                request, self._argv(service, "", name), limit=git_repositories.PUSH_LIMIT if is_push else FETCH_LIMIT,
                env=self._environment(name, self._protocol(request)), headers=self._headers(f"{service}-result"),
                on_request=commands.feed if is_push else _ignore, on_answer=report.feed if is_push else _ignore,
                to_the_end=is_push,
            )  # fmt: skip
        finally:
            # Also when the client did not wait for its answer: what moved has moved.
            moved = tuple(update for update in commands.updates if update.ref in report.moved)
            if moved:
                await self._notify(name, moved, request.get(http_serving.USER, ""))
        return response or self._failed(name, complaint)

    def _failed(self, name: str, complaint: str) -> web.Response:
        http_serving.LOG.warning("git failed in %s: %s", name, http_serving.shown(complaint))
        return self.refusal(500, "git could not answer this")

    def _environment(self, name: str, protocol: str) -> dict[str, str]:
        env = self._repositories.environment()
        return {**env, "GIT_PROTOCOL": protocol} if protocol else env

    def _argv(self, service: str, option: str, name: str) -> list[str]:
        options = ["--stateless-rpc", *([option] if option else [])]
        strict = ["--strict"] if service == "git-upload-pack" else []
        return git_repositories.git_argv(
            service.removeprefix("git-"), *strict, *options, str(self._repositories.path(name))
        )

    @staticmethod
    def _protocol(request: web.Request) -> str:
        asked = request.headers.get("Git-Protocol", "")
        return asked if _PROTOCOL.fullmatch(asked) else ""

    @staticmethod
    def _headers(kind: str) -> dict[str, str]:
        return {"Content-Type": f"application/x-{kind}", **_NEVER_CACHED}


def _ignore(data: bytes) -> None:
    """Of a fetch nothing is remembered."""


# One request to git's own server programs: the body goes in as it comes, the answer goes out as it is made.


GIT_IDLE = 60
"""Seconds without a byte from the client, after which a request is over."""
FETCH_LIMIT = 64 << 20
"""Bytes of what a client says that it wants and has: a million commits."""
_CHUNK = 1 << 16
_GRACE = 10
"""Seconds for git to tidy up after a client that went away."""


class BadBodyError(Exception):
    """A request's body is not what it says, or too much."""


async def serve_git(
    request: web.Request,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    headers: Mapping[str, str],
    limit: int,
    preface: bytes = b"",
    on_request: Callable[[bytes], None] = lambda _: None,
    on_answer: Callable[[bytes], None] = lambda _: None,
    to_the_end: bool = False,
) -> tuple[web.StreamResponse | None, str]:
    """Let a program answer a request.

    Args:
        request: The request.
        argv: The program.
        env: Its whole environment.
        headers: Those of the answer.
        limit: How much it may be told.
        preface: What the answer begins with.
        on_request: Sees every part of the body that the program got.
        on_answer: Sees every part of what it answered.
        to_the_end: Whether the program may finish what it does when the client is gone.

    Returns:
        The answer, sent; None if the program failed without a word. And what it complained about.

    Raises:
        BadBodyError: The program could not be told what it should do.
    """
    process = await asyncio.create_subprocess_exec(
        *argv, env=env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, start_new_session=True, limit=4 * _CHUNK,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.create_task(_last(process.stderr))
    feeding = asyncio.create_task(_feed(request, process.stdin, limit, on_request))
    try:
        first = await process.stdout.read(_CHUNK)
        if feeding.done() or not first:
            await feeding
        if not first and await process.wait() != 0:
            return None, await complaints
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        if preface:
            await response.write(preface)
        while first:
            on_answer(first)
            await response.write(first)
            first = await process.stdout.read(_CHUNK)
        await process.wait()
        await response.write_eof()
        return response, await complaints
    finally:
        process.stdin.close()
        feeding.cancel()
        await _end(process, _GRACE if to_the_end else 0, on_answer)
        complaints.cancel()
        await asyncio.gather(feeding, complaints, return_exceptions=True)


async def _feed(
    request: web.Request, stdin: asyncio.StreamWriter, limit: int, on_request: Callable[[bytes], None]
) -> None:
    try:
        async for chunk in _body(request, limit):
            on_request(chunk)
            stdin.write(chunk)
            await stdin.drain()
    except (BrokenPipeError, ConnectionResetError, web.RequestPayloadError):
        # Either git has heard enough and says why, or the client is gone and nobody listens.
        return
    except TimeoutError as error:
        raise BadBodyError(f"nothing came for {GIT_IDLE} s") from error
    finally:
        stdin.close()


async def _body(request: web.Request, limit: int) -> AsyncIterator[bytes]:
    """The body, unpacked if it is packed; what is unpacked at once is bounded."""
    encoding = request.headers.get("Content-Encoding", "").lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise BadBodyError(f"content encoding {encoding[:20]!r} is not understood")
    unpack = zlib.decompressobj(31) if encoding.endswith("gzip") else None
    size = 0
    while True:
        async with asyncio.timeout(GIT_IDLE):
            chunk = await request.content.readany()
        if not chunk:
            break
        while chunk:
            part, chunk = (chunk, b"") if unpack is None else _unpack(unpack, chunk)
            size += len(part)
            if size > limit:
                raise BadBodyError(f"more than {limit >> 20} MiB")
            if part:
                yield part
    if unpack is not None and size and not unpack.eof:
        raise BadBodyError("the packed body ends too early")


def _unpack(unpack: "zlib._Decompress", chunk: bytes) -> tuple[bytes, bytes]:
    try:
        part = unpack.decompress(chunk, 4 * _CHUNK)
    except zlib.error as error:
        raise BadBodyError("the body is not packed as it says") from error
    return part, unpack.unconsumed_tail


async def _last(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(_CHUNK):
        kept = (kept + chunk)[-4096:]
    return kept.decode(errors="replace").strip()


async def _end(process: asyncio.subprocess.Process, grace: float, on_answer: Callable[[bytes], None]) -> None:
    """With grace, let it come to its end by itself: its input is closed, and git tidies up after a push cut off."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace):
            while chunk := await process.stdout.read(_CHUNK):
                on_answer(chunk)
            await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
