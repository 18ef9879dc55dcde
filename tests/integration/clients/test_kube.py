"""The Kubernetes client against a real API server."""

import asyncio
import contextlib
import dataclasses
import os
import stat
import sys
import urllib.parse
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import client_config, discovery, kube_errors
from firstlight.model.secret import Secret
from tests.unit.clients.kube import pki

PATIENCE = 60.0


def config_map(namespace: str, name: str = "a", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


@contextlib.asynccontextmanager
async def reopened(kube: clients_kube.Client, **changes: Any) -> AsyncIterator[clients_kube.Client]:
    """Another client of the same server."""
    async with clients_kube.Client(dataclasses.replace(kube.config, **changes)) as client:
        yield client


def anonymous(**changes: Any) -> dict[str, Any]:
    """A config without the identity that it had."""
    return {"client_certificate": b"", "client_key": None, "token": None, "token_file": None, **changes}


@pytest.fixture
async def widgets(kube: clients_kube.Client, namespace: str) -> AsyncIterator[str]:
    """The apiVersion of a kind Widget that exists only for this test."""
    group = f"{namespace}.example.org"
    size = {"type": "integer", "minimum": 1}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    await kube.catalog()
    await kube.apply(definition, manager="tests")
    async with asyncio.timeout(PATIENCE):
        # Discovery and the handler follow the definition, each by a watch of its own.
        while True:
            with contextlib.suppress(clients_kube.UnknownKind, clients_kube.NotFound):
                await kube.list(f"{group}/v1", "Widget", namespace=namespace)
                break
            await asyncio.sleep(0.02)
    yield f"{group}/v1"
    await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"widgets.{group}")


def widget(api_version: str, namespace: str, name: str = "a", size: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": "Widget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"size": size},
    }


# Discovery


async def test_discovery_takes_two_requests(kube: clients_kube.Client) -> None:
    async with reopened(kube) as client:
        deployment = await client.resource("apps/v1", "Deployment")
        node = await client.resource("v1", "Node")
        catalog = await client.catalog(refresh=True)

    assert (deployment.plural, deployment.is_namespaced) == ("deployments", True)
    assert {"list", "watch", "patch"} <= deployment.verbs
    assert "status" in deployment.subresources
    assert not node.is_namespaced
    assert catalog.preferred["apps"] == "v1"


async def test_discovery_is_the_same_without_aggregation(kube: clients_kube.Client) -> None:
    """What a server without aggregated discovery would say, asked of this one by refusing the newer form."""

    async def fetch(path: str, headers: Any) -> Any:
        return await kube.request("GET", path, headers={"Accept": "application/json"})

    aggregated = await kube.catalog(refresh=True)
    legacy = await discovery.Discovery(fetch, server="s").catalog()

    assert dict(legacy.preferred) == dict(aggregated.preferred)
    assert set(legacy.resources) == set(aggregated.resources)
    for key, resource in legacy.resources.items():
        assert resource == aggregated.resources[key], key


async def test_an_unknown_kind_names_the_nearest(kube: clients_kube.Client) -> None:
    with pytest.raises(clients_kube.UnknownKind) as caught:
        await kube.get("apps/v1", "Deploymet", "a")

    assert "apps/v1 Deployment" in caught.value.nearest


async def test_a_definition_and_then_an_object_of_it(kube: clients_kube.Client, namespace: str, widgets: str) -> None:
    applied = await kube.apply(widget(widgets, namespace, size=3), manager="tests")
    with pytest.raises(clients_kube.Invalid) as caught:
        await kube.apply(widget(widgets, namespace, size=0), manager="tests")
    listing = await kube.list(widgets, "Widget", namespace=namespace)

    assert applied["spec"] == {"size": 3}
    assert [cause.field for cause in caught.value.causes] == ["spec.size"]
    assert [item["kind"] for item in listing.items] == ["Widget"]


# Writing


