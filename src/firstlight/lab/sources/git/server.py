"""Git's smart HTTP protocol, versions 0 to 2. The old one without a server program behind it is refused."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from aiohttp import web

from firstlight.lab.sources import access, names, serving
from firstlight.lab.sources.declared import Declared
from firstlight.lab.sources.faults import ServerName
from firstlight.lab.sources.git import exchange, pkt_line, program
from firstlight.lab.sources.git.pkt_line import Update
from firstlight.lab.sources.git.repositories import Repositories

Notify = Callable[[str, tuple[Update, ...], str], Awaitable[None]]
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

    def __init__(self, declared: Declared, repositories: Repositories, notify: Notify) -> None:
        self._declared = declared
        self._repositories = repositories
        self._notify = notify
        self._places = asyncio.Semaphore(AT_ONCE)

    def repository(self, path: str) -> str:
        """The repository of a path, also of one that is not served."""
        match = _ANY_PATH.fullmatch(path)
        return match["name"] if match and names.is_git(match["name"]) else ""

    def refusal(self, status: int, message: str) -> web.Response:
        """Plain text: git shows it to its user."""
        headers = {"WWW-Authenticate": 'Basic realm="firstlight lab git", charset="UTF-8"'} if status == 401 else {}
        return web.Response(status=status, text=f"{message}\n", headers={**headers, **_NEVER_CACHED})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A list of refs, a fetch or a push."""
        match = _PATH.fullmatch(request.rel_url.raw_path)
        if not match or not names.is_git(match["name"]):
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
        except exchange.BadBodyError as error:
            return self.refusal(400, str(error))

    def _refuse(self, request: web.Request, name: str, service: str) -> web.Response | None:
        wanted: access.Level = "write" if service == "git-receive-pack" else "read"
        everywhere = (each.access for each in self._declared.git.values())
        header = request.headers.get("Authorization", "")
        verdict = access.judge(header, wanted, self._declared.git[name].access, everywhere)
        request[serving.USER] = verdict.user
        if verdict.status == 200:
            return None
        if verdict.status == 401:
            return self.refusal(401, "wrong credentials" if header else f"credentials are needed to {wanted}")
        return self.refusal(403, f"{verdict.user or 'this token'} may not {wanted} {name}")

    async def _list(self, request: web.Request, name: str, service: str) -> web.StreamResponse:
        protocol = self._protocol(request)
        is_v2 = service == "git-upload-pack" and "version=2" in protocol.split(":")
        preface = b"" if is_v2 else pkt_line.encode(f"# service={service}\n".encode()) + pkt_line.FLUSH
        response, complaint = await exchange.serve(
            request, self._argv(service, "--advertise-refs", name), limit=0, preface=preface,
            env=self._environment(name, protocol), headers=self._headers(f"{service}-advertisement"),
        )  # fmt: skip
        return response or self._failed(name, complaint)

    async def _exchange(self, request: web.Request, name: str, service: str) -> web.StreamResponse:
        if request.content_type != f"application/x-{service}-request":
            return self.refusal(415, f"this is for application/x-{service}-request")
        is_push = service == "git-receive-pack"
        commands, report = pkt_line.Commands(), pkt_line.Report()
        try:
            response, complaint = await exchange.serve(
                request, self._argv(service, "", name), limit=program.PUSH_LIMIT if is_push else exchange.FETCH_LIMIT,
                env=self._environment(name, self._protocol(request)), headers=self._headers(f"{service}-result"),
                on_request=commands.feed if is_push else _ignore, on_answer=report.feed if is_push else _ignore,
                to_the_end=is_push,
            )  # fmt: skip
        finally:
            # Also when the client did not wait for its answer: what moved has moved.
            moved = tuple(update for update in commands.updates if update.ref in report.moved)
            if moved:
                await self._notify(name, moved, request.get(serving.USER, ""))
        return response or self._failed(name, complaint)

    def _failed(self, name: str, complaint: str) -> web.Response:
        serving.LOG.warning("git failed in %s: %s", name, serving.shown(complaint))
        return self.refusal(500, "git could not answer this")

    def _environment(self, name: str, protocol: str) -> dict[str, str]:
        env = self._repositories.environment()
        return {**env, "GIT_PROTOCOL": protocol} if protocol else env

    def _argv(self, service: str, option: str, name: str) -> list[str]:
        options = ["--stateless-rpc", *([option] if option else [])]
        strict = ["--strict"] if service == "git-upload-pack" else []
        return program.argv(service.removeprefix("git-"), *strict, *options, str(self._repositories.path(name)))

    @staticmethod
    def _protocol(request: web.Request) -> str:
        asked = request.headers.get("Git-Protocol", "")
        return asked if _PROTOCOL.fullmatch(asked) else ""

    @staticmethod
    def _headers(kind: str) -> dict[str, str]:
        return {"Content-Type": f"application/x-{kind}", **_NEVER_CACHED}


def _ignore(data: bytes) -> None:
    """Of a fetch nothing is remembered."""
