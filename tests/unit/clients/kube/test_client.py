import asyncio
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import client_config
from firstlight.model.secret import Secret
from tests.unit.clients.kube import loopback
from tests.unit.clients.kube.loopback import (
    Clock,
    Reaction,
    Request,
    Reset,
    Respond,
    Stall,
    Stream,
    Text,
    Truncate,
    config_map,
    script,
    status,
)

Do = Callable[[kube.Client], Any]

LIVE = config_map(x="1")
WANTED: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}


def get(client: kube.Client) -> Any:
    return client.get("v1", "ConfigMap", "a")


def apply(client: kube.Client) -> Any:
    return client.apply(WANTED, manager="me")


def merge(client: kube.Client) -> Any:
    return client.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}}, manager="me")


def json_patch(client: kube.Client) -> Any:
    patch = [{"op": "add", "path": "/data/-", "value": "1"}]
    return client.patch("v1", "ConfigMap", "a", patch, form="json", manager="me")


def guarded_patch(client: kube.Client) -> Any:
    patch = [{"op": "test", "path": "/data/x", "value": "0"}, {"op": "replace", "path": "/data/x", "value": "1"}]
    return client.patch("v1", "ConfigMap", "a", patch, form="json", manager="me")


def delete(client: kube.Client) -> Any:
    return client.delete("v1", "ConfigMap", "a", uid="u")


def create(client: kube.Client) -> Any:
    return client.create(WANTED, manager="me")


IDEMPOTENT = [get, apply, merge, delete, guarded_patch]
TROUBLE = [Reset(), Truncate(LIVE), status(429), status(500), status(502), status(503), Text("Gateway", 504)]


@pytest.mark.parametrize("trouble", TROUBLE, ids=repr)
@pytest.mark.parametrize("do", IDEMPOTENT)
async def test_what_can_be_repeated_is_repeated(do: Do, trouble: Reaction) -> None:
    async with loopback.loopback(script(trouble, trouble, Respond(LIVE))) as server, loopback.client(server) as client:
        assert await do(client) == LIVE

    sent = [request for request in server.requests if "/v1" in request.path]
    assert len({request.body for request in sent}) == 1
    assert len(sent) == 3


@pytest.mark.parametrize("do", [get, apply, create])
async def test_a_slow_answer_is_asked_for_again(do: Do) -> None:
    def react(request: Request) -> Reaction:
        return Stall() if len(server.requests) == 3 else Respond(LIVE)

    policy = kube.RetryPolicy(attempt=0.2)
    async with loopback.loopback(react) as server, loopback.client(server, policy=policy) as client:
        assert await do(client) == LIVE
        assert client.limiter.window.limit == 8


async def test_retry_after_is_honoured() -> None:
    clock = Clock()
    refusal = status(429, headers={"Retry-After": "7"})
    async with (
        loopback.loopback(script(refusal, Respond(LIVE))) as server,
        loopback.client(server, clock=clock) as client,
    ):
        await get(client)

    assert clock.sleeps == [7.1]


async def test_the_deadline_ends_in_the_last_answer() -> None:
    clock = Clock()
    async with (
        loopback.loopback(script(status(503, "ServiceUnavailable"))) as server,
        loopback.client(server, clock=clock) as client,
    ):
        with pytest.raises(kube.ServerError) as caught:
            await get(client)

    assert caught.value.code == 503
    assert 40 < clock.now < 60


async def test_a_refused_connection_is_said_at_once_and_ridden_through_later() -> None:
    clock = Clock()
    async with loopback.loopback(script(Respond(LIVE))) as server:
        pass
    async with loopback.client(server, clock=clock) as client:
        with pytest.raises(errors.Unreachable, match="discover /api"):
            await get(client)
    assert len(clock.sleeps) == 4, "three attempts for each of the two discovery requests"

    clock = Clock()
    async with loopback.client(server, clock=clock) as client:
        async with loopback.loopback(script(Respond(LIVE))) as second:
            object.__setattr__(client.config, "server", second.url)
            await get(client)
        with pytest.raises(errors.Unreachable, match="get ConfigMap default/a on"):
            await get(client)
    assert clock.now > 40


