"""The Git server: decides who may read and write, and lets ``git http-backend`` answer over CGI.

Git tells us of a push through its post-receive hook, which writes what moved into a file.
"""

import asyncio
import contextlib
import http.client
import io
import os
import re
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence

from aiohttp import web

from firstlight.lab import http_serving
from firstlight.lab.sources import declarations, git_repositories, source_names
from firstlight.lab.sources.declarations import DeclaredSources
from firstlight.lab.sources.git_repositories import BareRepositories, RefUpdate
from firstlight.lab.sources.source_faults import ServerName

Notify = Callable[[str, tuple[RefUpdate, ...], str], Awaitable[None]]
"""Told of every push that moved something: the repository, what moved, and who pushed."""

SERVICES = ("git-upload-pack", "git-receive-pack")
AT_ONCE = 16
"""Git processes at a time; more requests wait."""
_PATH = re.compile(r"/git/(?P<name>.+?)(?:\.git)?/(?P<what>info/refs|git-upload-pack|git-receive-pack)")
_ANY_PATH = re.compile(r"/git/(?P<name>.+?)(?:\.git)?(?:/(?:HEAD|objects/.*|info/.*|git-.*)?)?")
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
        async with self._places:
            return await self._serve(request, name, what, service)

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

    async def _serve(self, request: web.Request, name: str, what: str, service: str) -> web.StreamResponse:
        log = self._repositories.push_log()
        # The service is named here and not taken from the request: git must see the one that was allowed.
        # Without CONTENT_LENGTH, git reads until its input ends; with it, some versions spin when too little comes.
        env = self._repositories.environment(
            GIT_PROJECT_ROOT=str(self._repositories.root),
            GIT_HTTP_EXPORT_ALL="1",
            GIT_HTTP_MAX_REQUEST_BUFFER=str(FETCH_LIMIT),
            PATH_INFO=f"/{name}.git/{what}",
            QUERY_STRING=f"service={service}",
            REQUEST_METHOD=request.method,
            REMOTE_USER=request.get(http_serving.USER, "") or "anonymous",
            CONTENT_TYPE=request.headers.get("Content-Type", ""),
            HTTP_CONTENT_ENCODING=request.headers.get("Content-Encoding", ""),
            GIT_PROTOCOL=request.headers.get("Git-Protocol", ""),
            **{git_repositories.PUSH_LOG: str(log)},
        )
        argv = git_repositories.git_argv("-c", f"core.hooksPath={self._repositories.hooks}", "http-backend")
        is_push = what == "git-receive-pack"
        try:
            response, complaint = await answer_by_cgi(request, argv, env=env, to_the_end=is_push)
        finally:
            # Also when the client did not wait for its answer: what moved has moved.
            if moved := git_repositories.take_updates(log):
                await self._notify(name, moved, request.get(http_serving.USER, ""))
        if complaint:
            http_serving.LOG.warning("git failed in %s: %s", name, http_serving.shown(complaint))
        return response or self.refusal(500, "git could not answer this")


# One request to a CGI program: the body goes in as it comes, the answer goes out as it is made.


GIT_IDLE = 60
"""Seconds without a byte from the client, after which a request is over."""
FETCH_LIMIT = 64 << 20
"""Bytes of what a client says that it wants and has: a million commits."""
_CHUNK = 1 << 16
_GRACE = 10
"""Seconds for git to tidy up after a client that went away."""


async def answer_by_cgi(
    request: web.Request, argv: Sequence[str], *, env: Mapping[str, str], to_the_end: bool
) -> tuple[web.StreamResponse | None, str]:
    """Let a program answer a request.

    Args:
        request: The request.
        argv: The program.
        env: Its whole environment.
        to_the_end: Whether the program may finish what it does when the client is gone.

    Returns:
        The answer, sent; None if the program failed without one. And what it complained about.
    """
    process = await asyncio.create_subprocess_exec(
        *argv, env=env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, start_new_session=True, limit=4 * _CHUNK,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.create_task(_last(process.stderr))
    feeding = asyncio.create_task(_feed(request, process.stdin))
    response = None
    try:
        with contextlib.suppress(asyncio.IncompleteReadError):
            head = http.client.parse_headers(io.BytesIO(await process.stdout.readuntil(b"\r\n\r\n")))
            # Git sends its headers first and exits with 0 also when it then fails: its complaint tells.
            chunk = await process.stdout.read(_CHUNK)
            if chunk or not await complaints:
                status = int(head.get("Status", "200").split()[0])
                del head["Status"]
                response = web.StreamResponse(status=status, headers=dict(head))
                await response.prepare(request)
                while chunk:
                    await response.write(chunk)
                    chunk = await process.stdout.read(_CHUNK)
                await response.write_eof()
        await process.wait()
        return response, await complaints
    finally:
        process.stdin.close()
        feeding.cancel()
        await _end(process, _GRACE if to_the_end else 0)
        complaints.cancel()
        await asyncio.gather(feeding, complaints, return_exceptions=True)


async def _feed(request: web.Request, stdin: asyncio.StreamWriter) -> None:
    try:
        # Either git has heard enough and says why, or the client is silent or gone: then git's input ends early.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, web.RequestPayloadError, TimeoutError):
            while True:
                async with asyncio.timeout(GIT_IDLE):
                    chunk = await request.content.readany()
                if not chunk:
                    break
                stdin.write(chunk)
                await stdin.drain()
    finally:
        stdin.close()


async def _last(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(_CHUNK):
        kept = (kept + chunk)[-4096:]
    return kept.decode(errors="replace").strip()


async def _end(process: asyncio.subprocess.Process, grace: float) -> None:
    """With grace, let it come to its end by itself: its input is closed, and git tidies up after a push cut off."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace):
            while await process.stdout.read(_CHUNK):
                pass
            await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
