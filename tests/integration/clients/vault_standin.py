"""A stand-in for Vault: what its key-value engines answer, by its API documentation. No real Vault was asked."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

TOKEN = "hvs.lab-token"


class Standin:
    """Two mounts: ``secret/`` of version 2 and ``old/kv/`` of version 1; ``transit/`` is something else."""

    def __init__(self) -> None:
        self.sealed = False
        self.redirect = ""
        self.asked: list[tuple[str, str]] = []
        """Namespace and path of each request."""
        self.version_2: dict[str, Any] = {}
        self.version_1: dict[str, Any] = {}
        self.deleted: dict[str, dict[str, Any]] = {}

    async def answer(self, request: web.Request) -> web.Response:
        """All paths of the API."""
        path = request.path.removeprefix("/v1/")
        self.asked.append((request.headers.get("X-Vault-Namespace", ""), path))
        if self.redirect:
            return web.Response(status=307, headers={"Location": f"{self.redirect}{request.path}"})
        if self.sealed:
            return _errors(503, "Vault is sealed")
        token = request.headers.get("X-Vault-Token", "")
        if token != TOKEN:
            return _errors(403, f"2 errors occurred:\n\t* permission denied {token}\n\t* invalid token\n\n")
        if path.startswith("sys/internal/ui/mounts/"):
            return self._mount(path.removeprefix("sys/internal/ui/mounts/"))
        if "forbidden" in path:
            return _errors(403, "1 error occurred:\n\t* permission denied\n\n")
        if path.startswith("secret/data/"):
            return self._read_2(path.removeprefix("secret/data/"))
        if path.startswith("old/kv/"):
            found = self.version_1.get(path.removeprefix("old/kv/"))
            return _json({"data": found, "lease_duration": 2764800}) if found is not None else _errors(404)
        return _errors(404)

    def _mount(self, path: str) -> web.Response:
        for mount, kind, options in (
            ("secret/", "kv", {"version": "2"}), ("old/kv/", "kv", {"version": "1"}), ("transit/", "transit", None),
            ("older/", "kv", None),
        ):  # fmt: skip
            if path.startswith(mount):
                return _json({"data": {"path": mount, "type": kind, "options": options}})
        return _errors(403, "preflight capability check returned 403, please ensure client's policies grant access")

    def _read_2(self, path: str) -> web.Response:
        if path in self.deleted:
            return _json({"data": {"data": None, "metadata": self.deleted[path]}}, status=404)
        if path not in self.version_2:
            return _errors(404)
        metadata = {"created_time": "2026-01-01T00:00:00Z", "deletion_time": "", "destroyed": False, "version": 3}
        return _json({"data": {"data": self.version_2[path], "metadata": metadata}})

    @contextlib.asynccontextmanager
    async def serving(self, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        """Its address, while it serves."""
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        try:
            yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.json_response(value, status=status)


def _errors(status: int, *said: str) -> web.Response:
    return web.json_response({"errors": list(said)}, status=status)