async def test_a_race_of_an_apply_is_repeated_and_a_field_conflict_is_an_answer() -> None:
    causes = [{"reason": "FieldManagerConflict", "field": ".data.x", "message": 'conflict with "helm"'}]
    race = status(409, "Conflict", message="the object has been modified")
    conflict = status(409, "Conflict", details={"causes": causes})

    async with loopback.loopback(script(race, conflict)) as server, loopback.client(server) as client:
        with pytest.raises(kube.Conflict) as caught:
            await apply(client)

    assert caught.value.managers == ("helm",)
    assert len(server.of("PATCH")) == 2


async def test_an_apply_with_a_resource_version_means_it() -> None:
    wanted = {**WANTED, "metadata": {"name": "a", "resourceVersion": "7"}}
    async with loopback.loopback(script(status(409, "Conflict"))) as server, loopback.client(server) as client:
        with pytest.raises(kube.Conflict):
            await client.apply(wanted, manager="me")

    assert len(server.of("PATCH")) == 1


async def test_an_apply_says_manager_force_and_dry_run() -> None:
    async with loopback.loopback(script(Respond(LIVE))) as server, loopback.client(server) as client:
        await client.apply(WANTED, manager="me", force=True, dry_run=True, subresource="status")

    (request,) = server.of("PATCH")
    assert request.path == "/api/v1/namespaces/default/configmaps/a/status"
    assert request.query == {"fieldManager": "me", "force": "true", "dryRun": "All"}
    assert request.header("Content-Type") == "application/apply-patch+yaml"
    assert request.document() == WANTED


def there(live: Any, *lost: Reaction) -> Callable[[Request], Reaction]:
    """POSTs meet ``lost`` one after the other, GETs what is live."""
    left = list(lost)

    def react(request: Request) -> Reaction:
        if request.method == "POST":
            return left.pop(0) if left else Respond(LIVE, 201)
        return Respond(live) if live else status(404, "NotFound", details={"name": "a"})

    return react


@pytest.mark.parametrize(
    "lost", [Reset(), Truncate(LIVE), status(500), status(502), status(503), status(504)], ids=repr
)
async def test_a_lost_create_that_happened_is_found(lost: Reaction) -> None:
    async with loopback.loopback(there(LIVE, lost)) as server, loopback.client(server) as client:
        assert await create(client) == LIVE

    assert len(server.of("POST")) == 1


async def test_a_lost_create_that_did_not_happen_is_sent_again() -> None:
    async with loopback.loopback(there(None, Reset(), Reset())) as server, loopback.client(server) as client:
        assert await create(client) == LIVE

    assert [request.method for request in server.requests if "/v1" in request.path] == [
        "POST", "GET", "POST", "GET", "POST",
    ]  # fmt: skip


async def test_a_lost_create_that_finds_something_else_there() -> None:
    other = config_map(x="2")
    async with loopback.loopback(there(other, Reset())) as server, loopback.client(server) as client:
        with pytest.raises(kube.AlreadyExists):
            await create(client)

    assert len(server.of("POST")) == 1


async def test_a_create_that_landed_after_it_was_looked_for_is_found() -> None:
    answers: Iterator[Reaction] = iter([Reset(), status(409, "AlreadyExists")])
    looks: Iterator[Reaction] = iter([status(404, "NotFound"), Respond(LIVE)])

    def react(request: Request) -> Reaction:
        return next(answers) if request.method == "POST" else next(looks)

    async with loopback.loopback(react) as server, loopback.client(server) as client:
        assert await create(client) == LIVE


async def test_a_create_of_a_taken_name_is_not_mistaken_for_ones_own() -> None:
    async with (
        loopback.loopback(there(LIVE, status(409, "AlreadyExists"))) as server,
        loopback.client(server) as client,
    ):
        with pytest.raises(kube.AlreadyExists):
            await create(client)

    assert server.of("GET") == []


