import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import kube_errors, retry, transport, watch
from tests.unit.clients.kube import loopback
from tests.unit.clients.kube.loopback import (
    Clock,
    Reaction,
    Request,
    Reset,
    Respond,
    Stream,
    Truncate,
    config_map,
    status,
)


def raw(kind: str, item: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": item}) + b"\n"


def bookmark(version: int) -> bytes:
    return raw("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": str(version)}})


def failure(code: int, reason: str) -> bytes:
    return raw("ERROR", {"kind": "Status", "code": code, "reason": reason})


def listing(version: int, *items: dict[str, Any]) -> Respond:
    return Respond({"kind": "ConfigMapList", "metadata": {"resourceVersion": str(version)}, "items": list(items)})


class Cluster:
    """Answers listings and watches one after the other, and holds the last watch open."""

    def __init__(self, lists: list[Reaction], watches: list[Reaction]) -> None:
        self._lists = lists
        self._watches = watches
        self.positions: list[str] = []

    def __call__(self, request: Request) -> Reaction:
        if request.query.get("watch") != "true":
            return self._lists.pop(0)
        self.positions.append(request.query["resourceVersion"])
        assert request.query["allowWatchBookmarks"] == "true"
        return self._watches.pop(0) if self._watches else Stream((), hold=True)


def brief(event: kube.WatchEvent) -> tuple[str, str]:
    if isinstance(event, kube.Synced):
        return "Synced", event.resource_version
    metadata = event.object["metadata"]
    return type(event).__name__, f"{metadata['name']}@{metadata['resourceVersion']}"


@contextlib.asynccontextmanager
async def watching(cluster: Cluster, clock: Clock | None = None, **options: Any) -> AsyncIterator[Callable[[int], Any]]:
    """Gives a function that reads so many events."""
    async with (
        loopback.loopback(cluster) as server,
        loopback.client(server, clock=clock) as client,
        contextlib.aclosing(client.watch("v1", "ConfigMap", **options)) as events,
    ):

        async def take(count: int) -> list[tuple[str, str]]:
            async with asyncio.timeout(20):
                return [brief(await anext(events)) for _ in range(count)]

        yield take


async def test_first_what_is_there_then_what_changes() -> None:
    changes = Stream(
        (
            raw("ADDED", config_map("b", 6)),
            raw("MODIFIED", config_map("a", 7)) + raw("DELETED", config_map("b", 8)),
        ),
        hold=True,
    )
    cluster = Cluster([listing(5, config_map("a", 1))], [changes])

    async with watching(cluster) as take:
        events = await take(5)

    assert events == [
        ("Added", "a@1"),
        ("Synced", "5"),
        ("Added", "b@6"),
        ("Modified", "a@7"),
        ("Deleted", "b@8"),
    ]
    assert cluster.positions == ["5"]


@pytest.mark.parametrize(
    "end",
    [
        Stream((raw("ADDED", config_map("a", 6)),)),
        Stream((raw("ADDED", config_map("a", 6)), raw("ADDED", config_map("b", 7))[:30]), cut=True),
        Stream((raw("ADDED", config_map("a", 6)), raw("ADDED", config_map("b", 7))[:30])),
        Stream((raw("ADDED", config_map("a", 6)), b"{nonsense}\n")),
        Stream((raw("ADDED", config_map("a", 6)),), hold=True),
    ],
    ids=["end", "cut", "truncated", "nonsense", "silence"],
)
async def test_it_goes_on_where_it_was_after_a_cut(end: Reaction) -> None:
    again = Stream((raw("ADDED", config_map("a", 6)), raw("ADDED", config_map("b", 7))), hold=True)
    cluster = Cluster([listing(5)], [end, again])

    async with watching(cluster, idle_timeout=0.3) as take:
        events = await take(3)

    assert events == [("Synced", "5"), ("Added", "a@6"), ("Added", "b@7")]
    assert cluster.positions == ["5", "6"]


async def test_a_bookmark_is_where_it_goes_on() -> None:
    cluster = Cluster([listing(5)], [Stream((bookmark(90),)), Stream((raw("ADDED", config_map("a", 91)),), hold=True)])

    async with watching(cluster) as take:
        await take(2)

    assert cluster.positions == ["5", "90"]


