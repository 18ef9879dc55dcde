"""Objects of the Kubernetes API as they are: one, all of a kind, every change from now on, and the logs of pods."""

import builtins
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator

from firstlight.clients.kube import (
    api_request,
    discovery,
    kube_errors,
    retry,
    transport,
    watch_tracker,
)
from firstlight.clients.kube import watch as kube_watch
from firstlight.clients.kube.connection import ApiConnection

Object = api_request.Object

_WATCH_SECONDS = 300
"""How long the server keeps a watch; spread up to the double, so that not all end together."""


@dataclasses.dataclass(frozen=True)
class ObjectListing:
    """Objects, and the resource version at which they were all there."""

    items: tuple[Object, ...]
    resource_version: str


class ObjectReader(ApiConnection):
    """The verbs that change nothing."""

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
