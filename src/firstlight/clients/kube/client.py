"""The Kubernetes API: methods named for its verbs, plain dicts in and out.

``async with kube.Client(config) as client``. Kinds are found by discovery, what may pass is repeated as
``retry`` says, and every other answer is an exception of ``kube.errors``. A namespaced object without a
namespace is meant to be in the namespace of the context, as in kubectl.
"""

import asyncio
import builtins
import contextlib
import dataclasses
import os
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Self

from firstlight.clients.kube import (
    api_request,
    client_config,
    concurrency,
    credentials,
    discovery,
    exchange,
    kube_errors,
    retry,
    transport,
    watch_tracker,
)
from firstlight.clients.kube import watch as kube_watch

Object = api_request.Object
PatchForm = api_request.PatchForm
Propagation = Literal["Background", "Foreground", "Orphan"]

_PATCH_TYPES: Mapping[PatchForm, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}

_JSON = {"Content-Type": "application/json"}

_WATCH_SECONDS = 300
"""How long the server keeps a watch; spread up to the double, so that not all end together."""


@dataclasses.dataclass(frozen=True)
class ObjectListing:
    """Objects, and the resource version at which they were all there."""

    items: tuple[Object, ...]
    resource_version: str


@dataclasses.dataclass(frozen=True)
class ServerReadiness:
    """What ``/readyz`` says."""

    is_ready: bool
    failed: tuple[str, ...] = ()
    """The names of the checks that fail."""