async def test_a_field_conflict_names_managers_and_force_takes_the_field(
    kube: clients_kube.Client, namespace: str
) -> None:
    await kube.apply(config_map(namespace, x="1", y="1"), manager="first")

    with pytest.raises(clients_kube.Conflict) as caught:
        await kube.apply(config_map(namespace, x="2"), manager="second")
    forced = await kube.apply(config_map(namespace, x="2"), manager="second", force=True)

    assert caught.value.is_field_conflict
    assert caught.value.conflicts == (kube_errors.FieldConflict(".data.x", "first"),)
    assert forced["data"] == {"x": "2", "y": "1"}


async def test_a_field_that_is_no_longer_applied_goes(kube: clients_kube.Client, namespace: str) -> None:
    await kube.apply(config_map(namespace, x="1", y="1"), manager="first")

    assert (await kube.apply(config_map(namespace, x="1"), manager="first"))["data"] == {"x": "1"}


async def test_an_apply_that_changes_nothing_keeps_the_resource_version(
    kube: clients_kube.Client, namespace: str
) -> None:
    first = await kube.apply(config_map(namespace, x="1"), manager="tests")
    second = await kube.apply(config_map(namespace, x="1"), manager="tests")

    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_characters_that_yaml_reads_differently_arrive(kube: clients_kube.Client, namespace: str) -> None:
    """An apply is read as YAML by the server, a create as JSON: both must mean the same."""
    odd = "".join(map(chr, [*range(1, 0xA1), 0x2028, 0x2029, 0xFEFF, 0xFFFD, 0x1F600])) + "0777 y: # 'q' \"Q\" \\ \t\n"

    applied = await kube.apply(config_map(namespace, "applied", x=odd), manager="tests")
    created = await kube.create(config_map(namespace, "created", x=odd), manager="tests")

    assert applied["data"]["x"] == odd
    assert created["data"]["x"] == odd


async def test_dry_runs_write_nothing(kube: clients_kube.Client, namespace: str) -> None:
    wanted = config_map(namespace, x="1")

    assert (await kube.apply(wanted, manager="tests", dry_run=True))["data"] == {"x": "1"}
    assert (await kube.create(wanted, manager="tests", dry_run=True))["data"] == {"x": "1"}

    with pytest.raises(clients_kube.NotFound) as caught:
        await kube.get("v1", "ConfigMap", "a", namespace=namespace)
    assert caught.value.involved.name == "a"
    assert f"get ConfigMap {namespace}/a on {kube.config.server}" in caught.value.message


async def test_an_invalid_object_has_causes(kube: clients_kube.Client, namespace: str) -> None:
    with pytest.raises(clients_kube.Invalid) as caught:
        await kube.create(config_map(namespace, "Not_A_Name"), manager="tests")

    assert [cause.field for cause in caught.value.causes] == ["metadata.name"]
    assert caught.value.causes[0].reason == "FieldValueInvalid"


async def test_values_of_a_secret_stay_out_of_errors(kube: clients_kube.Client, namespace: str) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "namespace": namespace},
        "data": {"password": "hunter2!"},
    }
    for write in (kube.create(secret, manager="tests"), kube.apply(secret, manager="tests")):
        with pytest.raises(clients_kube.ApiError) as caught:
            await write
        assert "hunter2" not in f"{caught.value} {caught.value!r} {vars(caught.value)}"


async def test_create_twice_is_told_apart_from_a_conflict(kube: clients_kube.Client, namespace: str) -> None:
    await kube.create(config_map(namespace), manager="tests")

    with pytest.raises(clients_kube.AlreadyExists):
        await kube.create(config_map(namespace), manager="tests")


async def test_generated_names(kube: clients_kube.Client, namespace: str) -> None:
    wanted = config_map(namespace)
    wanted["metadata"] = {"generateName": "a-", "namespace": namespace}

    assert (await kube.create(wanted, manager="tests"))["metadata"]["name"].startswith("a-")


