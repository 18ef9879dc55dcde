"""The password of Argo CD's Redis: what its init container, or the chart's Job, makes where nobody else has.

The command is ``argocd admin redis-initial-password``. Its pod runs nothing here, and Argo CD waits for the Secret.
"""

import base64
import contextlib
import secrets
from collections.abc import Iterable

from firstlight.clients import kube
from firstlight.lab.simulations.world import MANAGER, Object, World, is_ready

COMMAND = "redis-initial-password"
NAME, KEY = "argocd-redis", "auth"
LENGTH = 24
"""Bytes that it is made of."""


class Simulation:
    """The command."""

    what = "Argo CD's Redis gets a password, as its init container makes it"

    async def start(self, world: World) -> None:
        """Remember what was seen to: a Secret that is deleted later comes back with another pod only."""
        self._done: set[str] = set()

    async def act(self, world: World) -> None:
        """Make the Secret in each namespace that has such a pod."""

        async def make(pod: Object) -> None:
            for namespace in namespaces(pod):
                with contextlib.suppress(kube.AlreadyExists):  # it is there
                    await world.client.create(secret(namespace), manager=MANAGER)
            self._done.add(pod["metadata"]["uid"])

        await world.each([pod for pod in list(world.pods.values()) if self._is_due(pod)], make)

    def _is_due(self, pod: Object) -> bool:
        has_run = is_ready(pod) or pod.get("status", {}).get("phase") == "Succeeded"
        return has_run and pod["metadata"]["uid"] not in self._done and bool(namespaces(pod))


def namespaces(pod: Object) -> tuple[str, ...]:
    """Where a pod makes a password; nowhere, for almost all pods."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    words = [[*(each.get("command") or ()), *(each.get("args") or ())] for each in containers]
    return tuple(_option(each) or pod["metadata"]["namespace"] for each in words if COMMAND in each)


def _option(words: Iterable[str]) -> str:
    """The namespace that a command names; empty if it names none."""
    given = iter(words)
    for word in given:
        if word in ("-n", "--namespace"):
            return next(given, "")
        if word.startswith("--namespace="):
            return word.partition("=")[2]
    return ""


def secret(namespace: str) -> Object:
    """A new password."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": NAME, "namespace": namespace},
        "type": "Opaque",
        "data": {KEY: base64.b64encode(secrets.token_urlsafe(LENGTH).encode()).decode()},
    }
