"""Pods that try what no status tells: a name looked up, and one pod that reaches another. They are always removed."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.cilium import Cilium, Connectivity
from firstlight.document.within import sequence, text
from firstlight.gates import cilium, gate_parts
from firstlight.model.observation import WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, VerificationCheck, Waiting
from firstlight.observe.gate_watch import Watching

IMAGE = "busybox:1.37"
LABEL = "firstlight.dev/probe"
MANAGER = "firstlight-probe"
TIMEOUT = 90.0
"""Seconds for an image to be pulled and a word to be said."""
_PORT = 8080
Judge = Callable[[Mapping[str, Any] | None], Verdict]
_SERVE = f"echo reached > /tmp/index.html && exec httpd -f -p {_PORT} -h /tmp"


async def probe_checks(
    client: kube.Client, watching: Watching, *, domain: str = "", image: str = "", timeout: float = TIMEOUT
) -> tuple[VerificationCheck, ...]:
    """A lookup in DNS, and a request from pod to pod.

    Args:
        client: The cluster.
        watching: The same, watched.
        domain: The cluster's; ``cluster.local`` if it is not given.
        image: What the pods run; it must have sh, nslookup, wget and httpd.
        timeout: Seconds for each.
    """
    name = f"kubernetes.default.svc.{domain or 'cluster.local'}"
    probe = _Probe(client, watching, image=image or IMAGE, timeout=timeout)
    async with probe_namespace(client) as probe.namespace:
        dns, reached = await asyncio.gather(
            probe.ends("dns", f"nslookup {name}"),
            probe.reaches(),
        )
    if isinstance(dns, Passed):
        dns = Passed(f"a pod has looked up {name}")
    return (
        VerificationCheck(name="probe: DNS", verdict=dns),
        VerificationCheck(name="probe: pod to pod", verdict=reached),
    )


class _Probe:
    """Pods in a namespace of their own."""

    def __init__(self, client: kube.Client, watching: Watching, *, image: str, timeout: float) -> None:
        self.namespace = ""
        self._client = client
        self._watching = watching
        self._image = image
        self._timeout = timeout

    async def ends(self, name: str, command: str) -> Verdict:
        """Whether a pod's command ends well."""
        await self._client.create(probe_pod(name, self.namespace, command, image=self._image), manager=MANAGER)
        return await self._until(name, _ended)

    async def reaches(self) -> Verdict:
        """Whether one pod reaches another, on another node if there is one."""
        server = probe_pod("server", self.namespace, _SERVE, image=self._image, restart="Always")
        await self._client.create(server, manager=MANAGER)
        verdict = await self._until("server", _ready)
        if not isinstance(verdict, Passed):
            return type(verdict)(f"the server: {verdict.reason}")
        there = await self._client.get("v1", "Pod", "server", namespace=self.namespace)
        address = text(there, "status", "podIP")
        place = f"[{address}]" if ":" in address else address
        verdict = await self.ends("client", f"wget -q -T 10 -O - http://{place}:{_PORT}/")
        here = await self._client.get("v1", "Pod", "client", namespace=self.namespace)
        nodes = text(here, "spec", "nodeName"), text(there, "spec", "nodeName")
        way = f"from {nodes[0]} to {nodes[1]}" if nodes[0] != nodes[1] else f"on {nodes[0]}, there is no other node"
        return Passed(way) if isinstance(verdict, Passed) else type(verdict)(f"{way}: {verdict.reason}")

    async def _until(self, name: str, judge: Judge) -> Verdict:
        look = WatchTarget(api_version="v1", kind="Pod", namespace=self.namespace, name=name)
        part = gate_parts.GatePart((look,), lambda view: judge(view.one(look)))
        question = gate_parts.make_question(Gate(Subject.WORKLOAD), f"probe {name}", part, timeout=self._timeout)
        verdict = await self._watching.wait(question, on_verdict=lambda _: None)
        return Failed(f"{verdict.reason}{await self._said(name)}") if isinstance(verdict, Failed) else verdict

    async def _said(self, name: str) -> str:
        """The last line that a pod printed."""
        lines: list[str] = []
        with contextlib.suppress(errors.ClientError):
            async with contextlib.aclosing(self._client.logs(name, namespace=self.namespace, tail=1)) as printed:
                lines = [line async for line in printed]
        return f": {lines[-1]}" if lines else ""


def _ended(value: Mapping[str, Any] | None) -> Verdict:
    phase = text(value, "status", "phase")
    if phase == "Succeeded":
        return Passed()
    return Failed("its command failed") if phase == "Failed" else _waiting(value)


