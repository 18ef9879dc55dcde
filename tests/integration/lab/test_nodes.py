"""Nodes and pods of the lab behave as on machines, as far as the lab promises."""

import asyncio
import dataclasses
import ssl
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import Client
from firstlight.lab.running_lab import Lab
from firstlight.model.secret import Secret
from tests.labs import condition, until


def deployment(
    name: str, namespace: str, *, replicas: int = 1, image: str = "registry.example/app:1", **pod: Any
) -> Any:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}], **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


async def pods(kube: Client, namespace: str, app: str) -> list[dict[str, Any]]:
    return list((await kube.list("v1", "Pod", namespace=namespace, labels=f"app={app}")).items)


async def test_a_deployment_becomes_available_with_pod_addresses_of_its_nodes(kube: Client, namespace: str) -> None:
    await kube.apply(deployment("web", namespace, replicas=2), manager="tests")

    async def available() -> bool:
        live = await kube.get("apps/v1", "Deployment", "web", namespace=namespace)
        return bool(live["status"].get("availableReplicas") == 2)

    await until(available, "two available replicas")
    nodes = {node["metadata"]["name"]: node for node in (await kube.list("v1", "Node")).items}
    for pod in await pods(kube, namespace, "web"):
        assert pod["status"]["podIP"].startswith(nodes[pod["spec"]["nodeName"]]["spec"]["podCIDR"].rsplit(".", 1)[0])


async def test_ordinary_pods_stay_off_tainted_control_planes(kube: Client, namespace: str) -> None:
    await kube.apply(deployment("spread", namespace, replicas=4), manager="tests")

    async def running() -> list[dict[str, Any]]:
        found = await pods(kube, namespace, "spread")
        return found if len(found) == 4 and all(condition(pod, "Ready") == "True" for pod in found) else []

    assert {pod["spec"]["nodeName"] for pod in await until(running, "four ready pods")} == {"worker-1", "worker-2"}


async def test_anti_affinity_leaves_the_third_replica_pending_on_two_workers(kube: Client, namespace: str) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "apart"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    await kube.apply(deployment("apart", namespace, replicas=3, affinity=affinity), manager="tests")

    async def settled() -> list[dict[str, Any]]:
        found = await pods(kube, namespace, "apart")
        refused = [pod for pod in found if condition(pod, "PodScheduled") == "False"]
        ready = [pod for pod in found if condition(pod, "Ready") == "True"]
        return refused if len(ready) == 2 and refused else []

    refused = await until(settled, "two ready replicas and one that does not fit")
    message = refused[0]["status"]["conditions"][0]["message"]
    assert "didn't match pod anti-affinity rules" in message


async def test_a_broken_image_is_never_pulled_and_says_so(kube: Client, namespace: str) -> None:
    await kube.apply(deployment("bad", namespace, image="registry.example/broken:1"), manager="tests")

    async def refused() -> str:
        for pod in await pods(kube, namespace, "bad"):
            for status in pod["status"].get("containerStatuses", ()):
                return str(status["state"].get("waiting", {}).get("reason", ""))
        return ""

    async def backs_off() -> bool:
        return await refused() == "ImagePullBackOff"

    async def said() -> bool:
        # A kubelet's events are recorded beside the status, and may come after it.
        events = (await kube.list("v1", "Event", namespace=namespace)).items
        return any(event["type"] == "Warning" and "declared broken" in event["message"] for event in events)

    await until(backs_off, "the image pull to back off")
    await until(said, "an event that says why")
    assert not any(condition(pod, "Ready") == "True" for pod in await pods(kube, namespace, "bad"))


