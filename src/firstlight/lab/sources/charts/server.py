"""Helm repositories over HTTP: an index and the archives it names, to be read only."""

import asyncio
import re

from aiohttp import web

from firstlight.lab.sources import access, names, serving
from firstlight.lab.sources.charts.index import Indexes
from firstlight.lab.sources.charts.repositories import ChartRepositories
from firstlight.lab.sources.declared import Declared
from firstlight.lab.sources.faults import ServerName

_PATH = re.compile(r"/charts/(?P<name>[^/%]+)/(?P<file>[A-Za-z0-9][A-Za-z0-9._+-]*)")
_ANY_PATH = re.compile(r"/charts/(?P<name>[^/%]+)(?:/.*)?")


class ChartServer:
    """Serves the declared repositories."""

    name: ServerName = "charts"

    def __init__(self, declared: Declared, repositories: ChartRepositories, indexes: Indexes) -> None:
        self._declared = declared
        self._repositories = repositories
        self._indexes = indexes
        self._indexing = asyncio.Lock()

    def repository(self, path: str) -> str:
        """The repository of a path."""
        match = _ANY_PATH.fullmatch(path)
        return match["name"] if match else ""

    def refusal(self, status: int, message: str) -> web.Response:
        """Plain text."""
        headers = {"WWW-Authenticate": 'Basic realm="firstlight lab charts", charset="UTF-8"'} if status == 401 else {}
        return web.Response(status=status, text=f"{message}\n", headers=headers)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """The index, or an archive."""
        # A version may have a plus, which some clients escape.
        match = _PATH.fullmatch(request.rel_url.raw_path.replace("%2B", "+").replace("%2b", "+"))
        if not match or not names.CHARTS.fullmatch(match["name"]) or match["name"] not in self._declared.charts:
            return self.refusal(404, "not found")
        if request.method not in ("GET", "HEAD"):
            return self.refusal(405, "charts come in through the lab, not here")
        name, file = match["name"], match["file"]
        header = request.headers.get("Authorization", "")
        verdict = access.judge(header, "read", self._declared.charts[name], self._declared.charts.values())
        request[serving.USER] = verdict.user
        if verdict.status != 200:
            problem = {
                401: "wrong credentials" if header else "credentials are needed",
                403: "not for these credentials",
            }
            return self.refusal(verdict.status, problem[verdict.status])
        folder = self._repositories.path(name)
        if file == "index.yaml":
            async with self._indexing:
                content = await asyncio.to_thread(self._indexes.index, folder)
            return web.Response(body=content, content_type="application/yaml", headers={"Cache-Control": "no-cache"})
        path = folder / file
        if not file.endswith((".tgz", ".tgz.prov")) or path.is_symlink() or not path.is_file():
            return self.refusal(404, f"{name} has no {file}")
        kind = "application/gzip" if file.endswith(".tgz") else "text/plain"
        return web.FileResponse(path, headers={"Content-Type": kind})