async def test_every_form_of_patch(kube: clients_kube.Client, namespace: str) -> None:
    await kube.create(config_map(namespace, x="1"), manager="tests")

    async def patch(body: Any, **options: Any) -> Any:
        patched = await kube.patch("v1", "ConfigMap", "a", body, namespace=namespace, manager="tests", **options)
        return patched["data"]

    assert await patch({"data": {"y": "2"}}) == {"x": "1", "y": "2"}
    assert await patch({"data": {"y": None}}, form="strategic") == {"x": "1"}
    assert await patch([{"op": "add", "path": "/data/z", "value": "3"}], form="json") == {"x": "1", "z": "3"}
    assert await patch({"data": {"y": "2"}}, dry_run=True) == {"x": "1", "y": "2", "z": "3"}
    with pytest.raises(clients_kube.Invalid):
        await patch([{"op": "test", "path": "/data/x", "value": "9"}], form="json")
    with pytest.raises(clients_kube.Conflict) as caught:
        await patch({"metadata": {"resourceVersion": "1"}, "data": {"x": "2"}})
    assert not caught.value.is_field_conflict


async def test_a_subresource_is_applied_on_its_own(kube: clients_kube.Client, namespace: str) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "example.org/none"}]},
            },
        },
    }
    await kube.apply(deployment, manager="tests")
    status = {key: deployment[key] for key in ("apiVersion", "kind", "metadata")} | {"status": {"replicas": 7}}

    # What was written is in the answer; a moment later the controller manager writes what is true.
    applied = await kube.apply(status, manager="status", subresource="status")
    scale = await kube.get("apps/v1", "Deployment", "d", namespace=namespace, subresource="scale")

    assert applied["status"]["replicas"] == 7
    assert (scale["kind"], scale["spec"].get("replicas", 0)) == ("Scale", 0)


async def test_delete_only_the_object_that_was_meant(kube: clients_kube.Client, namespace: str) -> None:
    created = await kube.create(config_map(namespace), manager="tests")

    with pytest.raises(clients_kube.Conflict):
        await kube.delete("v1", "ConfigMap", "a", namespace=namespace, uid=str(uuid.uuid4()))
    with pytest.raises(clients_kube.Conflict):
        await kube.delete("v1", "ConfigMap", "a", namespace=namespace, resource_version="1")
    await kube.delete("v1", "ConfigMap", "a", namespace=namespace, uid=created["metadata"]["uid"])
    with pytest.raises(clients_kube.NotFound):
        await kube.delete("v1", "ConfigMap", "a", namespace=namespace)


# Reading


async def test_600_objects_come_in_pages(kube: clients_kube.Client, namespace: str) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(600):
            group.create_task(kube.create(config_map(namespace, f"c{number:04}", x="1"), manager="tests"))

    listing = await kube.list("v1", "ConfigMap", namespace=namespace)
    small = await kube.list("v1", "ConfigMap", namespace=namespace, limit=70, metadata_only=True)

    names = [item["metadata"]["name"] for item in listing.items if item["metadata"]["name"].startswith("c")]
    assert names == [f"c{number:04}" for number in range(600)]
    assert int(listing.resource_version) >= max(int(item["metadata"]["resourceVersion"]) for item in listing.items)
    assert len(small.items) == len(listing.items)
    assert set(small.items[0]) == {"apiVersion", "kind", "metadata"}


async def test_selectors(kube: clients_kube.Client, namespace: str) -> None:
    for name in ("a", "b"):
        labelled = config_map(namespace, name)
        labelled["metadata"]["labels"] = {"which": name}
        await kube.create(labelled, manager="tests")

    by_label = await kube.list("v1", "ConfigMap", namespace=namespace, labels="which in (b)")
    by_field = await kube.list("v1", "ConfigMap", namespace=namespace, fields="metadata.name=a")

    assert [item["metadata"]["name"] for item in by_label.items] == ["b"]
    assert [item["metadata"]["name"] for item in by_field.items] == ["a"]


async def test_metadata_only(kube: clients_kube.Client, namespace: str) -> None:
    await kube.create(config_map(namespace, x="1"), manager="tests")

    found = await kube.get("v1", "ConfigMap", "a", namespace=namespace, metadata_only=True)

    assert (found["apiVersion"], found["kind"], found["metadata"]["name"]) == ("v1", "ConfigMap", "a")
    assert "data" not in found


async def test_version_and_readiness(kube: clients_kube.Client) -> None:
    assert (await kube.version())["gitVersion"].startswith("v1.")
    assert (await kube.ready()).is_ready