def _ready(value: Mapping[str, Any] | None) -> Verdict:
    is_ready = any(
        text(each, "type") == "Ready" and text(each, "status") == "True"
        for each in sequence(value, "status", "conditions")
    )
    return Passed() if is_ready and text(value, "status", "podIP") else _waiting(value)


def _waiting(value: Mapping[str, Any] | None) -> Verdict:
    name = text(value, "metadata", "name")
    for each in sequence(value, "status", "containerStatuses"):
        if reason := text(each, "state", "waiting", "reason"):
            return Waiting(f"pod {name}: {reason} {text(each, 'state', 'waiting', 'message')}".rstrip())
    for each in sequence(value, "status", "conditions"):
        if text(each, "type") == "PodScheduled" and text(each, "status") == "False":
            return Waiting(f"pod {name} finds no node: {text(each, 'message')}")
    return Waiting(f"pod {name} is {text(value, 'status', 'phase') or 'not there'}")


def probe_pod(name: str, namespace: str, command: str, *, image: str, restart: str = "Never") -> dict[str, Any]:
    """A pod that every Pod Security level admits, off the nodes of its like if it can be."""
    apart = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {LABEL: "true"}},
    }
    preferred = [{"weight": 100, "podAffinityTerm": apart}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: "true"}},
        "spec": {
            "restartPolicy": restart,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
            "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
            "securityContext": {
                "runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "probe",
                    "image": image,
                    "command": ["sh", "-c", command],
                    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}},
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                }
            ],
        },
    }  # fmt: skip


@contextlib.asynccontextmanager
async def probe_namespace(
    client: kube.Client, *, labels: Mapping[str, str] | None = None, name: str = ""
) -> AsyncIterator[str]:
    """A namespace that is deleted with all that is in it; without a name, also those that a killed probe has left."""
    if not name:
        for left in (await client.list("v1", "Namespace", labels=LABEL, metadata_only=True)).items:
            await remove_probes(client, left["metadata"]["name"])
        name = f"firstlight-probe-{secrets.token_hex(3)}"
    metadata = {"name": name, "labels": {LABEL: "true", **(labels or {})}}
    creating = asyncio.ensure_future(
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, manager=MANAGER)
    )
    try:
        await asyncio.shield(creating)
        yield name
    finally:
        # Interrupted in the middle of it, it may come to be after all: only then can it be deleted.
        await asyncio.gather(creating, return_exceptions=True)
        await remove_probes(client, name)


async def remove_probes(client: kube.Client, name: str) -> None:
    """Delete a namespace, if it is there."""
    with contextlib.suppress(kube.NotFound):
        await client.delete("v1", "Namespace", name)


# Cilium's own connectivity test, where the program is there and Cilium is the cluster's network.


CILIUM_CHECK = "probe: Cilium"
TESTS = "no-policies"
"""Pods, services, nodes and the world without a policy in place: a few minutes, where all tests take half an hour."""

_PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Its pods use the host's network; Talos admits that nowhere by itself."""
_ELSEWHERE = "cilium-test-ccnp"
"""Namespaces that it makes besides those that it is told."""
_SHOWN = 10


async def check_cilium(
    client: kube.Client, program: Cilium | None, *, tests: str = TESTS, is_lab: bool = False
) -> VerificationCheck:
    """Its tests, or why they were not run.

    Args:
        client: The cluster.
        program: With the way to the same cluster; None where there is none.
        tests: Which, as the program takes them.
        is_lab: Whether no container runs there.
    """
    agents = await _agents(client)
    if agents is None:
        return VerificationCheck(name=CILIUM_CHECK, verdict=Skipped("not run: Cilium is not the network here"))
    if program is None:
        return VerificationCheck(name=CILIUM_CHECK, verdict=Skipped("not run: there is no program cilium on the PATH"))
    if is_lab:
        return VerificationCheck(name=CILIUM_CHECK, verdict=Skipped("not run: in a lab no container runs"))
    async with _namespace(client) as namespace:
        found = await program.connectivity_test(namespace=namespace, tests=tests, agents=agents)
    return VerificationCheck(name=CILIUM_CHECK, verdict=judge_cilium(found), detail=_detail(found))


def judge_cilium(found: Connectivity) -> Verdict:
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
        probe_namespace(client, labels=_PRIVILEGED) as name,
        # Newer versions add a number to the name that they are given.
        probe_namespace(client, labels=_PRIVILEGED, name=f"{name}-1"),
    ):
        try:
            yield name
        finally:
            for left in await _others(client) - before:
                await remove_probes(client, left)


async def _others(client: kube.Client) -> set[str]:
    found = (await client.list("v1", "Namespace", metadata_only=True)).items
    return {name for each in found if (name := each["metadata"]["name"]).startswith(_ELSEWHERE)}
