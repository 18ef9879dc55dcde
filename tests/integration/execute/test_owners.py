"""Objects of every old owner passed to the engine on a real API server: what is predicted, refused and written."""

import asyncio
import base64
import copy
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.execute.actions import migrate_owners
from firstlight.execute.handover import migration
from firstlight.execute.handover import prediction as handover_prediction
from firstlight.execute.world import RunPrograms, World
from firstlight.lab import running_lab
from firstlight.model.cluster import Cluster
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import MigrateOwners
from firstlight.ownership import apply_form

KUSTOMIZATION = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")
RELEASE = ObjectOwner(Party.FLUX, "HelmRelease apps/web")
APPLICATION = ObjectOwner(Party.ARGOCD, "Application web")
MANAGERS = {
    KUSTOMIZATION: "kustomize-controller", RELEASE: "helm-controller", APPLICATION: "argocd-controller",
}  # fmt: skip
INVENTORY = {"config.k8s.io/owning-inventory": "talos-bootstrap-manifests-inventory"}
RULES = migration.MigrationRules(cluster="lab")


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


def world(client: clients_kube.Client, tmp_path: Path) -> tuple[World, list[str]]:
    told: list[str] = []
    made = World(
        cluster=Cluster(name="lab", place=Place("firstlight.yaml")), programs=RunPrograms(), resolve=unresolved,
        state=tmp_path,
    )  # fmt: skip
    made.tell = lambda step, text: told.append(text)
    made._kube = client
    return made, told


def passing(value: dict[str, Any], owner: ObjectOwner = KUSTOMIZATION) -> Passing:
    return Passing(object=Object(value), component="web", manager=MANAGERS[owner], owner=owner)


def task(values: Sequence[dict[str, Any]], owner: ObjectOwner = KUSTOMIZATION, **more: bool) -> MigrateOwners:
    return MigrateOwners(passing=tuple(passing(each, owner) for each in values), **more)


def deployment(namespace: str, name: str = "web") -> dict[str, Any]:
    container = {
        "name": "main", "image": "registry.example/main:1", "env": [{"name": "A", "value": "1"}],
        "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "0.1"}},
    }  # fmt: skip
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "annotations": {"example.org/note": "x"}},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }  # fmt: skip


def service(namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
    }  # fmt: skip


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data,
    }  # fmt: skip


def secret(namespace: str, **data: str) -> dict[str, Any]:
    encoded = {name: base64.b64encode(each.encode()).decode() for name, each in data.items()}
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": namespace}, "data": encoded,
    }  # fmt: skip


def annotated(value: dict[str, Any], annotations: dict[str, str]) -> dict[str, Any]:
    made = copy.deepcopy(value)
    made["metadata"]["annotations"] = {**made["metadata"].get("annotations", {}), **annotations}
    return made


async def by_talos(values: Sequence[dict[str, Any]], client: clients_kube.Client, kubectl: Callable[..., Any]) -> None:
    for each in values:
        await client.apply(annotated(each, INVENTORY), manager="talos", force=True)


async def by_old_talos(
    values: Sequence[dict[str, Any]], client: clients_kube.Client, kubectl: Callable[..., Any]
) -> None:
    for each in values:
        await client.create(each, manager="talos")


