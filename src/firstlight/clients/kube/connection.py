"""A connection to one Kubernetes API server as one identity: requests with their repeats, and what it serves."""

import asyncio
import dataclasses
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

from firstlight.clients.kube import (
    client_config,
    credentials,
    discovery,
    exchange,
    kube_errors,
    retry,
    transport,
)

JSON = {"Content-Type": "application/json"}


@dataclasses.dataclass(frozen=True)
class ServerReadiness:
    """What ``/readyz`` says."""

    is_ready: bool
    failed: tuple[str, ...] = ()
    """The names of the checks that fail."""


class ApiConnection:
    """A connection to one API server as one identity."""

    def __init__(
        self,
        config: client_config.ClientConfig,
        *,
        policy: retry.RetryPolicy | None = None,
        agent: str = "",
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Prepare a client; ``async with`` opens it.

        Args:
            config: Where and as whom.
            policy: How patient to be.
            agent: What the audit log is told of this client besides the program's name, such as the id of a run.
            environ: Where proxies are looked up.
            now: The wall clock, for the expiry of credentials.
            clock: The clock for deadlines.
            sleep: How to wait.
            jitter: Random numbers from 0 to 1.
        """
        self.config = config
        self._policy = policy or retry.RetryPolicy()
        self._sleep = sleep
        self._jitter = jitter
        self._exchange = exchange.Exchange(
            transport.Transport(
                config, source=credentials.source(config, now=now), policy=self._policy, environ=environ, agent=agent
            ),
            policy=self._policy, clock=clock, sleep=sleep, jitter=jitter, on_missing_path=self._forget_kinds,
        )  # fmt: skip
        self._discovery = discovery.Discovery(self._fetch, server=config.server)

    @property
    def limiter(self) -> exchange.RequestLimiter:
        """How many requests may be under way at once, as the server bears it."""
        return self._exchange.limiter

    async def __aenter__(self) -> Self:
        await self._exchange.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exchange.close()

    async def resource(self, api_version: str, kind: str) -> discovery.ApiResource:
        """How a kind is served.

        Raises:
            kube_errors.UnknownKind: It is not.
        """
        return await self._discovery.find(api_version, kind)

    async def catalog(self, *, refresh: bool = False) -> discovery.ApiCatalog:
        """All that the server serves; ``refresh`` looks again, which costs two small requests."""
        catalog = await self._discovery.catalog()
        return await self._discovery.refresh(seen=catalog) if refresh else catalog

    async def version(self) -> dict[str, Any]:
        """What ``/version`` says."""
        document = (await self.request("GET", "/version")).document
        return document if isinstance(document, dict) else {}

    async def ready(self) -> ServerReadiness:
        """What ``/readyz`` says, asked once.

        Raises:
            errors.Unreachable: Nothing answers.
        """
        call = transport.HttpCall(
            "GET",
            "/readyz",
            kube_errors.ApiTarget("get", self.config.server, path="/readyz"),
            retry.Repeat.NEVER,
            expected=frozenset({429, 500, 502, 503, 504}),
        )
        answer = await self._exchange.perform(call)
        if answer.status == 200:
            return ServerReadiness(is_ready=True)
        text = answer.body.decode(errors="replace")
        failed = tuple(line[3:].split(" ", 1)[0] for line in text.splitlines() if line.startswith("[-]"))
        return ServerReadiness(is_ready=False, failed=failed)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        repeat: retry.Repeat | None = None,
    ) -> transport.HttpResponse:
        """A raw request, repeated only if it reads or ``repeat`` says how.

        Raises:
            kube_errors.ApiError: The answer is not of the 200s.
        """
        is_read = method in {"GET", "HEAD"}
        call = transport.HttpCall(
            method,
            path,
            kube_errors.ApiTarget(method, self.config.server, path=path),
            repeat or (retry.Repeat.ALWAYS if is_read else retry.Repeat.NEVER),
            params=tuple((params or {}).items()),
            headers=headers if headers is not None else {} if body is None else JSON,
            body=body,
        )
        return await self._exchange.perform(call)

    def _forget_kinds(self) -> None:
        """Not an object is absent but its path: the kind was removed, or is served elsewhere now."""
        self._discovery.forget()

    async def _fetch(self, path: str, headers: Mapping[str, str]) -> transport.HttpResponse:
        return await self._exchange.perform(
            transport.HttpCall(
                "GET",
                path,
                kube_errors.ApiTarget("discover", self.config.server, path=path),
                retry.Repeat.ALWAYS,
                headers=headers,
                expected=frozenset({304}),
            )
        )

    async def _place(self, api_version: str, kind: str, namespace: str | None) -> tuple[discovery.ApiResource, str]:
        resource = await self._discovery.find(api_version, kind)
        return resource, (namespace or self.config.namespace) if resource.is_namespaced else ""

    def _target(
        self, verb: str, api_version: str, kind: str, *, namespace: str = "", name: str = ""
    ) -> kube_errors.ApiTarget:
        return kube_errors.ApiTarget(verb, self.config.server, api_version, kind, namespace, name)