@pytest.mark.parametrize(
    "gone",
    [
        status(410, "Expired"),
        Stream((failure(410, "Expired"),)),
        Stream((failure(500, "InternalError"),)),
        status(504, "Timeout", message="Too large resource version"),
        Stream((bookmark(3),)),
    ],
    ids=["status", "event", "internal", "too large", "backwards"],
)
async def test_when_its_place_is_lost_only_true_differences_are_said(gone: Reaction) -> None:
    lists = [
        listing(5, config_map("same", 1), config_map("changed", 2), config_map("gone", 3)),
        listing(20, config_map("same", 1), config_map("changed", 12), config_map("new", 13)),
    ]
    cluster = Cluster(list[Reaction](lists), [gone])

    async with watching(cluster) as take:
        await take(4)
        events = await take(3)

    assert sorted(events) == [("Added", "new@13"), ("Deleted", "gone@3"), ("Modified", "changed@12")]
    assert cluster.positions[0] == "5"


async def test_after_a_restart_it_lists_again_since_versions_may_have_gone_back() -> None:
    """The server is gone, and comes back on the same port with an older state."""
    clock = Clock()
    cut = asyncio.Event()
    before = Cluster([listing(50, config_map("a", 40), config_map("b", 41))], [])
    after = Cluster([listing(20, config_map("a", 10))], [])
    async with contextlib.AsyncExitStack() as stack:
        first = loopback.loopback(before)
        server = await first.__aenter__()
        client = await stack.enter_async_context(loopback.client(server, clock=clock))
        events = client.watch("v1", "ConfigMap", on_cut=lambda error: cut.set())
        assert [brief(await anext(events)) for _ in range(3)][-1] == ("Synced", "50")
        pending = asyncio.ensure_future(anext(events))
        await first.__aexit__(None, None, None)
        async with asyncio.timeout(20):
            await cut.wait()
            restarted = loopback.Loopback(after, None)
            listener = await asyncio.start_server(restarted.serve, "127.0.0.1", server.port)
            found = [brief(await pending), brief(await anext(events))]
        await events.aclose()
        listener.close()
        await restarted.end()

    assert sorted(found) == [("Deleted", "b@41"), ("Modified", "a@10")]


@pytest.mark.parametrize(("happened", "listings"), [(retry.AttemptEnd.NOT_SENT, 2), (retry.AttemptEnd.LOST, 1)])
async def test_a_refused_connection_means_a_restart_and_a_broken_one_does_not(
    happened: retry.AttemptEnd, listings: int
) -> None:
    target = kube_errors.ApiTarget("watch", "s", "v1", "ConfigMap")
    failure = transport.AttemptFailed(happened, errors.Unreachable("no"))
    streams: list[Any] = [[raw("ADDED", config_map("a", 6))], failure, [raw("ADDED", config_map("b", 7))]]
    fetched = 0

    async def fetch() -> tuple[tuple[dict[str, Any], ...], str]:
        nonlocal fetched
        fetched += 1
        return ((), "5") if fetched == 1 else ((config_map("a", 6),), "6")

    async def chunks(lines: list[bytes]) -> AsyncGenerator[bytes, None]:
        for line in lines:
            yield line

    @contextlib.asynccontextmanager
    async def connect(position: str) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        stream = streams.pop(0)
        if isinstance(stream, Exception):
            raise stream
        yield chunks(stream)

    async def pause(failures: int) -> None:
        await asyncio.sleep(0)

    following = watch.follow(target, fetch=fetch, connect=connect, pause=pause, on_cut=lambda error: None)
    async with contextlib.aclosing(following) as events:
        assert [brief(await anext(events)) for _ in range(3)][1:] == [("Added", "a@6"), ("Added", "b@7")]

    assert fetched == listings


async def test_a_server_that_stays_silent_is_asked_for_the_truth() -> None:
    """After an etcd restore a watch from a version that is yet to come says nothing at all."""
    lists: list[Reaction] = [listing(50, config_map("a", 40), config_map("b", 41)), listing(20, config_map("a", 10))]
    cluster = Cluster(lists, [])

    async with watching(cluster, idle_timeout=0.2) as take:
        await take(3)
        assert sorted(await take(2)) == [("Deleted", "b@41"), ("Modified", "a@10")]

    assert cluster.positions == ["50", "50"]


async def test_events_of_several_megabytes() -> None:
    big = raw("ADDED", config_map("a", 6, x="y" * 5_000_000))
    chunks = tuple(big[start : start + 100_000] for start in range(0, len(big), 100_000))
    cluster = Cluster([listing(5)], [Stream(chunks, hold=True)])

    async with watching(cluster) as take:
        assert await take(2) == [("Synced", "5"), ("Added", "a@6")]


