"""Objects applied to a real API server: what is equal is not written, what is others' is not touched."""

import asyncio
import copy
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import kube as kube_client
from firstlight.execute.actions import apply as action
from firstlight.execute.applying import writing
from firstlight.execute.applying.difference import Difference
from firstlight.execute.applying.survey import survey
from firstlight.execute.world import Programs, World
from firstlight.model import work
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.ownership import comparing
from tests.labs import until

MANAGER = "kustomize-controller"
EXAMPLES = 15


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


def world(client: kube_client.Client, tmp_path: Path) -> tuple[World, list[str]]:
    told: list[str] = []
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    made = World(cluster=cluster, programs=Programs(), resolve=unresolved, state=tmp_path)
    made.tell = lambda step, text: told.append(text)
    made._kube = client
    return made, told


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data,
    }  # fmt: skip


def deployment(namespace: str, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main", "image": "registry.example/main:1",
        "ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns"}, {"containerPort": 53, "name": "dns-tcp"}],
        "env": [
            {"name": "EMPTY", "value": ""},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ],
        "resources": {"limits": {"cpu": "1000m", "memory": "0.5Gi"}, "requests": {"cpu": 0.1, "memory": "64Mi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": False}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 0},
        "securityContext": {},
    }  # fmt: skip
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "main", "namespace": namespace},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "main"}},
            "template": {
                "metadata": {"labels": {"app": "main"}, "creationTimestamp": None},
                "spec": {
                    "containers": [container], "nodeSelector": {"disk": "fast"}, "hostNetwork": False,
                    "tolerations": [{"operator": "Exists"}], "volumes": [{"name": "data", "emptyDir": {}}],
                },
            },
            **spec,
        },
    }  # fmt: skip


def definition(plural: str, *versions: str, **annotations: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    group = f"{plural}.example.org"
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": plural.capitalize(), "plural": plural},
            "versions": [
                {"name": each, "served": True, "storage": each == versions[-1], "schema": schema} for each in versions
            ],
        },
    }  # fmt: skip


def others(namespace: str) -> list[dict[str, Any]]:
    """Kinds with defaults, quantities and atomic lists of their own."""
    place = {"namespace": namespace}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
             "resources": {"requests": {"storage": "1024Mi"}}}}  # fmt: skip
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "main", **place}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "main", **place, "labels": None},
         "spec": {"selector": {"app": "main"}, "ports": [{"port": 80, "name": "a"}, {"port": 443, "name": "b"}]}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "main", **place, "annotations": {}},
         "stringData": {"key": "hunter2"}, "data": {"other": "YQ=="}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "main", **place},
         "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}]}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "main", **place},
         "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "main", **place},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "main"}}}, "status": {}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "main", **place},
         "spec": {"replicas": 0, "serviceName": "main", "selector": {"matchLabels": {"app": "set"}},
                  "volumeClaimTemplates": [claim], "template": {
                      "metadata": {"labels": {"app": "set"}},
                      "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}}}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "main", **place},
         "spec": {"schedule": "0 0 * * *", "suspend": True, "jobTemplate": {"spec": {"template": {"spec": {
             "restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example/main:1"}]}}}}}},
    ]  # fmt: skip


def task(*values: Mapping[str, Any], manager: str = MANAGER, **more: Any) -> work.Apply:
    return work.Apply(objects=tuple(map(Object, values)), manager=manager, **more)


async def written(client: kube_client.Client, values: list[dict[str, Any]]) -> list[Any]:
    """What tells of every write but those of controllers: the entries of all others, with their times."""
    found = []
    for value in values:
        metadata = value["metadata"]
        live = await client.get(
            value["apiVersion"], value["kind"], metadata["name"], namespace=metadata.get("namespace")
        )
        entries = live["metadata"].get("managedFields") or ()
        found.append([each for each in entries if each["manager"] not in ("kube-controller-manager", "simulator")])
    return found


