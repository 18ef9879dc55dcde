"""The status of custom resources whose controller is not real, by the table in custom_resources.yaml."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from firstlight.lab import settings as lab_settings
from firstlight.lab.simulations.world import MANAGER, Object, World, key, now


def rules() -> tuple[lab_settings.CustomResource, ...]:
    """The table."""
    raw = yaml.load(Path(__file__).with_suffix(".yaml").read_text(), Loader=yaml.CSafeLoader)
    return msgspec.convert(raw, tuple[lab_settings.CustomResource, ...])


class Simulation:
    """Controllers that are not real."""

    what = "conditions of resources whose controller is a simulated pod"

    async def start(self, world: World) -> None:
        """Read the table; kinds are followed once they are defined."""
        self._rules = (*world.settings.custom_resources, *rules())

    async def act(self, world: World) -> None:
        """Write what a controller that is up would have written."""
        for rule in self._rules:
            definition = world.definition(rule.group, rule.kind)
            if definition is None or not world.has_ready_pod(rule.controller):
                continue

            async def settle(found: Object, rule: lab_settings.CustomResource = rule) -> None:
                await self._settle(world, rule, found)

            await world.each([definition], settle)

    async def _settle(self, world: World, rule: lab_settings.CustomResource, definition: Object) -> None:
        store = await world.follow(f"{rule.group}/{_storage_version(definition)}", rule.kind)

        async def write(obj: Object) -> None:
            namespace, name = key(obj)
            patched = await world.client.patch(
                obj["apiVersion"], obj["kind"], name, {"status": missing(rule, obj)}, form="merge",
                manager=MANAGER, namespace=namespace or None, subresource="status",
            )  # fmt: skip
            world.put(store, patched)

        await world.each([obj for obj in list(store.values()) if missing(rule, obj)], write)


def missing(rule: lab_settings.CustomResource, obj: Object) -> dict[str, Any]:
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
    others = [each for each in present.values() if each["type"] not in wanted]
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": "simulated by the lab",
         "observedGeneration": generation, "lastTransitionTime": now()}
        for kind, (status, reason) in wanted.items()
    ]  # fmt: skip
    return {"conditions": [*others, *conditions]}


def _storage_version(definition: Object) -> str:
    return next(str(version["name"]) for version in definition["spec"]["versions"] if version["storage"])
