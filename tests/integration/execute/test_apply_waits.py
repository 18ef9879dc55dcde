"""Objects that cannot be applied: what is waited for, what is refused, and what is named."""

import asyncio
import uuid
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.execute.actions import install
from firstlight.execute.apply import server_side_apply
from firstlight.execute.apply.object_survey import survey
from firstlight.model.rendition import Object
from tests.integration.execute.things_to_apply import MANAGER, config_map, definition, task, world, written
from tests.labs import until


async def test_a_definition_and_its_kind_come_in_one_go(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    plural = f"t{uuid.uuid4().hex[:6]}s"
    space = f"{namespace}-more"
    custom = {
        "apiVersion": f"{plural}.example.org/v1", "kind": plural.capitalize(),
        "metadata": {"name": "one", "namespace": space}, "spec": {"list": [{"a": 1}], "size": "1000m"},
    }  # fmt: skip
    values = [
        custom, definition(plural, "v1"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}},
    ]  # fmt: skip

    change = await install.look_apply(task(*values), here, "s")
    assert change is not None
    await change.perform()
    try:
        assert await install.look_apply(task(*values), here, "s") is None
    finally:
        await kube.delete("v1", "Namespace", space)
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{plural}.example.org")


async def test_a_live_definition_is_not_downgraded(kube: clients_kube.Client, tmp_path: Path) -> None:
    here, _ = world(kube, tmp_path)
    plural = f"t{uuid.uuid4().hex[:6]}s"
    stamp = "app.kubernetes.io/version"
    newer = definition(plural, "v1beta1", "v1", **{stamp: "v1.19.0"})
    change = await install.look_apply(task(newer), here, "s")
    assert change is not None
    await change.perform()
    before = await written(kube, [newer])
    try:
        with pytest.raises(errors.Refused, match="objects may be stored as v1, which it does not know"):
            await install.look_apply(task(definition(plural, "v1beta1")), here, "s")
        with pytest.raises(errors.Refused, match=r"the live one is of v1\.19\.0, and it is of v1\.18\.2"):
            await install.look_apply(task(definition(plural, "v1beta1", "v1", **{stamp: "v1.18.2"})), here, "s")
        assert await written(kube, [newer]) == before
        later = definition(plural, "v1", **{stamp: "v1.20.0"})
        assert await install.look_apply(task(later), here, "s") is not None, (
            "an old version that nothing is stored as may go"
        )
    finally:
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{plural}.example.org")


async def test_an_object_on_its_way_out_is_waited_for(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    here, told = world(kube, tmp_path)
    held = config_map(namespace, a="1")
    held["metadata"]["finalizers"] = ["example.org/held"]
    await kube.apply(held, manager="tests")
    await kube.delete("v1", "ConfigMap", "settings", namespace=namespace)

    change = await install.look_apply(task(config_map(namespace, a="2")), here, "s")
    assert change is not None
    assert change.writes == (f"create ConfigMap {namespace}/settings again, once it is gone",)
    found = await survey([Object(config_map(namespace, a="2"))], kube, manager=MANAGER)
    with pytest.raises(errors.TimedOut, match=r"settings is being deleted, and held by example\.org/held"):
        await server_side_apply.apply(found, kube, patience=0.1)

    async def let_go() -> None:
        async def is_told() -> bool:
            return bool(told)

        await until(is_told, "it to be waited for")
        await kube.patch(
            "v1", "ConfigMap", "settings", {"metadata": {"finalizers": None}}, manager="tests", namespace=namespace
        )

    await asyncio.gather(change.perform(), let_go())
    live = await kube.get("v1", "ConfigMap", "settings", namespace=namespace)
    assert (live["data"], live["metadata"].get("finalizers")) == ({"a": "2"}, None)


async def test_a_kind_that_is_not_served_is_waited_for_and_said(kube: clients_kube.Client) -> None:
    plain = definition("gears", "v1")
    rival = definition("cogs", "v1")
    rival["metadata"]["name"] = "cogs.gears.example.org"
    rival["spec"]["group"] = "gears.example.org"
    rival["spec"]["names"]["listKind"] = "GearsList"
    told: list[str] = []
    try:
        await server_side_apply.apply(await survey([Object(plain)], kube, manager="firstlight"), kube)
        found = await survey([Object(rival)], kube, manager="firstlight")
        with pytest.raises(errors.TimedOut, match=r"cogs\.gears\.example\.org is applied, and"):
            await server_side_apply.apply(found, kube, patience=5, tell=told.append)
    finally:
        for each in (plain, rival):
            await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", each["metadata"]["name"])

    assert [text for text in told if "is applied, and" in text]


async def test_all_failures_are_named_and_no_secret_is(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace},
              "data": {"key": "hunter2!"}}  # fmt: skip
    odd = {**config_map(namespace, "odd"), "data": {"in valid": "x"}}
    change = await install.look_apply(task(secret, odd, config_map(namespace, "fine")), here, "s")
    assert change is not None
    with pytest.raises(errors.ClientError, match=r"(?s)2 of 3 objects were not applied.*Secret.*ConfigMap") as error:
        await change.perform()
    assert "hunter2" not in f"{error.value} {error.value.hint}"
    assert await kube.get("v1", "ConfigMap", "fine", namespace=namespace)


async def test_an_unknown_kind_is_waited_for_and_named(kube: clients_kube.Client, namespace: str) -> None:
    value = {"apiVersion": "none.example.org/v1", "kind": "None", "metadata": {"name": "x", "namespace": namespace}}
    told: list[str] = []
    found = await survey([Object(value)], kube, manager=MANAGER)
    with pytest.raises(errors.ClientError, match=r"None .*/x cannot be applied: no kind None in none\.example\.org/v1"):
        await server_side_apply.apply(found, kube, patience=0.2, tell=told.append)
    assert len(told) == 1


async def test_a_webhook_that_does_not_answer_is_waited_for_and_named(
    kube: clients_kube.Client, namespace: str
) -> None:
    name = f"{namespace}.example.org"
    hook = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [{
            "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
            "timeoutSeconds": 2, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
            "clientConfig": {"service": {"name": "none", "namespace": namespace, "path": "/"}, "caBundle": ""},
        }],
    }  # fmt: skip
    await kube.apply(hook, manager="tests")
    try:
        found = await survey([Object(config_map(namespace, a="1"))], kube, manager=MANAGER)

        async def refused() -> None:
            # The API server takes a moment to know of a webhook; a dry run tells when it does.
            while True:
                try:
                    await kube.apply(config_map(namespace, "dry"), manager="tests", dry_run=True)
                except clients_kube.ServerError:
                    return
                await asyncio.sleep(0.05)

        await asyncio.wait_for(refused(), 30)
        text = f"ConfigMap {namespace}/settings cannot be applied: the webhook {name} does not answer"
        with pytest.raises(errors.ClientError, match=text):
            await server_side_apply.apply(found, kube, patience=0.2)
    finally:
        await kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", namespace)


# Never "equal" where the server would change something: the server itself is the oracle.