# Watching


def brief(event: clients_kube.WatchEvent) -> tuple[str, str]:
    if isinstance(event, clients_kube.Synced):
        return "Synced", ""
    return type(event).__name__, event.object["metadata"]["name"]


class Events:
    """The events of a watch, without what the control plane puts into every namespace."""

    def __init__(
        self,
        client: clients_kube.Client,
        namespace: str,
        *,
        api_version: str = "v1",
        kind: str = "ConfigMap",
        **options: Any,
    ) -> None:
        self._events = client.watch(api_version, kind, namespace=namespace, **options)

    async def __aenter__(self) -> "Events":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.aclose()

    async def next(self) -> clients_kube.WatchEvent:
        async with asyncio.timeout(PATIENCE):
            while True:
                event = await anext(self._events)
                if brief(event)[1] != "kube-root-ca.crt":
                    return event

    async def take(self, count: int) -> list[tuple[str, str]]:
        return [brief(await self.next()) for _ in range(count)]


async def test_a_watch_says_what_is_there_and_what_changes(kube: clients_kube.Client, namespace: str) -> None:
    await kube.create(config_map(namespace, "a", x="1"), manager="tests")

    async with Events(kube, namespace) as events:
        assert await events.take(2) == [("Added", "a"), ("Synced", "")]
        await kube.create(config_map(namespace, "b"), manager="tests")
        await kube.apply(config_map(namespace, "a", x="2"), manager="tests", force=True)
        await kube.delete("v1", "ConfigMap", "a", namespace=namespace)
        assert await events.take(3) == [("Added", "b"), ("Modified", "a"), ("Deleted", "a")]


async def test_an_object_that_leaves_the_selector_is_gone(kube: clients_kube.Client, namespace: str) -> None:
    labelled = config_map(namespace)
    labelled["metadata"]["labels"] = {"which": "a"}
    await kube.apply(labelled, manager="tests")

    async with Events(kube, namespace, labels="which=a") as events:
        await events.take(2)
        await kube.apply(config_map(namespace), manager="tests")
        assert await events.take(1) == [("Deleted", "a")]


