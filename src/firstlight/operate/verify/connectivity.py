"""Cilium's own connectivity test, where the program is there and Cilium is the cluster's network."""

import contextlib
from collections.abc import AsyncIterator

from firstlight.clients import kube
from firstlight.clients.cilium import Cilium, Connectivity
from firstlight.gates import cilium
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict
from firstlight.model.verification import Check
from firstlight.operate.verify import probing

NAME = "probe: Cilium"
TESTS = "no-policies"
"""Pods, services, nodes and the world without a policy in place: a few minutes, where all tests take half an hour."""

_PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Its pods use the host's network; Talos admits that nowhere by itself."""
_ELSEWHERE = "cilium-test-ccnp"
"""Namespaces that it makes besides those that it is told."""
_SHOWN = 10


async def check(client: kube.Client, program: Cilium | None, *, tests: str = TESTS, is_lab: bool = False) -> Check:
    """Its tests, or why they were not run.

    Args:
        client: The cluster.
        program: With the way to the same cluster; None where there is none.
        tests: Which, as the program takes them.
        is_lab: Whether no container runs there.
    """
    agents = await _agents(client)
    if agents is None:
        return Check(name=NAME, verdict=Skipped("not run: Cilium is not the network here"))
    if program is None:
        return Check(name=NAME, verdict=Skipped("not run: there is no program cilium on the PATH"))
    if is_lab:
        return Check(name=NAME, verdict=Skipped("not run: in a lab no container runs"))
    async with _namespace(client) as namespace:
        found = await program.connectivity_test(namespace=namespace, tests=tests, agents=agents)
    return Check(name=NAME, verdict=judge(found), detail=_detail(found))


def judge(found: Connectivity) -> Verdict:
    """Whether everything was reached; a run without a single test proves nothing."""
    counts = f"{found.tests} tests, {found.actions} actions; {found.skipped} tests skipped"
    if found.failed or found.actions_failed:
        return Failed(f"{', '.join(found.failed) or 'a test'} failed; {counts}")
    return Passed(counts) if found.tests else Failed(f"no test was run ({found.skipped} skipped): see --cilium-tests")


def _detail(found: Connectivity) -> tuple[str, ...]:
    more = len(found.actions_failed) - _SHOWN
    return (*found.actions_failed[:_SHOWN], *([f"and {more} more"] if more > 0 else []))


async def _agents(client: kube.Client) -> tuple[str, str] | None:
    """The namespace and the name of the agents."""
    for each in (await client.list("apps/v1", "DaemonSet")).items:
        # What a list holds does not say its kind.
        item = Object({"apiVersion": "apps/v1", "kind": "DaemonSet", **each})
        if cilium.is_it(item):
            return item.id.namespace, item.id.name
    return None


@contextlib.asynccontextmanager
async def _namespace(client: kube.Client) -> AsyncIterator[str]:
    """A name for the test's namespaces: made before it, since they must admit its pods, and removed after it."""
    before = await _others(client)
    async with (
        probing.namespace(client, labels=_PRIVILEGED) as name,
        # Newer versions add a number to the name that they are given.
        probing.namespace(client, labels=_PRIVILEGED, name=f"{name}-1"),
    ):
        try:
            yield name
        finally:
            for left in await _others(client) - before:
                await probing.remove(client, left)


async def _others(client: kube.Client) -> set[str]:
    found = (await client.list("v1", "Namespace", metadata_only=True)).items
    return {name for each in found if (name := each["metadata"]["name"]).startswith(_ELSEWHERE)}
