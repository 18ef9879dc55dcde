"""Never "equal" where the server would change something: the server itself is the oracle."""

import copy
import uuid
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.ownership import apply_comparison
from tests.integration.execute.things_to_apply import MANAGER, deployment

EXAMPLES = 15


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
    kube: clients_kube.Client, namespace: str, first: Any, second: Any, foreign: Any
) -> None:
    name = f"d-{uuid.uuid4().hex[:8]}"
    base = deployment(namespace)
    base["metadata"]["name"] = name
    try:
        await kube.apply(_edited(base, first), manager=MANAGER)
        if foreign:
            await kube.apply(_edited(base, foreign), manager="somebody", force=True)
    except (clients_kube.ApiError, errors.ClientError):
        return
    for edits in (first, second):
        wanted = _edited(base, edits)
        live = await kube.get("apps/v1", "Deployment", name, namespace=namespace)
        said = apply_comparison.compare(wanted, live, manager=MANAGER)
        if said.likeness == apply_comparison.Likeness.EQUAL:
            before, after = await _tried(kube, wanted)
            assert apply_comparison.is_same(before, after), (edits, apply_comparison.changes(before, after))


async def _tried(kube: clients_kube.Client, wanted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """An object before and after a dry run, while no controller writes to it."""
    metadata = wanted["metadata"]
    while True:
        before = await kube.get("apps/v1", "Deployment", metadata["name"], namespace=metadata["namespace"])
        after = await kube.apply(wanted, manager=MANAGER, dry_run=True)
        then = await kube.get("apps/v1", "Deployment", metadata["name"], namespace=metadata["namespace"])
        if before["metadata"]["resourceVersion"] == then["metadata"]["resourceVersion"]:
            return before, after