class Line:
    """A connection to the API server that can be cut: a port that forwards bytes."""

    def __init__(self, host: str, port: int) -> None:
        self._there = (host, port)
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        back, there = await asyncio.open_connection(*self._there)
        self._writers += [writer, there]
        for source, sink in ((reader, there), (back, writer)):
            self._tasks.add(asyncio.create_task(self._pump(source, sink)))

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                while chunk := await source.read(1 << 16):
                    sink.write(chunk)
                    await sink.drain()
        finally:
            sink.close()

    def cut(self) -> None:
        """Reset everything that is open."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def end(self) -> None:
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def through_a_line(kube: clients_kube.Client) -> AsyncIterator[tuple[clients_kube.Client, Line]]:
    parts = urllib.parse.urlsplit(kube.config.server)
    line = Line(parts.hostname or "", parts.port or 443)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    name = kube.config.server_name or parts.hostname or ""
    try:
        async with reopened(kube, server=f"https://127.0.0.1:{line.port}", server_name=name) as client:
            yield client, line
    finally:
        server.close()
        await line.end()


async def test_a_watch_goes_on_after_its_connection_was_cut(kube: clients_kube.Client, namespace: str) -> None:
    cuts: list[Exception] = []
    async with (
        through_a_line(kube) as (client, line),
        Events(client, namespace, on_cut=cuts.append) as events,
    ):
        await kube.create(config_map(namespace, "a"), manager="tests")
        assert sorted(await events.take(2)) == [("Added", "a"), ("Synced", "")]
        for name in ("b", "c", "d"):
            await kube.create(config_map(namespace, f"{name}1"), manager="tests")
            assert await events.take(1) == [("Added", f"{name}1")]
            line.cut()
            await kube.create(config_map(namespace, f"{name}2"), manager="tests")
            assert await events.take(1) == [("Added", f"{name}2")]

    assert len(cuts) == 3


class Forgetful(clients_kube.Client):
    """Begins its first watch at a version that the server has long forgotten."""

    def __init__(self, config: clients_kube.ClientConfig) -> None:
        super().__init__(config)
        self.listings = 0

    async def list(self, *args: Any, **options: Any) -> clients_kube.ObjectListing:
        self.listings += 1
        listing = await super().list(*args, **options)
        return dataclasses.replace(listing, resource_version="1") if self.listings == 1 else listing


async def test_a_watch_from_a_forgotten_version_lists_again(
    kube: clients_kube.Client, namespace: str, widgets: str
) -> None:
    """Of a kind that is new the server remembers nothing before its definition."""
    cuts: list[Exception] = []
    await kube.apply(widget(widgets, namespace, "a"), manager="tests")
    async with (
        Forgetful(kube.config) as client,
        Events(client, namespace, api_version=widgets, kind="Widget", on_cut=cuts.append) as events,
    ):
        assert await events.take(2) == [("Added", "a"), ("Synced", "")]
        following = asyncio.create_task(events.take(1))
        await kube.apply(widget(widgets, namespace, "b"), manager="tests")
        assert await following == [("Added", "b")]

    assert [type(error) for error in cuts] == [clients_kube.Gone]
    assert client.listings == 2


async def test_events_of_a_megabyte(kube: clients_kube.Client, namespace: str) -> None:
    big = "x" * 1_000_000
    async with Events(kube, namespace) as events:
        await events.take(1)
        for number in range(3):
            await kube.create(config_map(namespace, f"big-{number}", x=big), manager="tests")
        found = [await events.next() for _ in range(3)]

    for number, event in enumerate(found):
        assert isinstance(event, clients_kube.Added)
        assert event.object["metadata"]["name"] == f"big-{number}"
        assert event.object["data"]["x"] == big


async def test_a_metadata_watch(kube: clients_kube.Client, namespace: str) -> None:
    await kube.create(config_map(namespace, x="1"), manager="tests")

    async with Events(kube, namespace, metadata_only=True) as events:
        event = await events.next()

    assert isinstance(event, clients_kube.Added)
    assert set(event.object) == {"apiVersion", "kind", "metadata"}
    assert (event.object["apiVersion"], event.object["kind"]) == ("v1", "ConfigMap")


# Who asks, and whom


async def test_files_are_merged_as_kubectl_merges_them(programs: dict[str, Path], tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(
        """
        apiVersion: v1
        kind: Config
        clusters: [{name: one, cluster: {server: "https://first", tls-server-name: x}}]
        contexts: [{name: home, context: {cluster: one, user: me, namespace: apps}}]
        """
    )
    second.write_text(
        """
        apiVersion: v1
        kind: Config
        current-context: home
        clusters: [{name: one, cluster: {server: "https://second", disable-compression: true}}]
        users: [{name: me, user: {token: "0123", as: jane}}]
        contexts: [{name: home, context: {cluster: one, user: other}}]
        """
    )
    environ = {"KUBECONFIG": f"{first}:{tmp_path / 'absent'}:{second}", "HOME": str(tmp_path)}
    viewed = await command.run(
        [str(programs["kubectl"]), "config", "view", "--raw", "--minify", "--output=json"], env=environ
    )
    said = msgspec.json.decode(viewed.stdout)

    ours = clients_kube.load(environ=environ)

    cluster, user, context = said["clusters"][0]["cluster"], said["users"][0]["user"], said["contexts"][0]["context"]
    assert (ours.server, ours.server_name) == (cluster["server"], cluster["tls-server-name"])
    assert ours.compression is not cluster.get("disable-compression", False)
    assert ours.token == Secret(user["token"])
    assert ours.impersonation == client_config.Impersonation(user["as"])
    assert (ours.context, ours.namespace) == (said["current-context"], context["namespace"])


@pytest.fixture
async def token(kube: clients_kube.Client, namespace: str) -> str:
    """Of a service account that may read ConfigMaps in its namespace."""
    identity = {"name": "reader", "namespace": namespace}
    await kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": identity}, manager="tests")
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": identity,
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": identity,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", **identity}],
    }
    await kube.create(role, manager="tests")
    await kube.create(binding, manager="tests")
    body = msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    answer = await kube.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/reader/token", body=body)
    return str(answer.document["status"]["token"])


async def who(client: clients_kube.Client) -> str:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.request(
        "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=msgspec.json.encode(review)
    )
    return str(answer.document["status"]["userInfo"]["username"])


async def until_allowed(client: clients_kube.Client, namespace: str) -> None:
    """The server's authorizer follows new roles by a watch of its own."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(clients_kube.Forbidden):
                await client.list("v1", "ConfigMap", namespace=namespace)
                return
            await asyncio.sleep(0.01)


