"""A server of charts, small enough to be read: a Helm repository and an OCI registry, behind a password or not."""

import base64
import contextlib
import hashlib
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from aiohttp import web

_MANIFEST = re.compile(r"/v2/(?P<name>.+)/manifests/(?P<reference>[^/]+)")
_BLOB = re.compile(r"/v2/(?P<name>.+)/blobs/(?P<digest>sha256:[0-9a-f]+)")
_UPLOAD = re.compile(r"/v2/(?P<name>.+)/blobs/uploads/(?P<id>[^/]*)")
_TAGS = re.compile(r"/v2/(?P<name>.+)/tags/list")


class ChartServer:
    """Files below ``/charts/`` and a registry at ``/v2/``; ``requests`` are what was asked of it."""

    def __init__(self, *, username: str = "", password: str = "") -> None:
        self.username = username
        self.password = password
        self.files: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.status = 0
        self.port = 0

    @property
    def host(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self.port}"

    def serve_chart(self, archive: Path, *, name: str, version: str, repo: str = "stable") -> None:
        """Offer a chart in the Helm repository."""
        self.files[f"{repo}/{archive.name}"] = archive.read_bytes()
        entry = f"  {name}:\n  - apiVersion: v2\n    name: {name}\n    version: {version}\n    urls: [{archive.name}]\n"
        self.files[f"{repo}/index.yaml"] = f"apiVersion: v1\nentries:\n{entry}".encode()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Whatever is asked."""
        self.requests.append(f"{request.method} {request.path}")
        if self.status:
            return web.Response(status=self.status)
        expected = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        if self.password and request.headers.get("Authorization") != f"Basic {expected}":
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="charts"'})
        if request.path.startswith("/charts/"):
            body = self.files.get(request.path.removeprefix("/charts/"))
            return web.Response(status=404) if body is None else web.Response(body=body)
        if request.path == "/v2/":
            return web.Response()
        routes: list[tuple[re.Pattern[str], Callable[[web.Request, re.Match[str]], Awaitable[web.Response]]]] = [
            (_MANIFEST, self._manifest),
            (_BLOB, self._blob),
            (_UPLOAD, self._upload),
            (_TAGS, self._tags),
        ]
        for pattern, handler in routes:
            if (match := pattern.fullmatch(request.path)) is not None:
                return await handler(request, match)
        return web.Response(status=404)

    async def _manifest(self, request: web.Request, match: re.Match[str]) -> web.Response:
        name, reference = match["name"], match["reference"]
        if request.method == "PUT":
            body = await request.read()
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            for key in (reference, digest):
                self.manifests[name, key] = (request.content_type, body)
            return web.Response(status=201, headers={"Docker-Content-Digest": digest})
        if (name, reference) not in self.manifests:
            code = "MANIFEST_UNKNOWN" if any(known == name for known, _ in self.manifests) else "NAME_UNKNOWN"
            return web.json_response({"errors": [{"code": code, "message": "not here"}]}, status=404)
        kind, body = self.manifests[name, reference]
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        return web.Response(body=body, content_type=kind, headers={"Docker-Content-Digest": digest})

    async def _blob(self, request: web.Request, match: re.Match[str]) -> web.Response:
        body = self.blobs.get(match["digest"])
        return web.Response(status=404) if body is None else web.Response(body=body)

    async def _upload(self, request: web.Request, match: re.Match[str]) -> web.Response:
        if request.method == "POST":
            return web.Response(status=202, headers={"Location": f"{request.path}{uuid.uuid4().hex}"})
        self.blobs[request.query["digest"]] = await request.read()
        return web.Response(status=201, headers={"Docker-Content-Digest": request.query["digest"]})

    async def _tags(self, request: web.Request, match: re.Match[str]) -> web.Response:
        tags = [tag for name, tag in self.manifests if name == match["name"] and not tag.startswith("sha256:")]
        return web.json_response({"name": match["name"], "tags": tags}, status=200 if tags else 404)


@contextlib.asynccontextmanager
async def serving(*, username: str = "", password: str = "") -> AsyncIterator[ChartServer]:
    """A server for as long as it is needed."""
    server = ChartServer(username=username, password=password)
    application = web.Application(client_max_size=1 << 26)
    application.router.add_route("*", "/{tail:.*}", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
