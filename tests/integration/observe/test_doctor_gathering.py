"""What the doctor gathers from a real API server: fast, with few requests, and no value of a Secret."""

import base64
import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from firstlight.clients import kube as clients_kube
from firstlight.lab.running_lab import Lab
from firstlight.observe.cluster import kubernetes_survey
from firstlight.observe.cluster.observation import KINDS, WantedLog, kind_of
from tests.doctor.things import config_map, deployment
from tests.labs import until

CANARY = "g4th3rXq9Zt7Wp3"


async def test_all_kinds_in_few_requests_and_no_values(
    lab: Lab, kube: clients_kube.Client, faulty: clients_kube.Client, namespace: str
) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": namespace}}
    await kube.apply({**secret, "stringData": {"password": CANARY}}, manager="tests")
    await kube.apply({**config_map("plain", namespace), "data": {"a": CANARY}}, manager="tests")
    going = config_map("going", namespace, finalizers=["example.org/nobody"])
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
    spec = {"schedule": "@yearly", "jobTemplate": {"spec": {"template": template}}}
    await kube.apply({**going, "apiVersion": "batch/v1", "kind": "CronJob", "spec": spec}, manager="tests")
    await kube.delete("batch/v1", "CronJob", "going", namespace=namespace)
    await kube.apply(deployment("web", namespace, image="example.org/broken:1"), manager="tests")
    try:
        await until(lambda: _has_event(kube, namespace), "an event")
        before = len(await lab.faults.requests())
        seen = await kubernetes_survey.list_objects(faulty)
        asked = len(await lab.faults.requests()) - before
    finally:
        await kube.patch(
            "batch/v1", "CronJob", "going", {"metadata": {"finalizers": None}}, manager="tests", namespace=namespace
        )

    mine = {(kind_of(each), each["metadata"]["name"]) for each in seen.objects if _space(each) == namespace}
    assert {
        ("/Secret", "login"),
        ("/ConfigMap", "plain"),
        ("apps/Deployment", "web"),
        ("batch/CronJob", "going"),
    } <= mine
    assert next(each for each in seen.objects if each["metadata"]["name"] == "login")["keys"] == ["password"]
    raw = msgspec.json.encode([*seen.objects, *seen.events])
    assert CANARY.encode() not in raw
    assert base64.b64encode(CANARY.encode())[:16] not in raw
    assert any(_space(each) == namespace for each in seen.events)
    catalog = await kube.catalog()
    assert asked <= len({(each.group, each.kind) for each in catalog.resources.values()}) + 6
    assert "cilium.io/CiliumNode" in seen.unserved
    assert seen.unlisted == frozenset()
    assert seen.unseen == ()
    assert set(seen.unserved) < set(KINDS)


async def test_what_cannot_be_listed_is_said_and_stops_nothing(lab: Lab, faulty: clients_kube.Client) -> None:
    for resource in ("secrets", "deployments.apps", "statefulsets.apps"):
        await lab.faults.add("status", code=403, match={"classes": ["list"], "resources": [resource]})

    seen = await kubernetes_survey.list_objects(faulty)

    assert seen.unlisted == {"/Secret", "apps/Deployment", "apps/StatefulSet"}
    assert sorted(seen.unseen[0].partition(": ")[0].split(", ")) == ["Secret", "apps/Deployment", "apps/StatefulSet"]
    assert any(kind_of(each) == "/Node" for each in seen.objects)


async def test_an_api_that_is_not_there_is_told_soon(kube: clients_kube.Client) -> None:
    began = time.monotonic()
    gone = dataclasses.replace(kube.config, server="https://127.0.0.1:9")
    async with clients_kube.Client(gone, policy=kubernetes_survey.POLICY) as client:
        sight = await kubernetes_survey.observe_api(client)

    assert sight.is_reached is False
    assert sight.why
    assert time.monotonic() - began < 10


async def test_the_api_tells_until_when_its_certificates_last(kube: clients_kube.Client) -> None:
    sight = await kubernetes_survey.observe_api(kube)

    assert sight.is_reached is True
    assert sight.failed_checks == ()
    assert sight.serving_until is not None
    assert sight.serving_until > time.time()
    assert sight.kubeconfig_until is not None


async def test_logs_of_what_is_wanted(kube: clients_kube.Client, namespace: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talkative", "namespace": namespace}}
    await kube.apply({**pod, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}, manager="tests")

    async def runs() -> bool:
        found = await kube.get("v1", "Pod", "talkative", namespace=namespace)
        return bool(found["status"].get("phase") == "Running")

    await until(runs, "the pod")
    wanted = [WantedLog(namespace, "talkative", "a"), WantedLog(namespace, "nobody", "a")]

    found, unread = await kubernetes_survey.read_logs(kube, wanted)

    assert found == {f"{namespace}/talkative/a": ("one", "two")}
    assert "1 that no kubelet gave" in unread


async def _has_event(client: clients_kube.Client, space: str) -> bool:
    return bool((await client.list("v1", "Event", namespace=space)).items)


def _space(each: Mapping[str, Any]) -> str:
    return str(each["metadata"].get("namespace", ""))