async def test_what_is_applied_is_equal_and_a_second_look_finds_nothing(
    kube: kube_client.Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = world(kube, tmp_path)
    values = [config_map(namespace, a="1"), deployment(namespace), *others(namespace)]

    change = await action.look(task(*values), here, "core/main")
    assert change is not None
    assert change.writes[0] == f"create ConfigMap {namespace}/settings"
    await change.perform()
    before = await written(kube, values)
    tried: list[str] = []
    really = kube.apply

    async def counted(obj: Mapping[str, Any], **more: Any) -> Any:
        tried.append(obj["kind"])
        return await really(obj, **more)

    monkeypatch.setattr(kube, "apply", counted)
    assert await action.look(task(*values), here, "core/main") is None
    assert sorted(tried) == [], "all of it is told without a dry run"
    monkeypatch.undo()
    # The server agrees: an apply leaves even the times in place.
    await writing.apply([Difference(object=Object(each), manager=MANAGER) for each in values[:2]], kube)
    assert await written(kube, values) == before


async def test_drift_is_found_and_repaired(kube: kube_client.Client, namespace: str, tmp_path: Path) -> None:
    here, _ = world(kube, tmp_path)
    wanted = task(config_map(namespace, a="1", b="2"), deployment(namespace))
    change = await action.look(wanted, here, "s")
    assert change is not None
    await change.perform()
    await kube.patch(
        "v1", "ConfigMap", "settings", {"data": {"a": "x", "extra": "y"}}, manager="kubectl-edit", namespace=namespace
    )
    await kube.patch("apps/v1", "Deployment", "main", {"spec": {"paused": True}}, manager="person", namespace=namespace)

    change = await action.look(wanted, here, "s")
    assert change is not None
    assert change.writes == (f"apply ConfigMap {namespace}/settings",)
    await change.perform()
    live = await kube.get("v1", "ConfigMap", "settings", namespace=namespace)
    assert live["data"] == {"a": "1", "b": "2", "extra": "y"}, "what somebody added stays"
    assert await action.look(wanted, here, "s") is None


async def test_a_field_that_git_no_longer_has_goes(kube: kube_client.Client, namespace: str, tmp_path: Path) -> None:
    here, _ = world(kube, tmp_path)
    first = await action.look(task(config_map(namespace, a="1", b="2")), here, "s")
    assert first is not None
    await first.perform()

    change = await action.look(task(config_map(namespace, a="1")), here, "s")
    assert change is not None
    assert change.writes == (f"change ConfigMap {namespace}/settings (data.b)",)
    await change.perform()
    assert (await kube.get("v1", "ConfigMap", "settings", namespace=namespace))["data"] == {"a": "1"}


async def test_what_an_engine_has_is_only_read(kube: kube_client.Client, namespace: str, tmp_path: Path) -> None:
    here, told = world(kube, tmp_path)
    theirs = config_map(namespace, a="1")
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    await kube.apply({**theirs, "metadata": {**theirs["metadata"], "labels": labels}}, manager=MANAGER)
    before = await written(kube, [theirs])

    assert await action.look(task(theirs), here, "s") is None
    assert told == []
    assert await action.look(task(config_map(namespace, a="2")), here, "s") is None
    whose = "it is left to flux: Kustomization flux-system/apps"
    assert told == [f"ConfigMap {namespace}/settings differs from the repo in data.a; {whose}"]
    assert await written(kube, [theirs]) == before


@pytest.mark.parametrize("is_there", [False, True])
async def test_what_an_engine_takes_between_the_look_and_the_write_is_left_to_it(
    kube: kube_client.Client, namespace: str, tmp_path: Path, is_there: bool
) -> None:
    here, told = world(kube, tmp_path)
    if is_there:
        await kube.apply(config_map(namespace, a="0"), manager=MANAGER)
    change = await action.look(task(config_map(namespace, a="1"), config_map(namespace, "b", a="1")), here, "s")
    assert change is not None
    theirs = config_map(namespace, a="2", added="by Git")
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    await kube.apply({**theirs, "metadata": {**theirs["metadata"], "labels": labels}}, manager=MANAGER)

    await change.perform()

    live = await kube.get("v1", "ConfigMap", "settings", namespace=namespace)
    assert (live["metadata"].get("labels"), live["data"]) == (labels, theirs["data"])
    assert len(told) == 1
    assert told[0].endswith("it is left to flux: Kustomization flux-system/apps")
    assert await kube.get("v1", "ConfigMap", "b", namespace=namespace), "the rest goes on"


async def test_what_somebody_writes_between_the_look_and_the_write_is_looked_at_again(
    kube: kube_client.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    names = ["new", "old", "gone", "once"]
    await kube.apply(config_map(namespace, "old", a="0"), manager=MANAGER)
    await kube.apply(config_map(namespace, "gone", a="0"), manager=MANAGER)
    wanted = [config_map(namespace, each, a="1") for each in names]
    change = await action.look(task(*wanted, once=frozenset({Object(wanted[3]).id})), here, "s")
    assert change is not None
    await kube.apply(config_map(namespace, "new", b="2"), manager="person")
    await kube.apply(config_map(namespace, "old", b="2"), manager="person")
    await kube.apply(config_map(namespace, "once", b="2"), manager="person")
    await kube.delete("v1", "ConfigMap", "gone", namespace=namespace)

    await change.perform()

    live = {each: (await kube.get("v1", "ConfigMap", each, namespace=namespace))["data"] for each in names}
    both = {"a": "1", "b": "2"}
    assert live == {"new": both, "old": both, "gone": {"a": "1"}, "once": {"b": "2"}}


async def test_fields_of_strangers_are_refused_and_own_ones_are_taken(
    kube: kube_client.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    await kube.apply(config_map(namespace, a="1"), manager=MANAGER)
    await kube.apply(config_map(namespace, a="2"), manager="autoscaler", force=True)
    await kube.apply(config_map(namespace, "ours", a="2"), manager="talos")

    wanted = [config_map(namespace, a="3"), config_map(namespace, "ours", a="3")]
    change = await action.look(task(wanted[1]), here, "s")
    assert change is not None
    await change.perform()
    assert (await kube.get("v1", "ConfigMap", "ours", namespace=namespace))["data"] == {"a": "3"}
    change = await action.look(task(*wanted), here, "s")
    assert change is not None
    with pytest.raises(errors.Refused, match=r"settings are owned by others.*\.data\.a by autoscaler"):
        await change.perform()
    assert (await kube.get("v1", "ConfigMap", "settings", namespace=namespace))["data"] == {"a": "2"}


async def test_a_definition_and_its_kind_come_in_one_go(
    kube: kube_client.Client, namespace: str, tmp_path: Path
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

    change = await action.look(task(*values), here, "s")
    assert change is not None
    await change.perform()
    try:
        assert await action.look(task(*values), here, "s") is None
    finally:
        await kube.delete("v1", "Namespace", space)
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{plural}.example.org")


async def test_a_live_definition_is_not_downgraded(kube: kube_client.Client, tmp_path: Path) -> None:
    here, _ = world(kube, tmp_path)
    plural = f"t{uuid.uuid4().hex[:6]}s"
    stamp = "app.kubernetes.io/version"
    newer = definition(plural, "v1beta1", "v1", **{stamp: "v1.19.0"})
    change = await action.look(task(newer), here, "s")
    assert change is not None
    await change.perform()
    before = await written(kube, [newer])
    try:
        with pytest.raises(errors.Refused, match="objects may be stored as v1, which it does not know"):
            await action.look(task(definition(plural, "v1beta1")), here, "s")
        with pytest.raises(errors.Refused, match=r"the live one is of v1\.19\.0, and it is of v1\.18\.2"):
            await action.look(task(definition(plural, "v1beta1", "v1", **{stamp: "v1.18.2"})), here, "s")
        assert await written(kube, [newer]) == before
        later = definition(plural, "v1", **{stamp: "v1.20.0"})
        assert await action.look(task(later), here, "s") is not None, "an old version that nothing is stored as may go"
    finally:
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{plural}.example.org")


async def test_an_object_on_its_way_out_is_waited_for(kube: kube_client.Client, namespace: str, tmp_path: Path) -> None:
    here, told = world(kube, tmp_path)
    held = config_map(namespace, a="1")
    held["metadata"]["finalizers"] = ["example.org/held"]
    await kube.apply(held, manager="tests")
    await kube.delete("v1", "ConfigMap", "settings", namespace=namespace)

    change = await action.look(task(config_map(namespace, a="2")), here, "s")
    assert change is not None
    assert change.writes == (f"create ConfigMap {namespace}/settings again, once it is gone",)
    found = await survey([Object(config_map(namespace, a="2"))], kube, manager=MANAGER)
    with pytest.raises(errors.TimedOut, match=r"settings is being deleted, and held by example\.org/held"):
        await writing.apply(found, kube, patience=0.1)

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


async def test_a_kind_that_is_not_served_is_waited_for_and_said(kube: kube_client.Client) -> None:
    plain = definition("gears", "v1")
    rival = definition("cogs", "v1")
    rival["metadata"]["name"] = "cogs.gears.example.org"
    rival["spec"]["group"] = "gears.example.org"
    rival["spec"]["names"]["listKind"] = "GearsList"
    told: list[str] = []
    try:
        await writing.apply(await survey([Object(plain)], kube, manager="firstlight"), kube)
        found = await survey([Object(rival)], kube, manager="firstlight")
        with pytest.raises(errors.TimedOut, match=r"cogs\.gears\.example\.org is applied, and"):
            await writing.apply(found, kube, patience=5, tell=told.append)
    finally:
        for each in (plain, rival):
            await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", each["metadata"]["name"])

    assert [text for text in told if "is applied, and" in text]


async def test_all_failures_are_named_and_no_secret_is(
    kube: kube_client.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace},
              "data": {"key": "hunter2!"}}  # fmt: skip
    odd = {**config_map(namespace, "odd"), "data": {"in valid": "x"}}
    change = await action.look(task(secret, odd, config_map(namespace, "fine")), here, "s")
    assert change is not None
    with pytest.raises(errors.ClientError, match=r"(?s)2 of 3 objects were not applied.*Secret.*ConfigMap") as error:
        await change.perform()
    assert "hunter2" not in f"{error.value} {error.value.hint}"
    assert await kube.get("v1", "ConfigMap", "fine", namespace=namespace)


async def test_an_unknown_kind_is_waited_for_and_named(kube: kube_client.Client, namespace: str) -> None:
    value = {"apiVersion": "none.example.org/v1", "kind": "None", "metadata": {"name": "x", "namespace": namespace}}
    told: list[str] = []
    found = await survey([Object(value)], kube, manager=MANAGER)
    with pytest.raises(errors.ClientError, match=r"None .*/x cannot be applied: no kind None in none\.example\.org/v1"):
        await writing.apply(found, kube, patience=0.2, tell=told.append)
    assert len(told) == 1


async def test_a_webhook_that_does_not_answer_is_waited_for_and_named(kube: kube_client.Client, namespace: str) -> None:
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
                except kube_client.ServerError:
                    return
                await asyncio.sleep(0.05)

        await asyncio.wait_for(refused(), 30)
        text = f"ConfigMap {namespace}/settings cannot be applied: the webhook {name} does not answer"
        with pytest.raises(errors.ClientError, match=text):
            await writing.apply(found, kube, patience=0.2)
    finally:
        await kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", namespace)


# Never "equal" where the server would change something: the server itself is the oracle.


def _edits() -> st.SearchStrategy[list[tuple[str, Any]]]:
    values = st.sampled_from(
        [None, "", "x", "1", "1000m", "1", 0, 1, 2, 53, False, True, [], {}, ["x"], {"a": "b"}, "remove"]
    )
    paths = st.sampled_from(
        [
            "metadata.labels", "metadata.annotations.a", "spec.replicas", "spec.paused", "spec.minReadySeconds",
            "spec.template.metadata.annotations", "spec.template.spec.nodeSelector",
            "spec.template.spec.nodeSelector.protocol",
            "spec.template.spec.hostNetwork", "spec.template.spec.tolerations",
            "spec.template.spec.containers.0.image", "spec.template.spec.containers.0.args",
            "spec.template.spec.containers.0.env.0.value", "spec.template.spec.containers.0.env",
            "spec.template.spec.containers.0.ports.0.containerPort",
            "spec.template.spec.containers.0.ports.0.protocol",
            "spec.template.spec.containers.0.ports.1.protocol", "spec.template.spec.containers.0.ports",
            "spec.template.spec.containers.0.resources.limits.cpu",
            "spec.template.spec.containers.0.resources.requests.cpu",
            "spec.template.spec.containers.0.resources", "spec.template.spec.containers.0.securityContext",
            "spec.template.spec.containers.0.volumeMounts.0.readOnly",
            "spec.template.spec.containers.0.readinessProbe.initialDelaySeconds",
            "spec.template.spec.containers.0.env.1.valueFrom.fieldRef.apiVersion",
            "spec.template.spec.containers.0.env.2.valueFrom.resourceFieldRef.divisor",
            "spec.template.spec.volumes.0.emptyDir.sizeLimit", "spec.template.spec.securityContext",
        ]
    )  # fmt: skip
    return st.lists(st.tuples(paths, values), max_size=3)


def _edited(value: dict[str, Any], edits: list[tuple[str, Any]]) -> dict[str, Any]:
    made = copy.deepcopy(value)
    for path, new in edits:
        *way, leaf = path.split(".")
        at: Any = made
        try:
            for part in way:
                at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
            if new == "remove":
                del at[leaf]
            else:
                at[leaf] = copy.deepcopy(new)
        except (KeyError, TypeError, IndexError, AttributeError, ValueError):
            continue  # an edit before it took the way away
    return made


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(first=_edits(), second=_edits(), foreign=_edits())
async def test_equal_is_never_said_where_an_apply_would_change_something(
    kube: kube_client.Client, namespace: str, first: Any, second: Any, foreign: Any
) -> None:
    name = f"d-{uuid.uuid4().hex[:8]}"
    base = deployment(namespace)
    base["metadata"]["name"] = name
    try:
        await kube.apply(_edited(base, first), manager=MANAGER)
        if foreign:
            await kube.apply(_edited(base, foreign), manager="somebody", force=True)
    except (kube_client.ApiError, errors.ClientError):
        return
    for edits in (first, second):
        wanted = _edited(base, edits)
        live = await kube.get("apps/v1", "Deployment", name, namespace=namespace)
        said = comparing.compare(wanted, live, manager=MANAGER)
        if said.likeness == comparing.Likeness.EQUAL:
            before, after = await _tried(kube, wanted)
            assert comparing.is_same(before, after), (edits, comparing.changes(before, after))


async def _tried(kube: kube_client.Client, wanted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An object before and after a dry run, while no controller writes to it."""
    metadata = wanted["metadata"]
    while True:
        before = await kube.get("apps/v1", "Deployment", metadata["name"], namespace=metadata["namespace"])
        after = await kube.apply(wanted, manager=MANAGER, dry_run=True)
        then = await kube.get("apps/v1", "Deployment", metadata["name"], namespace=metadata["namespace"])
        if before["metadata"]["resourceVersion"] == then["metadata"]["resourceVersion"]:
            return before, after