async def by_helm(values: Sequence[dict[str, Any]], client: clients_kube.Client, kubectl: Callable[..., Any]) -> None:
    for each in values:
        marks = {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "apps"}
        marked = annotated(each, marks)
        marked["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
        await client.apply(marked, manager="helm", force=True)


async def by_kubectl(
    values: Sequence[dict[str, Any]], client: clients_kube.Client, kubectl: Callable[..., Any]
) -> None:
    for each in values:
        await kubectl(each)


@pytest.fixture
def kubectl(lab: running_lab.Lab, programs: dict[str, Path], tmp_path: Path) -> Callable[[Any], Awaitable[None]]:
    """The real kubectl, which applies on the client's side."""

    async def apply(value: dict[str, Any]) -> None:
        file = tmp_path / "applied.json"
        file.write_bytes(msgspec.json.encode(value))
        await command.run([str(programs["kubectl"]), "--kubeconfig", str(lab.kubeconfig), "apply", "-f", str(file)])

    return apply


async def managers(client: clients_kube.Client, value: dict[str, Any]) -> set[tuple[str, str]]:
    live = await get(client, value)
    return {
        (each["manager"], each["operation"]) for each in live["metadata"]["managedFields"] if "subresource" not in each
    }


async def get(client: clients_kube.Client, value: dict[str, Any]) -> dict[str, Any]:
    metadata = value["metadata"]
    return await client.get(value["apiVersion"], value["kind"], metadata["name"], namespace=metadata["namespace"])


@pytest.mark.parametrize("bring", [by_talos, by_old_talos, by_helm, by_kubectl])
async def test_what_an_old_owner_brought_is_the_engines_alone(
    bring: Callable[..., Awaitable[None]],
    kube: clients_kube.Client,
    namespace: str,
    tmp_path: Path,
    kubectl: Callable[[Any], Awaitable[None]],
) -> None:
    values = [deployment(namespace), service(namespace), config_map(namespace, a="1"), secret(namespace, key="k")]
    await bring(values, kube, kubectl)
    here, told = world(kube, tmp_path)
    owner = RELEASE if bring is by_helm else KUSTOMIZATION

    change = await migrate_owners.look(task(values, owner), here, "owners")

    assert change is not None
    assert not change.danger
    assert len(change.writes) == len(values)
    assert all(f"to {MANAGERS[owner]}" in each for each in change.writes)
    assert "no pod is replaced" in told[0]

    await change.perform()

    assert await migrate_owners.look(task(values, owner), here, "owners") is None
    for value in values:
        assert await managers(kube, value) == {(MANAGERS[owner], "Apply")}
    # The only real proof: what is removed in Git goes, and nothing else.
    live = await get(kube, values[0])
    del values[0]["metadata"]["annotations"]
    wanted = apply_form.marked(values[0], owner, live=live)
    after = await kube.apply(wanted, manager=MANAGERS[owner])
    assert "example.org/note" not in after["metadata"].get("annotations", {})
    assert after["spec"] == live["spec"]


async def test_fields_that_git_does_not_have_are_named_and_nothing_is_written(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = config_map(namespace, kept="1", gone="2")
    keys = secret(namespace, kept="k1", lost="very-secret-value")
    await by_talos([there, keys], kube, lambda: None)
    git = [config_map(namespace, kept="1"), secret(namespace, kept="k1")]
    here, told = world(kube, tmp_path)

    with pytest.raises(errors.Refused) as refused:
        await migrate_owners.look(task(git), here, "owners")

    assert f"ConfigMap {namespace}/settings: data.gone" in refused.value.message
    assert f"Secret {namespace}/keys: data.lost" in refused.value.message
    assert "--allow-loss" in refused.value.hint
    assert keys["data"]["lost"] not in f"{refused.value.message}{told}"
    assert await managers(kube, there) == {("talos", "Apply")}

    change = await migrate_owners.look(task(git, is_loss_allowed=True), here, "owners")
    assert change is not None
    await change.perform()
    after = await kube.apply(apply_form.marked(git[0], KUSTOMIZATION), manager="kustomize-controller")
    assert after["data"] == {"kept": "1"}


async def test_a_field_that_another_one_keeps_is_not_lost(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = config_map(namespace, kept="1", shared="2")
    await by_talos([there], kube, lambda: None)
    await kube.apply(config_map(namespace, shared="2"), manager="injector")
    here, _ = world(kube, tmp_path)

    change = await migrate_owners.look(task([config_map(namespace, kept="1")]), here, "owners")

    assert change is not None
    await change.perform()
    assert await managers(kube, there) == {("kustomize-controller", "Apply"), ("injector", "Apply")}


async def test_what_cannot_be_changed_is_refused_before_anything_is_written(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = deployment(namespace)
    await by_talos([there, config_map(namespace, a="1")], kube, lambda: None)
    git = deployment(namespace)
    git["spec"]["selector"] = {"matchLabels": {"app": "web", "more": "1"}}
    git["spec"]["template"]["metadata"]["labels"]["more"] = "1"
    here, _ = world(kube, tmp_path)

    with pytest.raises(errors.Refused) as refused:
        await migrate_owners.look(task([git, config_map(namespace, a="1")]), here, "owners")

    assert f"Deployment {namespace}/web: spec.selector: field is immutable" in refused.value.message
    assert "firstlight boundary lab" in refused.value.hint
    assert await managers(kube, config_map(namespace)) == {("talos", "Apply")}


async def test_an_immutable_secret_is_refused_without_its_values(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = {**secret(namespace, key="an-old-value"), "immutable": True}
    await by_talos([there], kube, lambda: None)
    git = {**secret(namespace, key="a-new-value"), "immutable": True}
    here, _ = world(kube, tmp_path)

    with pytest.raises(errors.Refused) as refused:
        await migrate_owners.look(task([git]), here, "owners")

    assert f"Secret {namespace}/keys: data" in refused.value.message
    assert not any(each["data"]["key"] in refused.value.message for each in (there, git))


@pytest.mark.parametrize(
    ("change", "rolls"),
    [
        (lambda spec: spec["template"]["spec"]["containers"][0].update(image="registry.example/main:2"), True),
        (lambda spec: spec["template"]["metadata"].update(annotations={"checksum": "1"}), True),
        (lambda spec: spec.update(revisionHistoryLimit=3), False),
        (lambda spec: spec["template"]["spec"]["containers"][0].update(resources={"requests": {"cpu": "100m"}}), False),
        (lambda spec: None, False),
    ],
    ids=["image", "annotation-of-pods", "beside-the-pods", "written-otherwise", "nothing"],
)
async def test_replaced_pods_are_predicted(
    change: Callable[[dict[str, Any]], None], rolls: bool, kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    await by_talos([deployment(namespace)], kube, lambda: None)
    git = deployment(namespace)
    change(git["spec"])
    here, told = world(kube, tmp_path)

    found = await migrate_owners.look(task([git]), here, "owners")

    assert found is not None
    assert (f"Deployment {namespace}/web" in found.danger) is rolls
    assert ("no pod is replaced" in told[0]) is not rolls
    (prediction,) = await handover_prediction.predict([passing(git)], kube)
    assert prediction.rolls is rolls
    assert prediction.lost == ()
    # What was predicted is what happens.
    before = await get(kube, git)
    await found.perform()
    after = await kube.apply(apply_form.marked(git, KUSTOMIZATION), manager="kustomize-controller", force=True)
    assert (before["spec"]["template"] != after["spec"]["template"]) is rolls
    assert bool(prediction.changed) is (before["spec"] != after["spec"])


async def test_a_field_of_pods_that_goes_replaces_them(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = deployment(namespace)
    there["spec"]["template"]["spec"]["containers"][0]["env"].append({"name": "B", "value": "2"})
    await by_old_talos([there], kube, lambda: None)
    here, told = world(kube, tmp_path)

    change = await migrate_owners.look(task([deployment(namespace)], is_loss_allowed=True), here, "owners")

    assert change is not None
    assert f"Deployment {namespace}/web" in change.danger
    assert "1 field disappears, the pods of" in told[0]
    (found,) = await handover_prediction.predict([passing(deployment(namespace))], kube)
    assert found.lost == ("spec.template.spec.containers[name=main].env[name=B]",)


async def test_pods_that_are_replaced_only_by_hand_are_no_danger(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = deployment(namespace)
    there["kind"] = "DaemonSet"
    there["spec"].pop("replicas")
    there["spec"]["updateStrategy"] = {"type": "OnDelete"}
    there["spec"]["template"]["spec"]["nodeSelector"] = {"no": "such-node"}
    await by_talos([there], kube, lambda: None)
    git = copy.deepcopy(there)
    git["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/main:2"
    here, _ = world(kube, tmp_path)

    change = await migrate_owners.look(task([git]), here, "owners")

    assert change is not None
    assert not change.danger


async def test_pods_that_nobody_migrates_are_predicted_as_well(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    await kube.apply(deployment(namespace), manager="kustomize-controller")
    git = deployment(namespace)
    git["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/main:2"
    here, _ = world(kube, tmp_path)

    found = await migrate_owners.look(task([git]), here, "owners")

    assert found is not None
    assert found.writes == ()
    assert f"replaces the pods of Deployment {namespace}/web" in found.danger


async def test_what_the_engine_has_already_is_its_own_to_change(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    there = deployment(namespace)
    await by_talos([there], kube, lambda: None)
    await kube.apply(apply_form.marked(there, KUSTOMIZATION), manager="kustomize-controller", force=True)
    git = deployment(namespace)
    git["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/main:2"
    here, _ = world(kube, tmp_path)

    found = await migrate_owners.look(task([git]), here, "owners")

    assert found is not None
    assert not found.danger
    await found.perform()
    assert await managers(kube, there) == {("kustomize-controller", "Apply")}
    assert await migrate_owners.look(task([git]), here, "owners") is None


async def test_what_is_not_there_is_left_out(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    going = annotated(config_map(namespace, "going"), INVENTORY)
    going["metadata"]["finalizers"] = ["example.org/hold"]
    await kube.apply(going, manager="talos")
    await kube.delete("v1", "ConfigMap", "going", namespace=namespace)
    unknown = {"apiVersion": "example.org/v1", "kind": "Unknown", "metadata": {"name": "x", "namespace": namespace}}
    here, _ = world(kube, tmp_path)

    assert await migrate_owners.look(task([going, config_map(namespace), unknown]), here, "owners") is None

    await kube.patch(
        "v1", "ConfigMap", "going", {"metadata": {"finalizers": None}}, manager="tests", namespace=namespace
    )


async def test_what_others_write_meanwhile_is_read_again(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    values = [config_map(namespace, f"many-{number}", a="1") for number in range(12)]
    await by_talos(values, kube, lambda: None)
    found = await handover_prediction.find([passing(each) for each in values], kube)
    await asyncio.gather(
        *(kube.apply({**each, "data": {"other": "1"}}, manager="injector", force=True) for each in values)
    )

    await migration.migrate(found, kube, rules=RULES)

    for each in values:
        assert await managers(kube, each) == {("kustomize-controller", "Apply"), ("injector", "Apply")}


async def test_what_would_be_lost_only_now_is_not_written(kube: clients_kube.Client, namespace: str) -> None:
    there = config_map(namespace, a="1")
    await by_talos([there], kube, lambda: None)
    found = await handover_prediction.find([passing(there)], kube)
    await kube.apply(annotated(config_map(namespace, a="1", b="2"), INVENTORY), manager="talos")

    with pytest.raises(errors.Refused, match=r"data\.b"):
        await migration.migrate(found, kube, rules=RULES)

    assert await managers(kube, there) == {("talos", "Apply")}


async def test_a_run_that_was_killed_is_finished_by_the_next(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    values = [config_map(namespace, f"one-{number}", a="1") for number in range(3)]
    await by_talos(values, kube, lambda: None)
    first = await handover_prediction.find([passing(values[0])], kube)
    await migration.migrate(first, kube, rules=RULES)
    here, _ = world(kube, tmp_path)

    change = await migrate_owners.look(task(values), here, "owners")

    assert change is not None
    assert len(change.writes) == 2
    await change.perform()
    assert await migrate_owners.look(task(values), here, "owners") is None


async def test_argo_cd_gets_what_helm_left(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    values = [deployment(namespace), config_map(namespace, a="1")]
    await by_helm(values, kube, lambda: None)
    here, told = world(kube, tmp_path)

    change = await migrate_owners.look(task(values, APPLICATION), here, "owners")

    assert change is not None
    assert "Application web: Argo CD applies it: 2 objects get 1 annotation, no pod is replaced" in told
    await change.perform()
    assert await managers(kube, values[0]) == {("argocd-controller", "Apply")}
