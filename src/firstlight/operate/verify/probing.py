"""Pods that try what no status tells: a name looked up, and one pod that reaches another. They are always removed."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import sequence, text
from firstlight.gates import parts
from firstlight.model.observation import Look
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.verification import Check
from firstlight.observe.watching import Watching

IMAGE = "busybox:1.37"
LABEL = "firstlight.dev/probe"
MANAGER = "firstlight-probe"
TIMEOUT = 90.0
"""Seconds for an image to be pulled and a word to be said."""
_PORT = 8080
Judge = Callable[[Mapping[str, Any] | None], Verdict]
_SERVE = f"echo reached > /tmp/index.html && exec httpd -f -p {_PORT} -h /tmp"


async def checks(
    client: kube.Client, watching: Watching, *, domain: str = "", image: str = "", timeout: float = TIMEOUT
) -> tuple[Check, ...]:
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
    async with namespace(client) as probe.namespace:
        dns, reached = await asyncio.gather(
            probe.ends("dns", f"nslookup {name}"),
            probe.reaches(),
        )
    if isinstance(dns, Passed):
        dns = Passed(f"a pod has looked up {name}")
    return (Check(name="probe: DNS", verdict=dns), Check(name="probe: pod to pod", verdict=reached))


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
        await self._client.create(pod(name, self.namespace, command, image=self._image), manager=MANAGER)
        return await self._until(name, _ended)

    async def reaches(self) -> Verdict:
        """Whether one pod reaches another, on another node if there is one."""
        server = pod("server", self.namespace, _SERVE, image=self._image, restart="Always")
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
        look = Look(api_version="v1", kind="Pod", namespace=self.namespace, name=name)
        part = parts.Part((look,), lambda view: judge(view.one(look)))
        question = parts.question(Gate(Subject.WORKLOAD), f"probe {name}", part, timeout=self._timeout)
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


def pod(name: str, namespace: str, command: str, *, image: str, restart: str = "Never") -> dict[str, Any]:
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
async def namespace(
    client: kube.Client, *, labels: Mapping[str, str] | None = None, name: str = ""
) -> AsyncIterator[str]:
    """A namespace that is deleted with all that is in it; without a name, also those that a killed probe has left."""
    if not name:
        for left in (await client.list("v1", "Namespace", labels=LABEL, metadata_only=True)).items:
            await remove(client, left["metadata"]["name"])
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
        await remove(client, name)


async def remove(client: kube.Client, name: str) -> None:
    """Delete a namespace, if it is there."""
    with contextlib.suppress(kube.NotFound):
        await client.delete("v1", "Namespace", name)
