"""What a handover meets on a real API server: conflicts, webhooks, defaults, atomic lists, immutables, versions."""

import uuid
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.ownership import migration as ownership_migration
from firstlight.ownership.field_set import FieldSet
from tests.integration.ownership import histories
from tests.labs import until

ENGINE = "kustomize-controller"
Object = dict[str, Any]


def config_map(namespace: str, **parts: Any) -> Object:
    metadata = {"name": "settings", "namespace": namespace, **parts.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **parts}


def deployment(namespace: str, **container: Any) -> Object:
    main = {"name": "main", "image": "registry.example/main:1", **container}
    labels = {"app": "main"}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "main", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": labels}, "replicas": 0,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [main]}},
        },
    }  # fmt: skip


async def read(kube: clients_kube.Client, obj: Object) -> Object:
    metadata = obj["metadata"]
    return await kube.get(obj["apiVersion"], obj["kind"], metadata["name"], namespace=metadata["namespace"])


async def patched(kube: clients_kube.Client, live: Object, body: list[Object], *, dry_run: bool = False) -> Object:
    metadata = live["metadata"]
    return await kube.patch(
        live["apiVersion"], live["kind"], metadata["name"], body, form="json", manager="firstlight-handover",
        namespace=metadata["namespace"], dry_run=dry_run,
    )  # fmt: skip


async def foretold(kube: clients_kube.Client, wanted: Object) -> tuple[Object, tuple[str, ...]]:
    live = await read(kube, wanted)
    answer = await patched(kube, live, ownership_migration.trial(live, wanted, to=ENGINE) or [], dry_run=True)
    return answer, ownership_migration.lost(live, wanted, to=ENGINE, answered=answer)


async def passed(kube: clients_kube.Client, wanted: Object, *, force: bool = True) -> Object:
    """An object after its migration and the first apply of the engine."""

    async def is_migrated() -> bool:
        live = await read(kube, wanted)
        migration = ownership_migration.migrate(live, to=ENGINE)
        if migration is not None:
            try:
                await patched(kube, live, ownership_migration.patch(live, migration))
            except clients_kube.Conflict:
                return False  # a controller wrote it in between
        return True

    await until(is_migrated, "nobody to write in between")
    return await kube.apply(wanted, manager=ENGINE, force=force)


def owners(live: Object) -> dict[str, FieldSet]:
    entries = live["metadata"]["managedFields"]
    return {f"{each['manager']} {each['operation']}": FieldSet.of(each["fieldsV1"]) for each in entries}


async def test_who_writes_in_between_makes_the_patch_fail(kube: clients_kube.Client, namespace: str) -> None:
    live = await kube.apply(config_map(namespace, data={"a": "1"}), manager="talos")
    migration = ownership_migration.migrate(live, to=ENGINE)
    assert migration is not None
    await kube.apply(config_map(namespace, data={"b": "2"}), manager="somebody")
    with pytest.raises(clients_kube.Conflict):
        await patched(kube, live, ownership_migration.patch(live, migration))
    assert set(owners(await read(kube, live))) == {"talos Apply", "somebody Apply"}


async def test_a_migration_changes_owners_alone(kube: clients_kube.Client, namespace: str) -> None:
    live = await kube.apply(config_map(namespace, data={"a": "1", "b": "2"}), manager="talos")
    migration = ownership_migration.migrate(live, to=ENGINE)
    assert migration is not None
    after = await patched(kube, live, ownership_migration.patch(live, migration))
    assert after["data"] == live["data"]
    assert owners(after) == {f"{ENGINE} Apply": owners(live)["talos Apply"]}
    # Now Git has it alone: what is left out goes.
    gone = await kube.apply(config_map(namespace, data={"a": "1"}), manager=ENGINE)
    assert gone["data"] == {"a": "1"}


async def test_without_a_migration_a_field_stays_for_ever(kube: clients_kube.Client, namespace: str) -> None:
    await kube.apply(config_map(namespace, data={"a": "1", "b": "2"}), manager="talos")
    await kube.apply(config_map(namespace, data={"a": "1", "b": "2"}), manager=ENGINE)
    stays = await kube.apply(config_map(namespace, data={"a": "1"}), manager=ENGINE, force=True)
    assert stays["data"] == {"a": "1", "b": "2"}
    gone = await passed(kube, config_map(namespace, data={"a": "1"}))
    assert gone["data"] == {"a": "1"}