async def test_jobs_complete(kube: Client, namespace: str) -> None:
    spec = {"restartPolicy": "Never", "containers": [{"name": "once", "image": "registry.example/job:1"}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once", "namespace": namespace},
        "spec": {"template": {"spec": spec}},
    }
    await kube.apply(job, manager="tests")

    async def complete() -> bool:
        return condition(await kube.get("batch/v1", "Job", "once", namespace=namespace), "Complete") == "True"

    await until(complete, "the job to complete")


async def test_nodes_have_declared_addresses_and_no_loopback_anywhere(kube: Client) -> None:
    nodes = (await kube.list("v1", "Node")).items
    slices = (await kube.list("discovery.k8s.io/v1", "EndpointSlice", namespace="default")).items

    addresses = [each["address"] for node in nodes for each in node["status"]["addresses"]]
    endpoints = [address for each in slices for endpoint in each["endpoints"] for address in endpoint["addresses"]]
    assert sorted(addresses) == ["10.5.0.2", "10.5.0.3", "10.5.0.4", "cp-1", "worker-1", "worker-2"]
    assert endpoints
    assert not any(address.startswith("127.") for address in endpoints)


async def test_the_served_certificate_names_no_loopback_address(lab: Lab) -> None:
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate((lab.home.certificates / "apiserver.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]

    assert addresses
    assert not any(address.startswith("127.") for address in addresses)


async def test_logs_and_exec_are_answered_by_rule_and_nothing_is_executed(
    lab: Lab, kube: Client, namespace: str, programs: dict[str, Path]
) -> None:
    for name in ("talkative", "silent"):
        spec = {"containers": [{"name": "main", "image": "registry.example/app:1"}]}
        metadata = {"name": name, "namespace": namespace}
        await kube.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, manager="tests")

    async def ready() -> bool:
        found = (await kube.list("v1", "Pod", namespace=namespace)).items
        return all(condition(pod, "Ready") == "True" for pod in found)

    await until(ready, "the pods")
    kubectl = [str(programs["kubectl"]), "--kubeconfig", str(lab.kubeconfig), "-n", namespace]
    told, shown, refused = await asyncio.gather(
        command.run([*kubectl, "exec", "talkative", "--", "id"], check=False),
        command.run([*kubectl, "logs", "talkative"]),
        command.run([*kubectl, "exec", "silent", "--", "id"], check=False),
    )
    lines = [line async for line in kube.logs("silent", namespace=namespace)]

    assert (told.code, told.stdout) == (3, b"uid=7\n")
    assert shown.stdout == b"one\ntwo\n"
    assert refused.code == 126
    assert "no rule answers" in refused.stderr
    assert len(lines) == 1
    assert "simulated by the lab" in lines[0]


async def test_every_write_is_in_the_audit_log_with_its_user(lab: Lab, kube: Client, namespace: str) -> None:
    name = f"seen-{namespace}"
    await kube.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}, manager="tests"
    )

    async def entries() -> list[dict[str, Any]]:
        lines = lab.home.audit_log.read_bytes().splitlines()
        return [msgspec.json.decode(line) for line in lines if name.encode() in line]

    (entry,) = await until(entries, "the audit log")
    assert (entry["verb"], entry["user"]["username"], entry["level"]) == ("patch", "admin", "Metadata")


async def test_an_account_without_rights_is_refused(lab: Lab, kube: Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}

    async def account() -> bool:
        return bool((await kube.list("v1", "ServiceAccount", namespace=namespace)).items)

    await until(account, "the namespace's account")
    answer = await kube.request(
        "POST", path, body=msgspec.json.encode(body), headers={"Content-Type": "application/json"}
    )
    assert isinstance(answer.document, dict)
    token = Secret(answer.document["status"]["token"])
    config = dataclasses.replace(
        clients_kube.load(lab.kubeconfig), client_certificate=b"", client_key=None, token=token
    )
    async with clients_kube.Client(config) as nobody:
        with pytest.raises(clients_kube.Forbidden, match=f"system:serviceaccount:{namespace}:default"):
            await nobody.list("v1", "Secret", namespace=namespace)


async def test_anonymous_requests_are_refused(lab: Lab) -> None:
    import aiohttp

    status = await lab.status()
    trust = ssl.create_default_context(cafile=str(lab.home.certificates / "ca.crt"))
    async with (
        aiohttp.ClientSession() as session,
        session.get(
            f"https://{status.loopback}:6443/api/v1/nodes", ssl=trust, server_hostname="kubernetes.default.svc"
        ) as answer,
    ):
        assert answer.status == 401