async def test_a_lost_create_without_a_name_is_ambiguous() -> None:
    wanted = {**WANTED, "metadata": {"generateName": "a-"}}
    async with loopback.loopback(script(Reset())) as server, loopback.client(server) as client:
        with pytest.raises(kube.AmbiguousWrite, match="create ConfigMap default on"):
            await client.create(wanted, manager="me")

    assert len(server.of("POST")) == 1


@pytest.mark.parametrize("lost", [Reset(), Truncate(LIVE), status(504)], ids=repr)
async def test_a_lost_json_patch_is_ambiguous(lost: Reaction) -> None:
    async with loopback.loopback(script(lost)) as server, loopback.client(server) as client:
        with pytest.raises(kube.AmbiguousWrite, match="may or may not"):
            await json_patch(client)

    assert len(server.of("PATCH")) == 1


async def test_a_json_patch_that_was_refused_for_load_is_repeated() -> None:
    async with loopback.loopback(script(status(429), Respond(LIVE))) as server, loopback.client(server) as client:
        assert await json_patch(client) == LIVE


async def test_a_guarded_patch_whose_repeat_fails_its_test_is_ambiguous() -> None:
    async with loopback.loopback(script(Reset(), status(422, "Invalid"))) as server, loopback.client(server) as client:
        with pytest.raises(kube.AmbiguousWrite, match="a repeat was refused"):
            await guarded_patch(client)


@pytest.mark.parametrize("lost", [Reset(), Truncate(LIVE), status(504)], ids=repr)
async def test_a_delete_whose_repeat_finds_nothing_has_done_it(lost: Reaction) -> None:
    gone = status(404, "NotFound", details={"name": "a"})
    async with loopback.loopback(script(lost, gone)) as server, loopback.client(server) as client:
        assert (await delete(client))["reason"] == "NotFound"

    assert server.of("DELETE")[0].document() == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u"},
    }


async def test_a_delete_of_what_is_not_there() -> None:
    async with loopback.loopback(script(status(404, "NotFound"))) as server, loopback.client(server) as client:
        with pytest.raises(kube.NotFound):
            await delete(client)


async def test_an_unsent_request_is_always_sent_again() -> None:
    """A proxy that answers CONNECT with an error has sent nothing on."""
    answers = iter([Text("no", 502), Text("no", 503)])

    def react(request: Request) -> Reaction:
        return next(answers, Text("no", 407))

    clock = Clock()
    async with loopback.loopback(react) as server:
        config = kube.ClientConfig(server="https://api.invalid", proxy=client_config.Proxy(server.url))
        client = kube.Client(config, environ={}, clock=clock, sleep=clock.sleep, jitter=lambda: 1.0)
        async with client:
            with pytest.raises(errors.Unreachable, match="the proxy answered 407"):
                await client.request("POST", "/x")

    assert [request.method for request in server.requests] == ["CONNECT"] * 3


async def test_a_refused_token_is_read_again_once(tmp_path: Any) -> None:
    path = tmp_path / "token"
    path.write_text("old")

    def react(request: Request) -> Reaction:
        if request.header("Authorization") == "Bearer new":
            return Respond(LIVE)
        path.write_text("new")
        return status(401, "Unauthorized")

    async with loopback.loopback(react) as server, loopback.client(server, token_file=path) as client:
        assert await create(client) == LIVE

    assert len(server.of("POST")) == 2


async def test_a_fixed_token_that_was_never_accepted_is_not_tried_again() -> None:
    async with (
        loopback.loopback(script(status(401, "Unauthorized"))) as server,
        loopback.client(server, token=Secret("hunter2")) as client,
    ):
        with pytest.raises(kube.Unauthorized) as caught:
            await client.request("GET", "/api/v1/namespaces/default/configmaps/a")

    assert len(server.of("GET")) == 1
    assert "hunter2" not in str(caught.value)


