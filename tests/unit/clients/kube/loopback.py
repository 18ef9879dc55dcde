"""A small API server on loopback that misbehaves as a test tells it: resets, truncates, stalls, answers anything."""

import asyncio
import contextlib
import dataclasses
import socket
import ssl
import struct
import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec

from firstlight.clients import kube

RESOURCES: dict[str, Any] = {
    "kind": "APIGroupDiscoveryList",
    "apiVersion": "apidiscovery.k8s.io/v2",
    "items": [
        {
            "metadata": {"name": ""},
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        {
                            "resource": plural,
                            "responseKind": {"kind": kind},
                            "scope": scope,
                            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
                        }
                        for plural, kind, scope in (
                            ("configmaps", "ConfigMap", "Namespaced"),
                            ("secrets", "Secret", "Namespaced"),
                            ("pods", "Pod", "Namespaced"),
                            ("namespaces", "Namespace", "Cluster"),
                        )
                    ],
                }
            ],
        }
    ],
}
NO_GROUPS: dict[str, Any] = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": []}


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def document(self) -> Any:
        return msgspec.json.decode(self.body)


@dataclasses.dataclass(frozen=True)
class Respond:
    document: Any = None
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Text:
    text: str
    status: int = 200


@dataclasses.dataclass(frozen=True)
class Reset:
    """The connection is reset instead of an answer."""


@dataclasses.dataclass(frozen=True)
class Truncate:
    """Half of the answer, then the connection is closed."""

    document: Any


@dataclasses.dataclass(frozen=True)
class Stall:
    """Nothing, until the client gives up."""


@dataclasses.dataclass(frozen=True)
class Stream:
    """Chunks as they are, then the end; ``hold`` keeps it open, ``cut`` leaves out the end of the body."""

    chunks: tuple[bytes, ...]
    hold: bool = False
    cut: bool = False


Reaction = Respond | Text | Reset | Truncate | Stall | Stream
React = Callable[[Request], Reaction]


def status(code: int, reason: str = "", **more: Any) -> Respond:
    headers = more.pop("headers", {})
    return Respond({"kind": "Status", "code": code, "reason": reason, **more}, code, headers)


class Loopback:
    """Records what it was asked; what it answers comes from ``react``."""

    def __init__(self, react: React, tls: ssl.SSLContext | None) -> None:
        self.react = react
        self.requests: list[Request] = []
        self.connections = 0
        self.under_way = 0
        self.most_under_way = 0
        self.port = 0
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, method: str) -> list[Request]:
        """The requests of a method, without discovery."""
        return [request for request in self.requests if request.method == method and "/v1" in request.path]

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled is the end of the test: asyncio's streams would log it.
            with contextlib.suppress(
                ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError
            ):
                while (request := await _read(reader)) is not None:
                    self.requests.append(request)
                    self.under_way += 1
                    self.most_under_way = max(self.most_under_way, self.under_way)
                    try:
                        if not await self._answer(request, reader, writer):
                            break
                    finally:
                        self.under_way -= 1
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        match self._reaction(request):
            case Respond(document=document, status=code, headers=headers):
                _write(writer, code, msgspec.json.encode(document) if code != 304 else b"", headers)
            case Text(text=text, status=code):
                _write(writer, code, text.encode(), {"Content-Type": "text/plain"})
            case Reset():
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
                return False
            case Truncate(document=document):
                body = msgspec.json.encode(document)
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body[: len(body) // 2])
                await writer.drain()
                return False
            case Stall():
                await reader.read()
                return False
            case Stream(chunks=chunks, hold=hold, cut=cut):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
                for chunk in chunks:
                    writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                    await writer.drain()
                if hold:
                    await reader.read()
                    return False
                if cut:
                    return False
                writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _reaction(self, request: Request) -> Reaction:
        if request.path == "/api":
            return Respond(RESOURCES)
        if request.path == "/apis":
            return Respond(NO_GROUPS)
        return self.react(request)

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def loopback(react: React, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    made = Loopback(react, tls)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.end()


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def client(server: Loopback, *, clock: Clock | None = None, **settings: Any) -> kube.Client:
    """A client of the server that never really waits."""
    clock = clock or Clock()
    policy = settings.pop("policy", None) or kube.RetryPolicy()
    config = kube.ClientConfig(server=server.url, **settings)
    return kube.Client(config, policy=policy, environ={}, clock=clock, sleep=clock.sleep, jitter=lambda: 1.0)


def script(*reactions: Reaction) -> React:
    """One reaction after the other; the last one for ever."""
    left = list(reactions)

    def react(_: Request) -> Reaction:
        return left.pop(0) if len(left) > 1 else left[0]

    return react


def config_map(name: str = "a", version: int = 1, uid: str = "u", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)},
        "data": data,
    }


def _write(writer: asyncio.StreamWriter, code: int, body: bytes, headers: Mapping[str, str]) -> None:
    lines = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    writer.write(f"HTTP/1.1 {code} Said\r\n{head}\r\n".encode() + body)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line:
        return None
    method, target, _ = line.decode().split(" ", 2)
    headers = []
    while (raw := await reader.readline()) not in (b"\r\n", b""):
        key, _, value = raw.decode().partition(":")
        headers.append((key.strip(), value.strip()))
    length = int(next((value for key, value in headers if key.lower() == "content-length"), "0"))
    parts = urllib.parse.urlsplit(target)
    query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    return Request(method, parts.path, query, headers, await reader.readexactly(length))


@contextlib.asynccontextmanager
async def tunnel(port: int) -> AsyncIterator[tuple[int, list[str]]]:
    """A proxy that connects to ``port`` whatever it is asked; gives its own port and what it was asked."""
    asked: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                while chunk := await reader.read(1 << 16):
                    writer.write(chunk)
                    await writer.drain()
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *_ = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        asked.append(line.split()[1])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        for task in (asyncio.create_task(pump(reader, back)), asyncio.create_task(pump(there, writer))):
            tasks.add(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
