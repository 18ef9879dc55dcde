"""What is foretold of a migration, held against what a real API server does."""

import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings, strategies

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.ownership import apply_comparison, field_set, field_values
from firstlight.ownership import migration as ownership_migration
from firstlight.ownership.field_set import FieldSet, Path, path_text
from tests.integration.ownership import histories
from tests.integration.ownership.histories import ENGINE, History, Object
from tests.labs import until

pytestmark = pytest.mark.usefixtures("samples")
REVISION = "deployment.kubernetes.io/revision"
EXAMPLES = 12 if settings().derandomize else 100
"""More of them, and new ones, with --everything."""


@pytest_asyncio.fixture(scope="module")
async def samples(kube: clients_kube.Client) -> AsyncIterator[None]:
    crd = histories.crd()
    await kube.apply(crd, manager="tests")

    async def is_served() -> bool:
        try:
            return bool(await kube.list(f"{histories.GROUP}/v1", "Sample")) is not None
        except (clients_kube.ApiError, errors.ClientError):
            return False

    await until(is_served, "the kind to be served")
    yield
    await kube.delete(crd["apiVersion"], crd["kind"], crd["metadata"]["name"])


def whole(kind: str, namespace: str, name: str, body: Object) -> Object:
    metadata = {**body.get("metadata", {}), "name": name, "namespace": namespace}
    return {**body, "apiVersion": histories.KINDS[kind][0], "kind": kind, "metadata": metadata}


def essence(value: Mapping[str, Any]) -> Object:
    """An object without what the server and its controllers write."""
    metadata = {
        name: part
        for name, part in value["metadata"].items()
        if name not in ("managedFields", "resourceVersion", "generation")
    }
    annotations = {name: each for name, each in (metadata.pop("annotations", None) or {}).items() if name != REVISION}
    metadata["annotations"] = annotations
    made: Object = filled({**{name: part for name, part in value.items() if name != "status"}, "metadata": metadata})
    return made


def filled(value: Any) -> Any:
    """A value without empty maps and lists: what an apply has emptied is there for some kinds, and not for others."""
    if isinstance(value, dict):
        return {name: part for name, each in value.items() if (part := filled(each)) not in ({}, [], None)}
    return [filled(each) for each in value] if isinstance(value, list) else value


async def written(kube: clients_kube.Client, kind: str, namespace: str, history: History) -> str:
    """The name of an object with that past; empty if the server would not have it."""
    name = f"o-{uuid.uuid4().hex[:8]}"
    for number, write in enumerate(history.writes):
        body = whole(kind, namespace, name, write.body)
        try:
            if write.is_apply:
                await kube.apply(body, manager=write.manager, force=True)
            elif number == 0:
                await kube.create(body, manager=write.manager)
            else:
                await kube.patch(body["apiVersion"], kind, name, write.body, manager=write.manager, namespace=namespace)
        except (clients_kube.Invalid, clients_kube.BadRequest):
            if number == 0:
                return ""
    return name


def really_gone(live: Object, after: Object, wanted: Object) -> set[str]:
    """The fields that are not there any more, or that the server has filled in anew; one for all of a list item."""
    shape = field_set.FieldShape(live)
    kept = field_set.fields_of_object(wanted, shape).paths
    there = field_set.fields_of_object(essence(live), shape).paths
    above = {path[:length] for path in there for length in range(1, len(path))}
    gone: set[Path] = set()
    for path in there - kept:
        value = field_values.at(after, path)
        if value is field_values.ABSENT or (path not in above and value != field_values.at(live, path)):
            gone.add(path)
    above = {path[:length] for path in gone for length in range(1, len(path))}
    items = {path for path in gone if path[-1][:2] in ("k:", "v:")}
    return {
        path_text(path)
        for path in gone
        if not any(path[:length] in items for length in range(1, len(path)))
        and not (path in above and path[-1].startswith("f:"))
        and (path in items or field_values.at(live, path) not in ({}, []))
    }


def empties(live: Object) -> set[str]:
    """What is there and empty: whether it goes with the rest makes no difference."""
    there = field_set.fields_of_object(live, field_set.FieldShape(live)).paths
    return {path_text(path) for path in there if field_values.at(live, path) in ({}, [])}


async def migrated(
    kube: clients_kube.Client, live: Object, wanted: Object
) -> tuple[Object, tuple[str, ...], Object | None]:
    """The object as it is after its migration and the first apply, with what was foretold: the fields, the object."""
    api_version, kind = live["apiVersion"], live["kind"]
    name, namespace = live["metadata"]["name"], live["metadata"]["namespace"]
    steps = ownership_migration.trial(live, wanted, to=ENGINE)
    try:
        foretold = (
            await kube.patch(
                api_version, kind, name, steps, form="json", manager=ENGINE, namespace=namespace, dry_run=True
            )
            if steps
            else live
        )
    except clients_kube.Invalid:
        foretold = None
    lost = ownership_migration.lost(live, wanted, to=ENGINE, answered=foretold)
    migration = ownership_migration.migrate(live, to=ENGINE)
    if migration is not None:
        body = ownership_migration.patch(live, migration)
        await kube.patch(api_version, kind, name, body, form="json", manager="firstlight-handover", namespace=namespace)
    after = await kube.apply(wanted, manager=ENGINE, force=True)
    return after, lost, foretold


async def check(kube: clients_kube.Client, kind: str, namespace: str, history: History) -> None:
    name = await written(kube, kind, namespace, history)
    if not name:
        return
    wanted = whole(kind, namespace, name, history.wanted)
    for attempt in range(9):
        live = await kube.get(wanted["apiVersion"], kind, name, namespace=namespace)
        try:
            after, lost, foretold = await migrated(kube, live, wanted)
            break
        except clients_kube.Conflict:
            assert attempt < 8, "somebody writes it all the time"
            continue  # a controller wrote it in between
        except clients_kube.Invalid:
            return  # Git has something that nobody can apply over this
    # Of a custom resource nothing tells maps from structures: more may be foretold to go than goes.
    if foretold is not None and kind != "Sample":
        assert essence(foretold) == essence(after), apply_comparison.changes(essence(foretold), essence(after))
    gone = really_gone(live, after, wanted)
    lost = tuple(each for each in lost if each not in empties(live))
    if kind == "Sample":
        assert gone <= set(lost), (sorted(gone), lost)
    else:
        assert gone == set(lost), (sorted(gone), lost)
    if not field_set.managed_entries(live):
        # Of an object that was first written with nothing in it the server keeps no managers; at the first apply it
        # invents one, before-first-apply, which is there to be migrated only then.
        return
    for each in field_set.managed_entries(after):
        assert each.get("subresource") or not ownership_migration.is_old(each["manager"])
    before = {key(each): FieldSet.of(each["fieldsV1"]) for each in field_set.managed_entries(live)}
    for each in field_set.managed_entries(after):
        if each["manager"] in histories.OTHERS and key(each) in before:
            assert before[key(each)].paths >= FieldSet.of(each["fieldsV1"]).paths
    assert ownership_migration.migrate(after, to=ENGINE) is None


def key(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    return entry["manager"], entry["operation"], entry.get("subresource", "")


EXAMINED = settings(
    max_examples=EXAMPLES, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@pytest.mark.parametrize("kind", ["ConfigMap", "PodTemplate", "Deployment", "Service", "Sample"])
@EXAMINED
@given(data=strategies.data())
async def test_what_is_foretold_is_what_the_server_does(
    kube: clients_kube.Client, namespace: str, kind: str, data: strategies.DataObject
) -> None:
    await check(kube, kind, namespace, data.draw(histories.histories(kind)))
