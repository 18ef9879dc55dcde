from collections.abc import Mapping
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import discovery, kube_errors, transport
from tests.unit.clients.kube import loopback


def aggregated(*versions: tuple[str, str, str, list[str]]) -> dict[str, Any]:
    """Of group, version, freshness and kinds."""
    items: dict[str, Any] = {}
    for group, version, freshness, kinds in versions:
        item = items.setdefault(group, {"metadata": {"name": group}, "versions": []})
        item["versions"].append(
            {
                "version": version,
                "freshness": freshness,
                "resources": [
                    {
                        "resource": f"{kind.lower()}s",
                        "responseKind": {"kind": kind},
                        "scope": "Namespaced",
                        "verbs": ["get"],
                    }
                    for kind in kinds
                ],
            }
        )
    return {"kind": "APIGroupDiscoveryList", "items": list(items.values())}


class Server:
    """Answers from documents with an ETag of its own, and counts."""

    def __init__(self, **documents: Any) -> None:
        self.documents = {"/" + path.replace("__", "/"): document for path, document in documents.items()}
        self.fetched: list[tuple[str, int]] = []

    async def fetch(self, path: str, headers: Mapping[str, str]) -> Any:
        document = self.documents.get(path)
        etag = str(hash(repr(document)))
        if document is None:
            self.fetched.append((path, 503))
            target = kube_errors.ApiTarget("discover", "s", path=path)
            raise kube.ServerError(target, code=503)
        is_known = headers.get("If-None-Match") == etag
        self.fetched.append((path, 304 if is_known else 200))
        return answer(304 if is_known else 200, {"ETag": etag}, None if is_known else document)


def answer(status: int, headers: Mapping[str, str], document: Any) -> transport.HttpResponse:
    return transport.HttpResponse(status, headers, b"", document)


CORE = aggregated(("", "v1", "Current", ["Pod", "ConfigMap"]))
APPS = ("apps", "v1", "Current", ["Deployment"])


async def test_a_kind_is_found_with_two_requests() -> None:
    server = Server(api=CORE, apis=aggregated(APPS))
    found = discovery.Discovery(server.fetch, server="s")

    deployment = await found.find("apps/v1", "Deployment")
    await found.find("v1", "Pod")

    assert deployment.path(namespace="apps", name="a", subresource="status") == (
        "/apis/apps/v1/namespaces/apps/deployments/a/status"
    )
    assert sorted(server.fetched) == [("/api", 200), ("/apis", 200)]


async def test_an_unknown_kind_is_looked_up_once_more_by_its_etag() -> None:
    server = Server(api=CORE, apis=aggregated(APPS))
    found = discovery.Discovery(server.fetch, server="s")
    await found.catalog()
    server.documents["/apis"] = aggregated(APPS, ("example.org", "v1", "Current", ["Widget"]))

    widget = await found.find("example.org/v1", "Widget")

    assert widget.plural == "widgets"
    assert sorted(server.fetched[2:]) == [("/api", 304), ("/apis", 200)]


async def test_an_unknown_kind_names_the_nearest() -> None:
    found = discovery.Discovery(Server(api=CORE, apis=aggregated(APPS)).fetch, server="s")

    with pytest.raises(kube.UnknownKind) as caught:
        await found.find("extensions/v1beta1", "Deployment")
    assert caught.value.nearest == ("apps/v1 Deployment",)
    with pytest.raises(kube.UnknownKind) as caught:
        await found.find("v1", "Configmap")
    assert caught.value.nearest == ("v1 ConfigMap",)


async def test_a_stale_group_is_kept_and_said() -> None:
    metrics = ("metrics.k8s.io", "v1", "Current", ["NodeMetrics"])
    server = Server(api=CORE, apis=aggregated(APPS, metrics))
    found = discovery.Discovery(server.fetch, server="s")
    await found.catalog()
    server.documents["/apis"] = aggregated(APPS, ("metrics.k8s.io", "v1", "Stale", []))

    found.forget()

    assert (await found.find("metrics.k8s.io/v1", "NodeMetrics")).plural == "nodemetricss"
    assert (await found.catalog()).stale == {"metrics.k8s.io/v1"}
    with pytest.raises(kube.UnknownKind) as caught:
        await found.find("metrics.k8s.io/v1", "Other")
    assert caught.value.is_stale


async def test_the_first_version_of_a_group_is_the_preferred() -> None:
    catalog = discovery.parse_aggregated(
        aggregated(("a", "v2", "Current", ["X"]), ("a", "v1", "Current", ["X"]))["items"]
    )

    assert catalog.preferred == {"a": "v2"}
    assert set(catalog.resources) == {("a/v2", "X"), ("a/v1", "X")}


async def test_a_server_without_aggregated_discovery_is_asked_group_by_group() -> None:
    groups = [
        {"name": "apps", "versions": [{"groupVersion": "apps/v1"}], "preferredVersion": {"version": "v1"}},
        {"name": "metrics", "versions": [{"groupVersion": "metrics/v1"}], "preferredVersion": {"version": "v1"}},
    ]
    server = Server(
        api={"kind": "APIVersions", "versions": ["v1"]},
        apis={"kind": "APIGroupList", "groups": groups},
        api__v1={"resources": [{"name": "nodes", "kind": "Node", "namespaced": False, "verbs": ["get"]}]},
        apis__apps__v1={
            "resources": [
                {"name": "deployments/scale", "kind": "Scale", "namespaced": True, "verbs": ["get"]},
                {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get"]},
            ]
        },
    )
    found = discovery.Discovery(server.fetch, server="s")

    deployment = await found.find("apps/v1", "Deployment")
    node = await found.find("v1", "Node")
    catalog = await found.catalog()

    assert deployment.subresources == {"scale"}
    assert node.path(namespace="ignored", name="n") == "/api/v1/nodes/n"
    assert catalog.stale == {"metrics/v1"}
    assert catalog.preferred == {"": "v1", "apps": "v1", "metrics": "v1"}
    assert ("apps/v1", "Scale") not in catalog.resources


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../secrets", "a%2fb"])
def test_a_name_cannot_lead_elsewhere(name: str) -> None:
    resource = discovery.ApiResource("", "v1", "ConfigMap", "configmaps", is_namespaced=True)

    with pytest.raises(errors.ClientError):
        resource.path(namespace="apps", name=name or "/")
    with pytest.raises(errors.ClientError):
        resource.path(namespace=name or "/", name="a")


def test_names_of_roles_keep_their_colon_and_others_are_quoted() -> None:
    resource = discovery.ApiResource("rbac", "v1", "ClusterRole", "clusterroles", is_namespaced=False)

    assert resource.path(name="system:node?x y#") == "/apis/rbac/v1/clusterroles/system:node%3Fx%20y%23"


async def test_something_else_than_an_api_server() -> None:
    with pytest.raises(errors.ClientError, match="is it an API server"):
        await discovery.Discovery(Server(api=[], apis=[]).fetch, server="s").catalog()


async def test_a_path_that_is_gone_makes_the_client_look_again() -> None:
    reactions = loopback.script(loopback.Text("404 page not found", 404), loopback.Respond(loopback.config_map()))
    async with loopback.loopback(reactions) as server, loopback.client(server) as client:
        with pytest.raises(kube.NotFound):
            await client.get("v1", "ConfigMap", "a")
        await client.get("v1", "ConfigMap", "a")

    assert [request.path for request in server.requests if "/v1" not in request.path].count("/api") == 2
