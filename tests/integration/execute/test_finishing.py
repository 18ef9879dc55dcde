"""What is left to do for objects that the engine has already."""

import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube as clients_kube
from firstlight.execute.handover import migration
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object

ENGINE = "kustomize-controller"
OWNER = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")
LABELS = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


@pytest_asyncio.fixture
async def adopted(kube: clients_kube.Client) -> AsyncIterator[str]:
    """A Namespace that was applied with nothing but its name, and that the engine has adopted since."""
    name = f"bare-{uuid.uuid4().hex[:8]}"
    bare = namespace(name)
    assert "managedFields" not in (await kube.apply(bare, manager=ENGINE))["metadata"], "it has no owner at all"
    await kube.apply({**bare, "metadata": {"name": name, "labels": LABELS}}, manager=ENGINE)
    assert managers(await live(kube, name)) == {ENGINE, "before-first-apply"}, "as Kubernetes has it"
    yield name
    await kube.delete("v1", "Namespace", name)


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def passing(name: str) -> Passing:
    return Passing(object=Object(namespace(name)), component="apps", manager=ENGINE, owner=OWNER)


async def live(kube: clients_kube.Client, name: str) -> Mapping[str, Any]:
    return await kube.get("v1", "Namespace", name)


def managers(obj: Mapping[str, Any]) -> set[str]:
    return {each["manager"] for each in obj["metadata"].get("managedFields", ())}


async def test_the_engine_alone_owns_what_it_applied_to_an_object_without_owners(
    kube: clients_kube.Client, adopted: str
) -> None:
    await migration.finish([passing(adopted)], kube)

    found = await live(kube, adopted)
    assert len(found["metadata"]["managedFields"]) == 1, found["metadata"]
    (entry,) = found["metadata"]["managedFields"]
    assert entry["manager"] == ENGINE
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {f"f:{name}": {} for name in LABELS}}}
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == adopted, "what Kubernetes set stays"
    assert found["spec"]["finalizers"] == ["kubernetes"]


async def test_looking_again_writes_nothing(kube: clients_kube.Client, adopted: str) -> None:
    await migration.finish([passing(adopted)], kube)
    was = (await live(kube, adopted))["metadata"]["resourceVersion"]

    await migration.finish([passing(adopted)], kube)

    assert (await live(kube, adopted))["metadata"]["resourceVersion"] == was


async def test_what_the_engine_applies_meanwhile_is_not_taken_back(
    kube: clients_kube.Client, adopted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = kube.apply
    newer = {**namespace(adopted), "metadata": {"name": adopted, "labels": {**LABELS, "newer": "1"}}}
    written: list[str] = []

    async def apply(value: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
        answer = await original(value, **more)
        if more.get("dry_run") and not more.get("force") and not written:
            written.append("newer")
            await original(newer, manager=ENGINE)
        return answer

    monkeypatch.setattr(kube, "apply", apply)
    await migration.finish([passing(adopted)], kube)

    assert written, "the engine came between the dry run and the write"
    assert (await live(kube, adopted))["metadata"]["labels"]["newer"] == "1"


async def test_a_field_that_somebody_set_before_is_not_lost_by_it(kube: clients_kube.Client) -> None:
    name = f"bare-{uuid.uuid4().hex[:8]}"
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": "a"}}}
    await kube.apply(own, manager="before-first-apply")
    try:
        await kube.apply({**namespace(name), "metadata": {"name": name, "labels": LABELS}}, manager=ENGINE)

        await migration.finish([passing(name)], kube)

        found = await live(kube, name)
        assert found["metadata"]["labels"]["team"] == "a"
        assert managers(found) == {ENGINE, "before-first-apply"}, "the certificate tells of it"
    finally:
        await kube.delete("v1", "Namespace", name)


async def test_what_is_not_the_engines_yet_is_left_alone(kube: clients_kube.Client) -> None:
    name = f"bare-{uuid.uuid4().hex[:8]}"
    await kube.apply(namespace(name), manager=ENGINE)
    try:
        was = (await live(kube, name))["metadata"]["resourceVersion"]

        await migration.finish([passing(name)], kube)

        assert (await live(kube, name))["metadata"]["resourceVersion"] == was
    finally:
        await kube.delete("v1", "Namespace", name)
