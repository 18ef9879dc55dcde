"""firstlight and the oracle of ``bench.drift``, each in a process of its own; prints the names of what differs.

``python -m bench.drift_client firstlight|oracle FILE KUBECONFIG``
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from bench import drift_objects
from firstlight.clients import kube
from firstlight.model.rendition import Object
from firstlight.observe import drift
from firstlight.ownership import apply_comparison
from firstlight.ownership.drift_judgement import WantedObject


async def firstlight(objects: list[dict[str, Any]], config: kube.ClientConfig) -> list[str]:
    """What ``firstlight drift`` does once everything is rendered."""
    wanted = [
        WantedObject(object=Object(each), component="bench", manager=drift_objects.MANAGER, owner=drift_objects.OWNER)
        for each in objects
    ]
    async with kube.Client(config) as client:
        seen = await drift.compare(wanted, client, owners={drift_objects.OWNER: "bench"})
    assert not any(each.unread for each in seen.results.values()), [
        each.unread for each in seen.results.values() if each.unread
    ]
    return [f"{each.id.kind}/{each.id.name}" for each in seen.drifted]


async def oracle(objects: list[dict[str, Any]], config: kube.ClientConfig) -> list[str]:
    """A dry run of each object: what the server itself says would change."""
    found: list[str] = []
    turns = asyncio.Semaphore(16)
    async with kube.Client(config) as client:

        async def one(value: dict[str, Any]) -> None:
            async with turns:
                name, kind = value["metadata"]["name"], value["kind"]
                space = value["metadata"].get("namespace")
                try:
                    live = await client.get(value["apiVersion"], kind, name, namespace=space)
                except kube.NotFound:
                    found.append(f"{kind}/{name}")
                    return
                made = drift_objects.marked(value)
                after = await client.apply(made, manager=drift_objects.MANAGER, force=True, dry_run=True)
                if apply_comparison.changes(live, after):
                    found.append(f"{kind}/{name}")

        await asyncio.gather(*map(one, objects))
    return found


def main() -> None:
    what, file, kubeconfig = sys.argv[1:]
    objects = json.loads(Path(file).read_bytes())
    found = asyncio.run({"firstlight": firstlight, "oracle": oracle}[what](objects, kube.load(Path(kubeconfig))))
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