class Client:
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
    def limiter(self) -> concurrency.RequestLimiter:
        """How many requests may be under way at once, as the server bears it."""
        return self._exchange.limiter

    async def __aenter__(self) -> Self:
        await self._exchange.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exchange.close()

    # What is there

    async def get(
        self,
        api_version: str,
        kind: str,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> Object:
        """One object.

        Raises:
            kube_errors.NotFound: It is not there.
        """
        resource, place = await self._place(api_version, kind, namespace)
        call = transport.HttpCall(
            "GET",
            resource.path(namespace=place, name=api_request.required(name), subresource=subresource),
            self._target("get", api_version, kind, namespace=place, name=name),
            retry.Repeat.ALWAYS,
            headers=api_request.accept("PartialObjectMetadata" if metadata_only else ""),
        )
        found = api_request.as_object(await self._exchange.perform(call), call)
        return api_request.as_metadata(found, resource) if metadata_only else found

    async def list(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        limit: int = 500,
        metadata_only: bool = False,
    ) -> ObjectListing:
        """All objects of a kind, in a namespace or in all of them; consistent, over all pages."""
        resource = await self._discovery.find(api_version, kind)
        call = transport.HttpCall(
            "GET",
            resource.path(namespace=namespace or ""),
            self._target("list", api_version, kind, namespace=namespace or ""),
            retry.Repeat.ALWAYS,
            params=api_request.selectors(labels, fields),
            headers=api_request.accept("PartialObjectMetadataList" if metadata_only else ""),
        )
        try:
            return await self._pages(call, resource, limit=limit, metadata_only=metadata_only)
        except kube_errors.Gone:
            # The pages took longer than the server remembers. The second time everything comes at once.
            return await self._pages(call, resource, limit=0, metadata_only=metadata_only)

    def watch(
        self,
        api_version: str,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        idle_timeout: float = kube_watch.IDLE_TIMEOUT,
        on_cut: kube_watch.OnCut = lambda error: None,
    ) -> AsyncGenerator[watch_tracker.WatchEvent, None]:
        """What is there as ``Added``, then ``Synced``, then every change for ever, across cuts and restarts.

        Args:
            api_version: Of the kind.
            kind: What to watch.
            namespace: Where; everywhere if it is not given.
            labels: A label selector.
            fields: A field selector.
            metadata_only: Leave out all but the metadata.
            idle_timeout: Seconds of silence after which the connection counts as dead.
            on_cut: Told why a connection ended in an error, while the watch goes on.

        Raises:
            kube_errors.ApiError: The server says something that waiting does not change, such as 401 or 403.
            errors.ClientError: The first listing fails.
        """
        target = self._target("watch", api_version, kind, namespace=namespace or "")

        async def fetch() -> tuple[tuple[Object, ...], str]:
            listing = await self.list(
                api_version,
                kind,
                namespace=namespace,
                labels=labels,
                fields=fields,
                metadata_only=metadata_only,
            )
            return listing.items, listing.resource_version

        @contextlib.asynccontextmanager
        async def connect(position: str) -> AsyncIterator[AsyncGenerator[bytes, None]]:
            resource = await self._discovery.find(api_version, kind)
            seconds = round(_WATCH_SECONDS * (1 + self._jitter()))
            call = transport.HttpCall(
                "GET",
                resource.path(namespace=namespace or ""),
                target,
                retry.Repeat.ALWAYS,
                params=(
                    ("watch", "true"),
                    ("resourceVersion", position),
                    ("allowWatchBookmarks", "true"),
                    ("timeoutSeconds", str(seconds)),
                    *api_request.selectors(labels, fields),
                ),
                headers=api_request.accept("PartialObjectMetadata" if metadata_only else ""),
            )
            async with self._exchange.stream(call, idle_timeout=idle_timeout) as chunks:
                yield chunks

        async def pause(failures: int) -> None:
            await self._sleep(retry.delay(failures, retry_after=None, policy=self._policy, jitter=self._jitter()))

        events = kube_watch.follow(target, fetch=fetch, connect=connect, pause=pause, on_cut=on_cut)
        return api_request.metadata_events(events, api_version, kind) if metadata_only else events

    async def logs(
        self,
        name: str,
        *,
        namespace: str | None = None,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        tail: int | None = None,
        timestamps: bool = False,
        idle_timeout: float = 3600,
    ) -> AsyncGenerator[str, None]:
        """The lines that a pod's container printed, without their ends."""
        resource, place = await self._place("v1", "Pod", namespace)
        wanted = {
            "container": container,
            "follow": "true" if follow else "",
            "previous": "true" if previous else "",
            "tailLines": "" if tail is None else str(tail),
            "timestamps": "true" if timestamps else "",
        }
        call = transport.HttpCall(
            "GET",
            resource.path(namespace=place, name=api_request.required(name), subresource="log"),
            self._target("read the logs of", "v1", "Pod", namespace=place, name=name),
            retry.Repeat.ALWAYS,
            params=tuple((key, value) for key, value in wanted.items() if value),
        )
        splitter = kube_watch.LineSplitter(keep_empty=True)
        try:
            async with self._exchange.stream(call, idle_timeout=idle_timeout) as chunks:
                async for chunk in chunks:
                    for line in splitter.feed(chunk):
                        yield line.decode(errors="replace")
        except transport.AttemptFailed as failure:
            raise failure.error from failure
        if rest := splitter.rest():
            yield rest.decode(errors="replace")

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

    # What is to be

    async def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        force: bool = False,
        dry_run: bool = False,
        subresource: str = "",
    ) -> Object:
        """Server-side apply: the fields of ``obj`` are the manager's, and those it no longer has are dropped.

        Raises:
            kube_errors.Conflict: Another manager owns a field, and ``force`` is not set.
            kube_errors.Invalid: A field is wrong.
        """
        api_version, kind, name, metadata = api_request.identity(obj)
        resource, place = await self._place(api_version, kind, metadata.get("namespace"))
        is_guarded = bool(metadata.get("resourceVersion") or metadata.get("uid"))
        params = [*api_request.write_params(manager, dry_run), ("force", "true" if force else "false")]
        call = transport.HttpCall(
            "PATCH",
            resource.path(namespace=place, name=api_request.required(name), subresource=subresource),
            self._target("apply", api_version, kind, namespace=place, name=name),
            api_request.repeat(is_guarded=is_guarded, dry_run=dry_run),
            params=tuple(params),
            headers={"Content-Type": "application/apply-patch+yaml", "Accept": "application/json"},
            body=api_request.as_apply(obj),
        )
        return api_request.as_object(await self._exchange.perform(call), call)

    async def create(self, obj: Mapping[str, Any], *, manager: str, dry_run: bool = False) -> Object:
        """Create an object that must not be there yet.

        If the answer is lost, the object is looked up: if it is there and holds what was sent, it is the
        answer.

        Raises:
            kube_errors.AlreadyExists: One of that name is there.
            kube_errors.Ambiguous: The answer was lost, and without a name it cannot be looked up.
        """
        api_version, kind, name, metadata = api_request.identity(obj)
        resource, place = await self._place(api_version, kind, metadata.get("namespace"))
        target = self._target("create", api_version, kind, namespace=place, name=name)
        call = transport.HttpCall(
            "POST",
            resource.path(namespace=place),
            target,
            retry.Repeat.ALWAYS if dry_run else retry.Repeat.READ_BACK if name else retry.Repeat.NEVER,
            params=api_request.write_params(manager, dry_run),
            headers={**_JSON, "Accept": "application/json"},
            body=api_request.as_json(obj),
        )
        there = dataclasses.replace(
            call,
            method="GET",
            path=resource.path(namespace=place, name=name),
            repeat=retry.Repeat.ALWAYS,
            params=(),
            body=None,
            expected=frozenset({404}),
        )

        async def look() -> transport.HttpResponse | None:
            answer = await self._exchange.perform(there)
            if answer.status == 404:
                return None
            if api_request.is_object_subset(obj, answer.document):
                return answer
            raise kube_errors.AlreadyExists(
                target,
                code=409,
                reason="AlreadyExists",
                detail="an object of that name with other content is there",
            )

        return api_request.as_object(await self._exchange.perform(call, look=look), call)

    async def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        form: PatchForm = "merge",
        manager: str,
        namespace: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Change parts of an object.

        Raises:
            kube_errors.NotFound: It is not there.
            kube_errors.Ambiguous: The answer was lost, and a JSON patch without a ``test`` cannot be
                repeated.
        """
        resource, place = await self._place(api_version, kind, namespace)
        call = transport.HttpCall(
            "PATCH",
            resource.path(namespace=place, name=api_request.required(name), subresource=subresource),
            self._target("patch", api_version, kind, namespace=place, name=name),
            api_request.patch_repeat(body, form=form, dry_run=dry_run),
            params=api_request.write_params(manager, dry_run),
            headers={"Content-Type": _PATCH_TYPES[form], "Accept": "application/json"},
            body=api_request.as_json(body),
        )
        return api_request.as_object(await self._exchange.perform(call), call)

    async def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        *,
        namespace: str | None = None,
        propagation: Propagation = "Background",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        """Delete an object; what comes back is its last state, or a Status.

        Raises:
            kube_errors.NotFound: It is not there.
            kube_errors.Conflict: It is another one than ``uid`` or ``resource_version`` say.
        """
        resource, place = await self._place(api_version, kind, namespace)
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if any(preconditions.values()):
            options["preconditions"] = {key: value for key, value in preconditions.items() if value}
        call = transport.HttpCall(
            "DELETE",
            resource.path(namespace=place, name=api_request.required(name)),
            self._target("delete", api_version, kind, namespace=place, name=name),
            retry.Repeat.ALWAYS,
            headers={**_JSON, "Accept": "application/json"},
            body=api_request.as_json(options),
        )
        return api_request.as_object(await self._exchange.perform(call), call)

    async def evict(self, name: str, *, namespace: str, uid: str = "") -> None:
        """Ask for a pod to end, as its disruption budgets allow.

        Asked once: that a budget says no is an answer, not a reason to ask again at once.

        Args:
            name: The pod.
            namespace: Where it is.
            uid: Which one is meant; one of the same name that came after it is left alone.

        Raises:
            kube_errors.TooManyRequests: Not now: a budget holds it, or the server is busy; ``causes`` tell.
            kube_errors.NotFound: It is not there.
            kube_errors.Conflict: It is another one than ``uid`` says.
        """
        resource, place = await self._place("v1", "Pod", namespace)
        metadata = {"name": name, "namespace": place}
        eviction: Object = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        if uid:
            eviction["deleteOptions"] = {"preconditions": {"uid": uid}}
        call = transport.HttpCall(
            "POST",
            resource.path(namespace=place, name=api_request.required(name), subresource="eviction"),
            self._target("evict", "v1", "Pod", namespace=place, name=name),
            retry.Repeat.ALWAYS if uid else retry.Repeat.NEVER,
            headers={**_JSON, "Accept": "application/json"},
            body=api_request.as_json(eviction),
            expected=frozenset({429}),
        )
        answer = await self._exchange.perform(call)
        if answer.status == 429:
            raise kube_errors.from_status(call.target, answer.document, code=429, retry_after=answer.retry_after)

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
            headers=headers if headers is not None else {} if body is None else _JSON,
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

    async def _pages(
        self, call: transport.HttpCall, resource: discovery.ApiResource, *, limit: int, metadata_only: bool
    ) -> ObjectListing:
        items: builtins.list[Object] = []
        token = ""
        while True:
            params = [*call.params, ("limit", str(limit))] if limit else [*call.params]
            if token:
                params.append(("continue", token))
            page = api_request.as_object(
                await self._exchange.perform(dataclasses.replace(call, params=tuple(params))), call
            )
            for item in page.get("items") or ():
                # Items of built-in kinds come without their names.
                named = {**item, "apiVersion": resource.api_version, "kind": resource.kind}
                items.append(api_request.as_metadata(named, resource) if metadata_only else named)
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            if not token:
                return ObjectListing(tuple(items), metadata.get("resourceVersion") or "")

    async def _place(self, api_version: str, kind: str, namespace: str | None) -> tuple[discovery.ApiResource, str]:
        resource = await self._discovery.find(api_version, kind)
        return resource, (namespace or self.config.namespace) if resource.is_namespaced else ""

    def _target(
        self, verb: str, api_version: str, kind: str, *, namespace: str = "", name: str = ""
    ) -> kube_errors.ApiTarget:
        return kube_errors.ApiTarget(verb, self.config.server, api_version, kind, namespace, name)
