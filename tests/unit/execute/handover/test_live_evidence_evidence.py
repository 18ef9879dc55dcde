"""Which fields Git has, where the server cannot be asked."""

from typing import Any, cast

from firstlight.clients import kube
from firstlight.execute.handover import live_evidence
from firstlight.ownership.evidence import ApplyAttempt
from firstlight.ownership.field_set import FieldSet


async def test_where_nothing_can_be_tried_the_fields_are_told_by_those_of_others() -> None:
    fields: dict[str, Any] = {"f:data": {"f:word": {}}}
    entry = {"manager": "terraform", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": {"word": "x"}}
    live = {**body, "metadata": {"name": "a", "namespace": "b", "managedFields": [entry]}}
    nobody = cast(kube.Client, None)

    found = await live_evidence._fields(
        body, live, ApplyAttempt(is_possible=False), nobody, manager="kustomize-controller"
    )

    assert found == FieldSet.of(fields)
