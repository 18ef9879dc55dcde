"""The status of custom resources whose controller is not real, by the table in custom_resources.yaml."""

import asyncio
import datetime
from pathlib import Path
from typing import Any

import msgspec
import yaml

from firstlight.clients import kube
from firstlight.lab.simulations.world import MANAGER, Object, World, key

WHAT = "conditions of resources whose controller is a simulated pod"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a controller would write."""

    group: str
    kind: str
    conditions: dict[str, str]
    """Type and reason."""
    controller: dict[str, str]
    """Labels of the pods that must be ready before."""
    status: dict[str, str] = {}
    """Type and status, where it is not True."""


def rules() -> tuple[Rule, ...]:
    """The table."""
    raw = yaml.load(Path(__file__).with_suffix(".yaml").read_text(), Loader=yaml.CSafeLoader)
    return msgspec.convert(raw, tuple[Rule, ...])


async def run(world: World) -> None:
    """Follow each kind of the table from the moment its definition is established."""
    table = rules()
    followed: dict[str, asyncio.Task[None]] = {}
    objects: dict[tuple[str, str, str], tuple[Rule, Object]] = {}
    world.start("custom_resources")
    async with asyncio.TaskGroup() as tasks:
        async for _ in world.changes():
            for rule in table:
                name, definition = _definition(world, rule)
                if definition is not None and name not in followed:
                    version = _storage_version(definition)
                    task = _follow(world, rule, f"{rule.group}/{version}", objects)
                    followed[name] = tasks.create_task(task)
                elif definition is None and name in followed:
                    followed.pop(name).cancel()
            for rule, obj in list(objects.values()):
                if world.has_ready_pod(rule.controller) and (status := missing(rule, obj)):
                    with world.forgiving(f"status of {rule.kind} {key(obj)}"):
                        await _write(world, obj, status)


async def _follow(
    world: World, rule: Rule, api_version: str, objects: dict[tuple[str, str, str], tuple[Rule, Object]]
) -> None:
    async for event in world.client.watch(api_version, rule.kind):
        if isinstance(event, kube.Synced):
            continue
        identity = (f"{rule.group}/{rule.kind}", *key(event.object))
        if isinstance(event, kube.Deleted):
            objects.pop(identity, None)
        else:
            objects[identity] = (rule, event.object)
        await world.notify()


async def _write(world: World, obj: Object, status: dict[str, Any]) -> None:
    namespace, name = key(obj)
    await world.client.patch(
        obj["apiVersion"], obj["kind"], name, {"status": status}, form="merge", manager=MANAGER,
        namespace=namespace or None, subresource="status",
    )  # fmt: skip


def missing(rule: Rule, obj: Object) -> dict[str, Any]:
    """The status that a rule wants and an object does not have; empty if it has it for this generation."""
    present = {each["type"]: each for each in obj.get("status", {}).get("conditions") or ()}
    generation = obj["metadata"].get("generation", 1)
    wanted = {kind: (rule.status.get(kind, "True"), reason) for kind, reason in rule.conditions.items()}
    if all(
        kind in present
        and present[kind]["status"] == status
        and present[kind].get("observedGeneration", generation) == generation
        for kind, (status, _) in wanted.items()
    ):
        return {}
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    others = [each for each in present.values() if each["type"] not in wanted]
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": "simulated by the lab",
         "observedGeneration": generation, "lastTransitionTime": now}
        for kind, (status, reason) in wanted.items()
    ]  # fmt: skip
    return {"conditions": [*others, *conditions]}


def _definition(world: World, rule: Rule) -> tuple[str, Object | None]:
    for definition in world.definitions.values():
        spec = definition["spec"]
        if spec["group"] == rule.group and spec["names"]["kind"] == rule.kind:
            return f"{rule.group}/{rule.kind}", definition
    return f"{rule.group}/{rule.kind}", None


def _storage_version(definition: Object) -> str:
    return next(str(version["name"]) for version in definition["spec"]["versions"] if version["storage"])