async def test_a_fixed_token_that_was_accepted_before_is_tried_once_more() -> None:
    refused = status(401, "Unauthorized")
    async with (
        loopback.loopback(script(Respond(LIVE), refused, Respond(LIVE), refused, refused)) as server,
        loopback.client(server, token=Secret("t")) as client,
    ):
        await get(client)
        await get(client)
        with pytest.raises(kube.Unauthorized):
            await get(client)

    assert len(server.of("GET")) == 5


async def test_who_asks_is_said_in_headers() -> None:
    acting = client_config.Impersonation("jane", "7", ("dev", "ops"), (("example.org/scope s", ("a", "b")),))
    async with (
        loopback.loopback(script(Respond(LIVE))) as server,
        loopback.client(server, token=Secret("t"), impersonation=acting, compression=False) as client,
    ):
        await get(client)

    (request,) = server.of("GET")
    assert request.header("Authorization") == "Bearer t"
    assert request.header("Accept-Encoding") == "identity"
    assert request.header("User-Agent").startswith("firstlight/")
    assert [(key, value) for key, value in request.headers if key.startswith("Impersonate-")] == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-example.org%2Fscope%20s", "a"),
        ("Impersonate-Extra-example.org%2Fscope%20s", "b"),
    ]


async def test_redirects_are_not_followed() -> None:
    redirect = Respond({}, 302, {"Location": "http://127.0.0.1:1/"})
    async with loopback.loopback(script(redirect)) as server, loopback.client(server) as client:
        with pytest.raises(kube.ApiError) as caught:
            await get(client)

    assert caught.value.code == 302


async def test_an_http_proxy_is_used_with_its_credentials() -> None:
    async with loopback.loopback(script(Respond(LIVE))) as server:
        config = kube.ClientConfig(
            server="http://api.invalid", proxy=client_config.Proxy(server.url, "me", Secret("hunter2"))
        )
        async with kube.Client(config, environ={}) as client:
            assert (await client.request("GET", "/api/v1/x")).document == LIVE

    (request,) = server.requests
    assert request.header("Host") == "api.invalid"
    assert request.header("Proxy-Authorization").startswith("Basic ")


def page(*names: str, token: str = "") -> Respond:
    items = [{"metadata": {"name": name}} for name in names]
    return Respond({"kind": "ConfigMapList", "metadata": {"resourceVersion": "9", "continue": token}, "items": items})


async def test_a_list_is_paged_and_its_items_are_named() -> None:
    async with loopback.loopback(script(page("a", token="t"), page("b"))) as server, loopback.client(server) as client:
        listing = await client.list("v1", "ConfigMap", namespace="apps", labels="a=b", fields="c=d", limit=1)

    assert listing == client_listing("a", "b")
    first, second = server.of("GET")
    assert first.path == "/api/v1/namespaces/apps/configmaps"
    assert first.query == {"labelSelector": "a=b", "fieldSelector": "c=d", "limit": "1"}
    assert second.query == {**first.query, "continue": "t"}


def client_listing(*names: str) -> kube.ObjectListing:
    items = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in names)
    return kube.ObjectListing(tuple(items), "9")


async def test_a_list_whose_token_expires_begins_again_in_one_piece() -> None:
    answers = script(page("a", token="t"), status(410, "Expired"), page("b", "c"))
    async with loopback.loopback(answers) as server, loopback.client(server) as client:
        assert await client.list("v1", "ConfigMap") == client_listing("b", "c")

    assert server.of("GET")[-1].query == {}