async def test_a_token(kube: clients_kube.Client, namespace: str, token: str) -> None:
    async with reopened(kube, **anonymous(token=Secret(token))) as client:
        assert await who(client) == f"system:serviceaccount:{namespace}:reader"
        await until_allowed(client, namespace)
        with pytest.raises(clients_kube.Forbidden):
            await client.create(config_map(namespace), manager="tests")
        with pytest.raises(clients_kube.Forbidden):
            await anext(client.watch("v1", "Secret", namespace=namespace))


async def test_a_token_file_that_is_renewed(kube: clients_kube.Client, token: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("expired")
    async with reopened(kube, **anonymous(token_file=path)) as client:
        with pytest.raises(clients_kube.Unauthorized):
            await who(client)
        path.write_text(token)
        assert (await who(client)).endswith(":reader")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_an_exec_plugin_is_asked_again_after_a_401(
    kube: clients_kube.Client, token: str, tmp_path: Path, version: str
) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(
        f"#!{sys.executable}\n"
        "import json, os, pathlib\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "count = int(runs.read_text()) if runs.exists() else 0\n"
        "runs.write_text(str(count + 1))\n"
        "token = os.environ['GOOD'] if count else 'expired'\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': {'token': token}}))\n"
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    exec_plugin = client_config.ExecPlugin(
        f"client.authentication.k8s.io/{version}", str(plugin), env=(("GOOD", Secret(token)),)
    )
    async with reopened(kube, **anonymous(exec_plugin=exec_plugin)) as client:
        assert (await who(client)).endswith(":reader")
        assert (await who(client)).endswith(":reader")

    assert (tmp_path / "runs").read_text() == "2"


async def test_impersonation(kube: clients_kube.Client) -> None:
    acting = client_config.Impersonation("jane", groups=("dev",), extra=(("example.org/scope", ("a",)),))
    async with reopened(kube, impersonation=acting) as client:
        assert await who(client) == "jane"
        with pytest.raises(clients_kube.Forbidden, match="jane"):
            await client.list("v1", "Secret", namespace="kube-system")


async def test_nobody(kube: clients_kube.Client) -> None:
    async with reopened(kube, **anonymous(token=Secret("hunter2"))) as client:
        with pytest.raises(clients_kube.Unauthorized) as caught:
            await client.list("v1", "Secret")

    assert "hunter2" not in str(caught.value)


async def test_a_server_of_another_authority(kube: clients_kube.Client) -> None:
    stranger = pki.certificate_pem(pki.authority("stranger"))
    async with reopened(kube, certificate_authority=stranger) as client:
        with pytest.raises(clients_kube.KubeUntrusted) as caught:
            await client.version()

    assert caught.value.problem is kube_errors.CertificateProblem.UNKNOWN_AUTHORITY


async def test_a_server_of_another_name(kube: clients_kube.Client) -> None:
    async with reopened(kube, server_name="other.example.org") as client:
        with pytest.raises(clients_kube.KubeUntrusted) as caught:
            await client.version()

    assert caught.value.problem is kube_errors.CertificateProblem.WRONG_NAME


async def test_the_key_is_in_no_file(kube: clients_kube.Client) -> None:
    if kube.config.client_key is None:
        pytest.skip("this cluster is entered by token")
    async with reopened(kube) as client:
        await client.version()
        links = []
        for descriptor in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                links.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    assert [link for link in links if "memfd" in link or link.endswith((".key", ".pem", ".crt"))] == []
