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
from typing import Any, Literal, Self, assert_never

from firstlight import errors
from firstlight.clients.kube import (
    concurrency,
    credentials,
    discovery,
    encoding,
    lines,
    retry,
    subset,
    tracking,
    transport,
    watch,
)
from firstlight.clients.kube import config as configs
from firstlight.clients.kube import errors as kube_errors

Object = dict[str, Any]

PatchForm = Literal["merge", "json", "strategic"]
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
class Listing:
    """Objects, and the resource version at which they were all there."""

    items: tuple[Object, ...]
    resource_version: str


@dataclasses.dataclass(frozen=True)
class Readiness:
    """What ``/readyz`` says."""

    is_ready: bool
    failed: tuple[str, ...] = ()
    """The names of the checks that fail."""


class Client:
    """A connection to one API server as one identity."""

    def __init__(
        self,
        config: configs.Config,
        *,
        policy: retry.Policy | None = None,
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
            environ: Where proxies are looked up.
            now: The wall clock, for the expiry of credentials.
            clock: The clock for deadlines.
            sleep: How to wait.
            jitter: Random numbers from 0 to 1.
        """
        self.config = config
        self.limiter = concurrency.Limiter()
        self._policy = policy or retry.Policy()
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._transport = transport.Transport(
            config, source=credentials.source(config, now=now), policy=self._policy, environ=environ
        )
        self._discovery = discovery.Discovery(self._fetch, server=config.server)
        self._is_server_known = False

    async def __aenter__(self) -> Self:
        await self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

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
        call = transport.Call(
            "GET",
            resource.path(namespace=place, name=_required(name), subresource=subresource),
            self._target("get", api_version, kind, namespace=place, name=name),
            retry.Repeat.ALWAYS,
            headers=_accept("PartialObjectMetadata" if metadata_only else ""),
        )
        found = _object(await self._perform(call), call)
        return _as_metadata(found, resource) if metadata_only else found

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
    ) -> Listing:
        """All objects of a kind, in a namespace or in all of them; consistent, over all pages."""
        resource = await self._discovery.find(api_version, kind)
        call = transport.Call(
            "GET",
            resource.path(namespace=namespace or ""),
            self._target("list", api_version, kind, namespace=namespace or ""),
            retry.Repeat.ALWAYS,
            params=_selectors(labels, fields),
            headers=_accept("PartialObjectMetadataList" if metadata_only else ""),
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
        idle_timeout: float = watch.IDLE_TIMEOUT,
        on_cut: watch.OnCut = lambda error: None,
    ) -> AsyncGenerator[tracking.Event, None]:
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
            call = transport.Call(
                "GET",
                resource.path(namespace=namespace or ""),
                target,
                retry.Repeat.ALWAYS,
                params=(
                    ("watch", "true"),
                    ("resourceVersion", position),
                    ("allowWatchBookmarks", "true"),
                    ("timeoutSeconds", str(seconds)),
                    *_selectors(labels, fields),
                ),
                headers=_accept("PartialObjectMetadata" if metadata_only else ""),
            )
            async with self._stream(call, idle_timeout=idle_timeout) as chunks:
                yield chunks

        async def pause(failures: int) -> None:
            await self._sleep(retry.delay(failures, retry_after=None, policy=self._policy, jitter=self._jitter()))

        events = watch.follow(target, fetch=fetch, connect=connect, pause=pause, on_cut=on_cut)
        return _metadata_events(events, api_version, kind) if metadata_only else events

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
        call = transport.Call(
            "GET",
            resource.path(namespace=place, name=_required(name), subresource="log"),
            self._target("read the logs of", "v1", "Pod", namespace=place, name=name),
            retry.Repeat.ALWAYS,
            params=tuple((key, value) for key, value in wanted.items() if value),
        )
        splitter = lines.Splitter(keep_empty=True)
        try:
            async with self._stream(call, idle_timeout=idle_timeout) as chunks:
                async for chunk in chunks:
                    for line in splitter.feed(chunk):
                        yield line.decode(errors="replace")
        except transport.Failed as failure:
            raise failure.error from failure
        if rest := splitter.rest():
            yield rest.decode(errors="replace")

    async def resource(self, api_version: str, kind: str) -> discovery.Resource:
        """How a kind is served.

        Raises:
            kube_errors.UnknownKind: It is not.
        """
        return await self._discovery.find(api_version, kind)

    async def catalog(self, *, refresh: bool = False) -> discovery.Catalog:
        """All that the server serves; ``refresh`` looks again, which costs two small requests."""
        catalog = await self._discovery.catalog()
        return await self._discovery.refresh(seen=catalog) if refresh else catalog

    async def version(self) -> dict[str, Any]:
        """What ``/version`` says."""
        document = (await self.request("GET", "/version")).document
        return document if isinstance(document, dict) else {}

    async def ready(self) -> Readiness:
        """What ``/readyz`` says, asked once.

        Raises:
            errors.Unreachable: Nothing answers.
        """
        call = transport.Call(
            "GET",
            "/readyz",
            kube_errors.Target("get", self.config.server, path="/readyz"),
            retry.Repeat.NEVER,
            expected=frozenset({429, 500, 502, 503, 504}),
        )
        answer = await self._perform(call)
        if answer.status == 200:
            return Readiness(is_ready=True)
        text = answer.body.decode(errors="replace")
        failed = tuple(line[3:].split(" ", 1)[0] for line in text.splitlines() if line.startswith("[-]"))
        return Readiness(is_ready=False, failed=failed)

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
        api_version, kind, name, metadata = _identity(obj)
        resource, place = await self._place(api_version, kind, metadata.get("namespace"))
        is_guarded = bool(metadata.get("resourceVersion") or metadata.get("uid"))
        params = [*_write_params(manager, dry_run), ("force", "true" if force else "false")]
        call = transport.Call(
            "PATCH",
            resource.path(namespace=place, name=_required(name), subresource=subresource),
            self._target("apply", api_version, kind, namespace=place, name=name),
            _repeat(is_guarded=is_guarded, dry_run=dry_run),
            params=tuple(params),
            headers={"Content-Type": "application/apply-patch+yaml", "Accept": "application/json"},
            body=encoding.as_apply(obj),
        )
        return _object(await self._perform(call), call)

    async def create(self, obj: Mapping[str, Any], *, manager: str, dry_run: bool = False) -> Object:
        """Create an object that must not be there yet.

        If the answer is lost, the object is looked up: if it is there and holds what was sent, it is the
        answer.

        Raises:
            kube_errors.AlreadyExists: One of that name is there.
            kube_errors.Ambiguous: The answer was lost, and without a name it cannot be looked up.
        """
        api_version, kind, name, metadata = _identity(obj)
        resource, place = await self._place(api_version, kind, metadata.get("namespace"))
        target = self._target("create", api_version, kind, namespace=place, name=name)
        call = transport.Call(
            "POST",
            resource.path(namespace=place),
            target,
            retry.Repeat.ALWAYS if dry_run else retry.Repeat.READ_BACK if name else retry.Repeat.NEVER,
            params=_write_params(manager, dry_run),
            headers={**_JSON, "Accept": "application/json"},
            body=encoding.as_json(obj),
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

        async def look() -> transport.Answer | None:
            answer = await self._perform(there)
            if answer.status == 404:
                return None
            if subset.is_object_subset(obj, answer.document):
                return answer
            raise kube_errors.AlreadyExists(
                target,
                code=409,
                reason="AlreadyExists",
                detail="an object of that name with other content is there",
            )

        return _object(await self._perform(call, look=look), call)

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
        call = transport.Call(
            "PATCH",
            resource.path(namespace=place, name=_required(name), subresource=subresource),
            self._target("patch", api_version, kind, namespace=place, name=name),
            _patch_repeat(body, form=form, dry_run=dry_run),
            params=_write_params(manager, dry_run),
            headers={"Content-Type": _PATCH_TYPES[form], "Accept": "application/json"},
            body=encoding.as_json(body),
        )
        return _object(await self._perform(call), call)

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
        call = transport.Call(
            "DELETE",
            resource.path(namespace=place, name=_required(name)),
            self._target("delete", api_version, kind, namespace=place, name=name),
            retry.Repeat.ALWAYS,
            headers={**_JSON, "Accept": "application/json"},
            body=encoding.as_json(options),
        )
        return _object(await self._perform(call), call)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        repeat: retry.Repeat | None = None,
    ) -> transport.Answer:
        """A raw request, repeated only if it reads or ``repeat`` says how.

        Raises:
            kube_errors.ApiError: The answer is not of the 200s.
        """
        is_read = method in {"GET", "HEAD"}
        call = transport.Call(
            method,
            path,
            kube_errors.Target(method, self.config.server, path=path),
            repeat or (retry.Repeat.ALWAYS if is_read else retry.Repeat.NEVER),
            params=tuple((params or {}).items()),
            headers=headers if headers is not None else {} if body is None else _JSON,
            body=body,
        )
        return await self._perform(call)

    # How it is sent

    async def _perform(
        self, call: transport.Call, *, look: Callable[[], Awaitable[transport.Answer | None]] | None = None
    ) -> transport.Answer:
        """Send a request until it has an answer, as ``retry`` says."""
        past = retry.Past(attempts=0)
        is_doubtful = False
        while True:
            credential = await self._transport.credential()
            outcome, answer, error, seconds = await self._attempt(call, credential, elapsed=past.elapsed)
            past = dataclasses.replace(
                past,
                attempts=past.attempts + 1,
                elapsed=past.elapsed + seconds,
                is_server_known=self._is_server_known,
            )
            if answer is not None and error is None:
                return answer
            assert error is not None
            step = retry.decide(call.repeat, outcome, past=past, policy=self._policy, jitter=self._jitter())
            if is_doubtful and isinstance(step, retry.Stop):
                settled = await self._settle(call, error, answer, look=look)
                if settled is not None:
                    return settled
            is_doubtful = is_doubtful or retry.may_be_done(outcome)
            begun = self._clock()
            match step:
                case retry.Stop():
                    raise error
                case retry.Doubt():
                    raise kube_errors.Ambiguous(call.target, because=_after_target(error, call)) from error
                case retry.Refresh():
                    past = dataclasses.replace(past, is_refreshed=True)
                    if not await self._transport.renew(credential):
                        raise error
                case retry.Again(delay=delay):
                    await self._sleep(delay)
                case retry.LookThenAgain(delay=delay):
                    await self._sleep(delay)
                    assert look is not None
                    there = await look()
                    if there is not None:
                        return there
                case _:
                    assert_never(step)
            past = dataclasses.replace(past, elapsed=past.elapsed + self._clock() - begun)

    async def _settle(
        self,
        call: transport.Call,
        error: errors.ClientError,
        answer: transport.Answer | None,
        *,
        look: Callable[[], Awaitable[transport.Answer | None]] | None,
    ) -> transport.Answer | None:
        """An error can be the trace of an earlier attempt that was carried out after all."""
        if call.method == "DELETE" and isinstance(error, kube_errors.NotFound):
            return answer
        if look is not None and isinstance(error, kube_errors.AlreadyExists):
            return await look()
        if call.repeat is retry.Repeat.GUARDED and isinstance(error, kube_errors.Conflict | kube_errors.Invalid):
            raise kube_errors.Ambiguous(
                call.target,
                because=f"the answer was lost, and a repeat was refused ({error.code} {error.reason})",
            ) from error
        return None

    async def _attempt(
        self, call: transport.Call, credential: credentials.Credential, *, elapsed: float
    ) -> tuple[retry.Outcome, transport.Answer | None, errors.ClientError | None, float]:
        async with self.limiter.slot() as slot:
            # Counted from here: waiting for a turn is no fault of the server.
            begun = self._clock()
            timeout = max(0.001, min(self._policy.attempt, self._policy.deadline - elapsed))
            try:
                answer = await self._transport.send(call, credential, timeout=timeout)
            except transport.Failed as failure:
                if failure.happened is retry.Happened.SLOW:
                    slot.congested()
                return retry.Outcome(failure.happened), None, failure.error, self._clock() - begun
            self._is_server_known = True
            seconds = self._clock() - begun
            if answer.status == 429:
                slot.congested()
        if answer.status < 300 or answer.status in call.expected:
            return retry.Outcome(retry.Happened.ANSWERED, code=answer.status), answer, None, seconds
        error = self._error(call, answer)
        outcome = retry.Outcome(
            retry.Happened.ANSWERED,
            code=error.code,
            reason=error.reason,
            retry_after=error.retry_after,
            has_field_conflicts=isinstance(error, kube_errors.Conflict) and error.is_field_conflict,
        )
        return outcome, answer, error, seconds

    @contextlib.asynccontextmanager
    async def _stream(self, call: transport.Call, *, idle_timeout: float) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """An open answer, without repeats but for one after a 401; it takes no turn of the limiter."""
        credential = await self._transport.credential()
        for is_last in (False, True):
            async with self._transport.stream(call, credential, idle_timeout=idle_timeout) as (
                chunks,
                answer,
            ):
                self._is_server_known = True
                if answer is None:
                    yield chunks
                    return
                if answer.status != 401 or is_last or not await self._transport.renew(credential):
                    raise self._error(call, answer)
            credential = await self._transport.credential()

    def _error(self, call: transport.Call, answer: transport.Answer) -> kube_errors.ApiError:
        text = "" if answer.document is not None else answer.body.decode(errors="replace")
        error = kube_errors.from_status(
            call.target, answer.document, code=answer.status, retry_after=answer.retry_after, text=text
        )
        if isinstance(error, kube_errors.NotFound) and call.target.kind and not error.involved.name:
            # Not the object is absent but the path: its kind was removed, or is served elsewhere now.
            self._discovery.forget()
        return error

    async def _fetch(self, path: str, headers: Mapping[str, str]) -> transport.Answer:
        return await self._perform(
            transport.Call(
                "GET",
                path,
                kube_errors.Target("discover", self.config.server, path=path),
                retry.Repeat.ALWAYS,
                headers=headers,
                expected=frozenset({304}),
            )
        )

    async def _pages(
        self, call: transport.Call, resource: discovery.Resource, *, limit: int, metadata_only: bool
    ) -> Listing:
        items: builtins.list[Object] = []
        token = ""
        while True:
            params = [*call.params, ("limit", str(limit))] if limit else [*call.params]
            if token:
                params.append(("continue", token))
            page = _object(await self._perform(dataclasses.replace(call, params=tuple(params))), call)
            for item in page.get("items") or ():
                # Items of built-in kinds come without their names.
                named = {**item, "apiVersion": resource.api_version, "kind": resource.kind}
                items.append(_as_metadata(named, resource) if metadata_only else named)
            metadata = page.get("metadata") or {}
            token = metadata.get("continue") or ""
            if not token:
                return Listing(tuple(items), metadata.get("resourceVersion") or "")

    async def _place(self, api_version: str, kind: str, namespace: str | None) -> tuple[discovery.Resource, str]:
        resource = await self._discovery.find(api_version, kind)
        return resource, (namespace or self.config.namespace) if resource.is_namespaced else ""

    def _target(
        self, verb: str, api_version: str, kind: str, *, namespace: str = "", name: str = ""
    ) -> kube_errors.Target:
        return kube_errors.Target(verb, self.config.server, api_version, kind, namespace, name)


def _repeat(*, is_guarded: bool, dry_run: bool) -> retry.Repeat:
    if not is_guarded:
        return retry.Repeat.CONVERGENT
    return retry.Repeat.ALWAYS if dry_run else retry.Repeat.GUARDED


def _patch_repeat(
    body: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, form: PatchForm, dry_run: bool
) -> retry.Repeat:
    if isinstance(body, Mapping):
        metadata = body.get("metadata") or {}
        return _repeat(is_guarded=bool(metadata.get("resourceVersion") or metadata.get("uid")), dry_run=dry_run)
    if dry_run:
        return retry.Repeat.ALWAYS
    is_guarded = any(
        operation.get("op") == "test" or operation.get("path") == "/metadata/resourceVersion" for operation in body
    )
    return retry.Repeat.GUARDED if is_guarded else retry.Repeat.NEVER


def _write_params(manager: str, dry_run: bool) -> tuple[tuple[str, str], ...]:
    return (("fieldManager", manager), *((("dryRun", "All"),) if dry_run else ()))


def _selectors(labels: str, fields: str) -> tuple[tuple[str, str], ...]:
    wanted = (("labelSelector", labels), ("fieldSelector", fields))
    return tuple(pair for pair in wanted if pair[1])


def _accept(partial: str) -> dict[str, str]:
    if not partial:
        return {"Accept": "application/json"}
    # An aggregated API that cannot reduce its objects sends them whole; they are reduced here.
    return {"Accept": f"application/json;as={partial};g=meta.k8s.io;v=v1,application/json"}


def _as_metadata(found: Object, resource: discovery.Resource) -> Object:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": found.get("metadata") or {},
    }


async def _metadata_events(
    events: AsyncGenerator[tracking.Event, None], api_version: str, kind: str
) -> AsyncGenerator[tracking.Event, None]:
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, tracking.Synced):
                yield event
            else:
                reduced = {
                    "apiVersion": api_version,
                    "kind": kind,
                    "metadata": event.object.get("metadata") or {},
                }
                yield type(event)(reduced)


def _identity(obj: Mapping[str, Any]) -> tuple[str, str, str, Mapping[str, Any]]:
    metadata = obj.get("metadata") or {}
    api_version, kind, name = obj.get("apiVersion"), obj.get("kind"), metadata.get("name")
    if not api_version or not kind or not (name or metadata.get("generateName")):
        raise errors.ClientError(
            f"an object needs apiVersion, kind and a name; this one has {api_version!r}, {kind!r}, {name!r}"
        )
    return str(api_version), str(kind), str(name or ""), metadata


def _required(name: str) -> str:
    """An empty name would turn a request for one object into one for all of them."""
    if not name:
        raise errors.ClientError("the name of the object is empty")
    return name


def _object(answer: transport.Answer, call: transport.Call) -> Object:
    if isinstance(answer.document, dict):
        return answer.document
    raise errors.ClientError(f"{call.target}: the answer is no JSON object", target=call.target.server)


def _after_target(error: errors.ClientError, call: transport.Call) -> str:
    return error.message.removeprefix(f"{call.target}: ")