async def test_a_conflict_with_a_controller_is_told_and_its_field_is_not_taken(
    kube: clients_kube.Client, namespace: str
) -> None:
    await kube.apply(config_map(namespace, data={"a": "1", "ca": "old"}), manager="talos")
    await kube.apply(config_map(namespace, data={"ca": "new"}), manager="cainjector", force=True)
    wanted = config_map(namespace, data={"a": "2", "ca": "old"})
    with pytest.raises(clients_kube.Conflict, match="cainjector"):
        await passed(kube, wanted, force=False)
    live = await read(kube, wanted)
    assert live["data"] == {"a": "1", "ca": "new"}
    assert set(owners(live)) == {f"{ENGINE} Apply", "cainjector Apply"}
    # With Talos it was no conflict any more: its field had passed.
    after = await kube.apply(config_map(namespace, data={"a": "2"}), manager=ENGINE)
    assert after["data"] == {"a": "2", "ca": "new"}


async def test_what_a_webhook_adds_is_nobodys_and_stays(kube: clients_kube.Client, namespace: str) -> None:
    name = f"{namespace}-marks"
    api = "admissionregistration.k8s.io/v1"
    spec: Object = {
        "failurePolicy": "Fail", "reinvocationPolicy": "Never",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
            ],
        },
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": 'Object{metadata: Object.metadata{annotations: {"added": "by a webhook"}}}'
                },
            }
        ],
    }  # fmt: skip
    policy = {"apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}
    binding = {
        "apiVersion": api,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }
    try:
        await kube.apply(policy, manager="tests")
        await kube.apply(binding, manager="tests")
        noted = {"annotations": {"note": "x"}}

        async def is_mutated() -> bool:
            probe = config_map(namespace, data={"a": "1"}, metadata={**noted, "name": "probe"})
            seen = await kube.create(probe, manager="talos", dry_run=True)
            return "added" in seen["metadata"]["annotations"]

        await until(is_mutated, "the policy to be in force")
        live = await kube.apply(config_map(namespace, data={"a": "1", "b": "2"}, metadata=noted), manager="talos")
        assert live["metadata"]["annotations"]["added"] == "by a webhook"
        assert not any("added" in str(each.paths) for each in owners(live).values())
        # Git has no annotation at all: the map goes, and the webhook fills it anew, in the dry run as in the end.
        wanted = config_map(namespace, data={"a": "1"})
        answer, lost = await foretold(kube, wanted)
        after = await passed(kube, wanted)
        assert lost == ("data.b", "metadata.annotations.note")
        assert after["metadata"]["annotations"] == answer["metadata"]["annotations"] == {"added": "by a webhook"}
    finally:
        for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
            await kube.delete(api, kind, name)


async def test_defaults_are_no_loss(kube: clients_kube.Client, namespace: str) -> None:
    # Created, as Talos did it up to 1.12, an object's defaults are its creator's.
    live = await kube.create(deployment(namespace, imagePullPolicy="Always"), manager="talos")
    assert owners(live)["talos Update"].has(("f:spec", "f:progressDeadlineSeconds"))
    wanted = deployment(namespace)
    plain = ownership_migration.lost(live, wanted, to=ENGINE)
    assert "spec.progressDeadlineSeconds" in plain
    answer, lost = await foretold(kube, wanted)
    assert lost == ("spec.template.spec.containers[name=main].imagePullPolicy",)
    after = await passed(kube, wanted)
    assert after["spec"] == answer["spec"]
    assert after["spec"]["progressDeadlineSeconds"] == live["spec"]["progressDeadlineSeconds"]


async def test_an_atomic_list_is_replaced_and_never_mixed(kube: clients_kube.Client, namespace: str) -> None:
    await kube.apply(deployment(namespace, args=["--a", "--b"], command=["/main"]), manager="talos")
    wanted = deployment(namespace, args=["--a"])
    answer, lost = await foretold(kube, wanted)
    assert lost == ("spec.template.spec.containers[name=main].command",)
    after = await passed(kube, wanted)
    [container] = after["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["--a"]
    assert "command" not in container
    assert after["spec"] == answer["spec"]


async def test_an_immutable_field_is_refused_before_anything_is_done(kube: clients_kube.Client, namespace: str) -> None:
    await kube.apply(deployment(namespace), manager="talos")
    wanted = deployment(namespace)
    wanted["spec"]["selector"]["matchLabels"] = wanted["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    live = await read(kube, wanted)
    with pytest.raises(clients_kube.Invalid, match="immutable"):
        await patched(kube, live, ownership_migration.trial(live, wanted, to=ENGINE), dry_run=True)
    assert set(owners(await read(kube, wanted))) >= {"talos Apply"}


async def test_a_half_owned_container_goes_whole(kube: clients_kube.Client, namespace: str) -> None:
    two = deployment(namespace)
    containers = two["spec"]["template"]["spec"]["containers"]
    containers.append({"name": "side", "image": "registry.example/side:1"})
    await kube.apply(two, manager="helm")
    step = [{"op": "replace", "path": "/spec/template/spec/containers/1/image", "value": "registry.example/side:2"}]
    live = await kube.patch("apps/v1", "Deployment", "main", step, form="json", manager="pinner", namespace=namespace)
    assert "pinner Update" in owners(live)
    await until(lambda: _is_seen(kube, namespace), "the controller to have written the new revision")
    wanted = deployment(namespace)
    _, lost = await foretold(kube, wanted)
    assert lost == ("spec.template.spec.containers[name=side]",)
    after = await passed(kube, wanted)
    assert [each["name"] for each in after["spec"]["template"]["spec"]["containers"]] == ["main"]


async def _is_seen(kube: clients_kube.Client, namespace: str) -> bool:
    live = await kube.get("apps/v1", "Deployment", "main", namespace=namespace)
    return bool((live.get("status") or {}).get("observedGeneration") == live["metadata"]["generation"])


async def test_versions_of_a_custom_resource(kube: clients_kube.Client, namespace: str) -> None:
    plural = f"versioned{uuid.uuid4().hex[:6]}s"
    crd = histories.crd(plural, "v1beta1", "v1")
    kind = crd["spec"]["names"]["kind"]
    await kube.apply(crd, manager="tests")

    def sample(version: str, **spec: Any) -> Object:
        metadata = {"name": "one", "namespace": namespace}
        return {"apiVersion": f"{histories.GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}

    async def is_served() -> bool:
        try:
            await kube.apply(sample("v1beta1", text="x", tags=["a"]), manager="talos")
        except (clients_kube.ApiError, errors.ClientError):
            return False
        return True

    try:
        await until(is_served, "the kind to be served")
        await kube.apply(sample("v1", text="x", whole=["a"]), manager="helm")
        wanted = sample("v1", text="x")
        live = await read(kube, wanted)
        assert {each["apiVersion"] for each in live["metadata"]["managedFields"]} == {
            f"{histories.GROUP}/v1", f"{histories.GROUP}/v1beta1",
        }  # fmt: skip
        migration = ownership_migration.migrate(live, to=ENGINE)
        assert migration is not None
        assert [each.manager for each in migration.taken] == ["helm"]
        assert [each.manager for each in migration.discarded] == ["talos"]
        assert ownership_migration.lost(live, wanted, to=ENGINE) == ("spec.whole",)
        after = await passed(kube, wanted)
        assert after["spec"] == {"text": "x", "tags": ["a"], "filled": "by the server"}  # tags are nobody's now
        assert set(owners(after)) == {f"{ENGINE} Apply"}
        # What Git has is Git's alone: left out, it goes.
        gone = await kube.apply(sample("v1", pair={"a": "x"}), manager=ENGINE)
        assert "text" not in gone["spec"]
    finally:
        await kube.delete(crd["apiVersion"], crd["kind"], crd["metadata"]["name"])