async def test_metadata_only() -> None:
    partial = {**LIVE, "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
    async with loopback.loopback(script(Respond(partial), page("a"))) as server, loopback.client(server) as client:
        found = await client.get("v1", "ConfigMap", "a", metadata_only=True)
        await client.list("v1", "ConfigMap", metadata_only=True)

    assert found == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": LIVE["metadata"]}
    one, many = (request.header("Accept") for request in server.of("GET"))
    assert one == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    assert many == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


async def test_the_limit_holds_and_adapts() -> None:
    counter = itertools.count()

    def react(request: Request) -> Reaction:
        return status(429) if next(counter) == 40 else Respond(LIVE)

    async with loopback.loopback(react) as server, loopback.client(server) as client:
        await client.catalog()
        await asyncio.gather(*(get(client) for _ in range(100)))

        assert server.most_under_way <= 20
        assert client.limiter.window.epoch == 1
        assert 8 <= client.limiter.window.limit <= 20
    assert len(server.of("GET")) == 101


async def test_the_queue_does_not_use_up_the_deadline() -> None:
    """With one slot and a clock that moves with each request, the last would be far beyond its deadline."""
    clock = Clock()

    def react(request: Request) -> Reaction:
        clock.now += 50
        return status(503) if request.path.endswith("/last") and len(server.of("GET")) == 21 else Respond(LIVE)

    async with loopback.loopback(react) as server, loopback.client(server, clock=clock) as client:
        await client.catalog()
        client.limiter.window = type(client.limiter.window)(limit=1, most=1)
        await asyncio.gather(
            *(client.get("v1", "ConfigMap", f"c{number}") for number in range(20)),
            client.get("v1", "ConfigMap", "last"),
        )

    assert len(server.of("GET")) == 22


async def test_what_a_server_says_about_a_secret_stays_out_of_messages() -> None:
    answer = status(422, "Invalid", message="hunter2", details={"causes": [{"field": "data[a]", "message": "hunter2"}]})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": "hunter2"}}
    async with loopback.loopback(script(answer)) as server, loopback.client(server) as client:
        with pytest.raises(kube.Invalid) as caught:
            await client.apply(secret, manager="me")

    assert "hunter2" not in f"{caught.value} {caught.value!r} {vars(caught.value)}"


async def test_ready_names_the_failing_checks_and_does_not_wait() -> None:
    failing = Text("[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n", 500)
    clock = Clock()
    async with (
        loopback.loopback(script(failing, Text("ok"))) as server,
        loopback.client(server, clock=clock) as client,
    ):
        first, second = await client.ready(), await client.ready()

    assert (first.is_ready, first.failed) == (False, ("etcd",))
    assert second.is_ready
    assert clock.sleeps == []


async def test_logs_are_lines() -> None:
    stream = Stream((b"one\n\ntw", b"o \xff\nthr", b"ee"))
    async with loopback.loopback(script(stream)) as server, loopback.client(server) as client:
        lines = [line async for line in client.logs("p", namespace="apps", container="c", tail=5)]

    assert lines == ["one", "", "two \ufffd", "three"]
    (request,) = server.of("GET")
    assert request.path == "/api/v1/namespaces/apps/pods/p/log"
    assert request.query == {"container": "c", "tailLines": "5"}


async def test_logs_that_break_off_say_so() -> None:
    async with (
        loopback.loopback(script(Stream((b"one\n",), cut=True))) as server,
        loopback.client(server) as client,
    ):
        with pytest.raises(errors.Unreachable, match="cut off"):
            async for _ in client.logs("p"):
                pass


@pytest.mark.parametrize("broken", [{}, {"apiVersion": "v1"}, {"apiVersion": "v1", "kind": "X", "metadata": {}}])
async def test_an_object_without_a_name_is_not_sent(broken: dict[str, Any]) -> None:
    async with loopback.loopback(script(Respond(LIVE))) as server, loopback.client(server) as client:
        with pytest.raises(errors.ClientError, match="needs apiVersion, kind and a name"):
            await client.apply(broken, manager="me")
        with pytest.raises(errors.ClientError, match="is empty"):
            await client.delete("v1", "ConfigMap", "")

    assert [request.method for request in server.requests if "/v1" in request.path] == []


def test_neither_the_command_line_nor_the_package_imports_aiohttp() -> None:
    code = "import sys, firstlight.cli.main, firstlight.clients.kube; sys.exit('aiohttp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_is_there() -> None:
    assert [name for name in kube.__all__ if not hasattr(kube, name)] == []
    assert not hasattr(kube, "nonsense")
