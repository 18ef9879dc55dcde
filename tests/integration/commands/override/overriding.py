"""An override in a lab for tests: the ground of its work, a Deployment to change, and questions to what came of it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from firstlight.clients import kube
from firstlight.commands.override.begin import OverrideRequest
from firstlight.execute.overrides.override_context import (
    OverrideContext,
    OverrideEvent,
    OverrideMessage,
    OverrideWriting,
)
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Emergency

CLUSTER = "lab"


class Killed(BaseException):
    """The process is gone."""


def killed_at(name: str) -> Callable[[OverrideEvent], None]:
    """The end of a process before a write whose name begins so."""

    def tell(event: OverrideEvent) -> None:
        if isinstance(event, OverrideWriting) and event.name.startswith(name):
            raise Killed

    return tell


def ground(
    client: kube.Client, state: Path, *, tell: Callable[[OverrideEvent], None] = lambda event: None, **more: Any
) -> OverrideContext:
    """Where an override works."""
    return OverrideContext(
        client=client, cluster=CLUSTER, state=state / ".firstlight", who="ann@desk", tell=tell, **more
    )


def wish(*owners: str, objects: tuple[ObjectId, ...] = (), seconds: float = 3600) -> OverrideRequest:
    """What is to be overridden."""
    return OverrideRequest(
        emergency=Emergency.OUTAGE, reason="the shop is down", seconds=seconds, owners=owners, objects=objects,
        scope=(*owners, *map(str, objects)),
    )  # fmt: skip


def web(replicas: int = 1, *, image: str = "registry.example.org/web:1") -> dict[str, Any]:
    """A Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def part(space: str, spec: Mapping[str, Any], *, name: str = "web") -> dict[str, Any]:
    """A part of that Deployment, as somebody would apply it in an emergency."""
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": dict(spec)}


def placed(value: Mapping[str, Any], space: str) -> dict[str, Any]:
    """An object in a namespace."""
    return {**value, "metadata": {**value["metadata"], "namespace": space}}


def web_id(space: str) -> ObjectId:
    """What the Deployment is called."""
    return ObjectId("apps", "Deployment", space, "web")


async def deployment(client: kube.Client, space: str) -> dict[str, Any]:
    """It, as it is."""
    return dict(await client.get("apps/v1", "Deployment", "web", namespace=space))


def managers(live: Mapping[str, Any]) -> set[str]:
    """Who owns something of an object, without subresources."""
    return {each["manager"] for each in live["metadata"]["managedFields"] if not each.get("subresource")}


def is_marked(live: Mapping[str, Any]) -> bool:
    """Whether an override has left anything on an object."""
    annotations = live["metadata"].get("annotations") or {}
    is_noted = any("override" in each for each in annotations) or any(
        each.rpartition("/")[2] == "reconcile" for each in annotations
    )
    return is_noted or any(each.startswith(MANAGER) for each in managers(live))


def texts(events: list[OverrideEvent]) -> str:
    """What people were told."""
    return "\n".join(each.text for each in events if isinstance(each, OverrideMessage))
