"""A cluster that is looked at twice: what was written between, by resource versions and by the audit log."""

import time

from firstlight.clients import kube as clients_kube
from firstlight.commands.verify import fingerprint
from firstlight.lab.running_lab import Lab
from firstlight.model.component import ObjectId
from firstlight.observe import audit_log
from tests.labs import until


def config_map(namespace: str, **data: str) -> dict[str, object]:
    metadata = {"name": "a", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_reads_and_dry_runs_leave_no_trace_and_writes_do(
    lab: Lab, kube: clients_kube.Client, namespace: str
) -> None:
    """Two writes of the same fields by the same manager within a second are told apart as well."""
    begun = time.time()
    await kube.apply(config_map(namespace, n="1"), manager="shop")
    first = await fingerprint.resource_versions(kube)
    await kube.apply(config_map(namespace, n="2"), manager="shop", dry_run=True)
    await kube.apply(config_map(namespace, n="1"), manager="shop")
    second = await fingerprint.resource_versions(kube)
    await kube.apply(config_map(namespace, n="2"), manager="shop")
    third = await fingerprint.resource_versions(kube)

    assert fingerprint.compare(first, second, ours={"shop"}).written == ()
    # The server keeps the time of a manager's entry to the second: within one, nobody knows who it was.
    assert fingerprint.compare(second, third, ours={"shop"}).written in (
        (f"changed ConfigMap {namespace}/a",),
        (f"changed ConfigMap {namespace}/a (shop)",),
    )
    assert ObjectId("", "ConfigMap", namespace, "a") in first
    assert not {"Event", "EndpointSlice", "Endpoints"} & {key.kind for key in first}

    mark = f"mark={namespace}"
    await kube.request("GET", f"/version?{mark}")
    log = lab.home.audit_log
    await until(lambda: _has(lab, mark, begun), "the audit log")
    told = [each.what for each in audit_log.writes(log, since=begun, until=time.time()) if namespace in each.what]
    # An apply that changes nothing is a write all the same: it reached the API server.
    assert told == [f"configmaps {namespace}/a"] * 3


async def test_what_the_api_server_keeps_by_itself_is_nobodys_write(kube: clients_kube.Client, namespace: str) -> None:
    group = f"{namespace}.example.org"
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": versions},
    }
    followers = [("apiregistration.k8s.io/v1", "APIService")]

    async def is_there() -> bool:
        found = await fingerprint.resource_versions(kube, kinds=followers)
        return any(key.name == f"v1.{group}" for key in found)

    async def is_gone() -> bool:
        return not await is_there()

    await kube.apply(definition, manager="shop")
    await until(is_there, "the API service of the new group")
    before = await fingerprint.resource_versions(kube, kinds=followers)
    await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"things.{group}")
    await until(is_gone, "the API service to go with its definition")
    after = await fingerprint.resource_versions(kube, kinds=followers)

    found = fingerprint.compare(before, after, ours={"shop"})
    assert f"deleted APIService v1.{group}" in found.by_others
    assert found.written == ()


async def test_a_run_can_be_told_from_others_by_its_agent(lab: Lab, kube: clients_kube.Client, namespace: str) -> None:
    begun = time.time()
    async with clients_kube.Client(kube.config, agent=f"run {namespace}") as client:
        await client.apply(config_map(namespace, n="1"), manager="shop")
    await kube.apply(config_map(namespace, n="2"), manager="shop")
    mark = f"mark={namespace}"
    await kube.request("GET", f"/version?{mark}")
    await until(lambda: _has(lab, mark, begun), "the audit log")

    found = audit_log.writes(
        lab.home.audit_log, since=begun, until=time.time(), is_asked=lambda user, agent: namespace in agent
    )

    assert [(each.user, each.verb) for each in found] == [("admin", "patch")]
    assert found[0].agent.startswith("firstlight/")


async def _has(lab: Lab, mark: str, since: float) -> bool:
    return audit_log.has(lab.home.audit_log, mark, since=since)