async def test_the_pause_grows_while_nothing_comes_and_starts_anew_after_an_event() -> None:
    clock = Clock()
    cuts: list[Exception] = []
    broken: list[Reaction] = [status(503), Reset(), status(429), Stream(())]
    working = Stream((raw("ADDED", config_map("a", 6)),))
    last = Stream((raw("ADDED", config_map("b", 7)),), hold=True)
    cluster = Cluster([listing(5)] * 4, [*broken, working, status(503), last])

    async with watching(cluster, clock, on_cut=cuts.append) as take:
        await take(3)

    assert clock.sleeps == [0.1, 0.2, 0.4, 0.8, 0.1]
    assert [type(error) for error in cuts] == [
        kube.ServerError,
        errors.Unreachable,
        kube.TooManyRequests,
        kube.ServerError,
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (status(403, "Forbidden"), kube.Forbidden),
        (status(401, "Unauthorized"), kube.Unauthorized),
        (status(404, "NotFound"), kube.NotFound),
        (Stream((failure(403, "Forbidden"),)), kube.Forbidden),
        (Stream((failure(401, "Unauthorized"),)), kube.Unauthorized),
    ],
    ids=repr,
)
async def test_what_waiting_does_not_change_is_raised(answer: Reaction, expected: type[Exception]) -> None:
    # Twice: credentials that were good for the listing are tried once more after a 401.
    async with watching(Cluster([listing(5)], [answer, answer])) as take:
        await take(1)
        with pytest.raises(expected):
            await take(1)


async def test_a_first_listing_that_fails_is_raised() -> None:
    async with watching(Cluster([status(403, "Forbidden")], [])) as take:
        with pytest.raises(kube.Forbidden, match="list ConfigMap"):
            await take(1)


async def test_a_second_listing_that_fails_is_tried_until_it_works() -> None:
    lists: list[Reaction] = [listing(5, config_map("a", 1)), *[Truncate({"items": "x" * 99})] * 3, listing(9)]
    cluster = Cluster(lists, [status(410, "Expired")])

    async with watching(cluster) as take:
        assert (await take(3))[-1] == ("Deleted", "a@1")


async def test_a_refused_token_is_renewed_on_the_way(tmp_path: Any) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    changes = Stream((raw("ADDED", config_map("a", 6)),), hold=True)

    def react(request: Request) -> Reaction:
        if request.query.get("watch") != "true":
            return listing(5)
        if request.header("Authorization") == "Bearer new":
            return changes
        path.write_text("new")
        return status(401, "Unauthorized")

    async with loopback.loopback(react) as server, loopback.client(server, token_file=path) as client:
        events = client.watch("v1", "ConfigMap")
        assert [brief(await anext(events)) for _ in range(2)][-1] == ("Added", "a@6")
        await events.aclose()


async def test_selectors_and_metadata_only() -> None:
    partial = {**config_map("a", 6), "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
    seen: list[Request] = []
    cluster = Cluster([listing(5)], [Stream((raw("ADDED", partial),), hold=True)])

    def react(request: Request) -> Reaction:
        seen.append(request)
        return cluster(request)

    async with loopback.loopback(react) as server, loopback.client(server) as client:
        events = client.watch("v1", "ConfigMap", namespace="n", labels="a=b", fields="c=d", metadata_only=True)
        await anext(events)
        event = await anext(events)
        await events.aclose()

    assert event == kube.Added({"apiVersion": "v1", "kind": "ConfigMap", "metadata": partial["metadata"]})
    assert seen[1].path == "/api/v1/namespaces/n/configmaps"
    assert (seen[1].query["labelSelector"], seen[1].query["fieldSelector"]) == ("a=b", "c=d")
    assert "PartialObjectMetadata;" in seen[1].header("Accept")


async def test_a_watch_takes_no_turn_of_the_limiter() -> None:
    cluster = Cluster([listing(5)], [])
    is_open = asyncio.Event()

    def react(request: Request) -> Reaction:
        if request.query.get("watch") == "true":
            is_open.set()
        return cluster(request)

    async with loopback.loopback(react) as server, loopback.client(server) as client:
        events = client.watch("v1", "ConfigMap")
        await anext(events)
        pending = asyncio.ensure_future(anext(events))
        async with asyncio.timeout(20):
            await is_open.wait()
        assert client.limiter.under_way == 0
        pending.cancel()
        await asyncio.wait([pending])


def test_the_idle_timeout_is_longer_than_bookmarks_take() -> None:
    assert watch.IDLE_TIMEOUT > 90
