"""Failures of workloads, volumes, webhooks and objects, made on the lab and named."""

import pytest

from firstlight.clients import kube as clients_kube
from tests.doctor.failure import cells, named, through
from tests.doctor.lab_ground import Ground
from tests.doctor.of_objects import OBJECTS
from tests.doctor.of_webhooks import WEBHOOKS
from tests.doctor.of_workloads import WORKLOADS

FAILURES = {**OBJECTS.failures, **WEBHOOKS.failures, **WORKLOADS.failures}


@pytest.mark.parametrize("failure", [*cells(OBJECTS), *cells(WEBHOOKS), *cells(WORKLOADS)])
async def test_it_is_named(failure: str, kube: clients_kube.Client, namespace: str) -> None:
    one = FAILURES[failure]
    async with one.make(Ground(kube, namespace)) as expected:
        await named(one, expected, through(kube))
