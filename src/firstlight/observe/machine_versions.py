"""Machines by their configs, and nodes by their boots: the proof that a run wrote nothing to them."""

import asyncio
import hashlib
from collections.abc import Mapping

from firstlight.clients import kube, talosctl

_CONFIG = "MachineConfigs.config.talos.dev"


async def config_versions(client: talosctl.Talosctl, targets: Mapping[str, talosctl.Target]) -> Mapping[str, str]:
    """A text for each machine that changes with every config that it is given.

    Args:
        client: The administrator's.
        targets: Where each machine is, by its name.

    Raises:
        talosctl.TalosError: A machine does not answer.
    """
    found = await asyncio.gather(*(_version(client, each) for each in targets.values()))
    return dict(zip(targets, found, strict=True))


async def boots(client: kube.Client) -> Mapping[str, str]:
    """The boot that each node lives in, as its kubelet tells."""
    nodes = (await client.list("v1", "Node")).items
    return {each["metadata"]["name"]: str(each["status"].get("nodeInfo", {}).get("bootID", "")) for each in nodes}


async def _version(client: talosctl.Talosctl, target: talosctl.Target) -> str:
    """The version alone would not do: it is counted from 1 after every boot."""
    found = await client.get(target, _CONFIG, "v1alpha1")
    digest = hashlib.sha256(str(found[0].spec).encode()).hexdigest()
    return f"{found[0].version} {digest}"
