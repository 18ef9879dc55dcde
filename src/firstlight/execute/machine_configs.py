"""Machine configs out of drafts: generated, patched and validated, before any machine sees one.

There are two renditions. A cluster that was never bootstrapped begins with the inline manifests that were rendered;
later the machines keep those that they have, since one that comes back would take an object from its new owner.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys
from firstlight.execute.world import World
from firstlight.model.cluster import MachineRole
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.model.secret import Secret

Inline = Mapping[str, str]
"""Contents of inline manifests by name."""


async def make(draft: MachineDraft, world: World) -> Secret:
    """The config of a machine as the repo has it, inline manifests included that the repo has.

    Raises:
        errors.Refused: What the repo says of the machine does not make a config.
    """
    patches = [await _text(each, world) for each in draft.patches]
    try:
        whole = await _text(draft.whole, world) if draft.whole is not None else await _generated(draft, world)
        return await cluster_keys.program(world).patch_config(whole, patches) if patches else whole
    except talosctl.Rejected as error:
        places = ", ".join(dict.fromkeys(each.place.path for each in draft.patches))
        raise errors.Refused(
            f"{draft.machine.name}: no config comes of its declaration: {error.detail}",
            hint=f"Look into {places or draft.machine.place}.",
        ) from error


async def _generated(draft: MachineDraft, world: World) -> Secret:
    """What talosctl makes of the secrets. It applies patches to control planes and workers alike: none are given."""
    is_control_plane = draft.machine.role is MachineRole.CONTROL_PLANE
    return await cluster_keys.program(world).gen_config(
        "controlplane" if is_control_plane else "worker",
        cluster=draft.cluster,
        endpoint=draft.endpoint,
        secrets=await cluster_keys.secrets(world),
        kubernetes_version=draft.kubernetes.removeprefix("v"),
        talos_version=draft.talos,
        install_disk=draft.install_disk,
        install_image=draft.install_image,
        dns_domain=draft.dns_domain,
        additional_sans=draft.sans,
    )


async def bootstrap(draft: MachineDraft, config: Secret, world: World) -> Secret:
    """The rendition that a cluster begins with: what was rendered anew takes the place of what the repo has."""
    if draft.machine.role is not MachineRole.CONTROL_PLANE or not draft.inline:
        return config
    rendered = {name: contents.reveal().decode() for name, contents in draft.inline.items()}
    return await _with_inline(config, {**inline_manifests(config), **rendered}, world)


async def steady(draft: MachineDraft, config: Secret, world: World, *, has: Inline) -> Secret:
    """The rendition for a cluster that is there: with the inline manifests that its machines have, and no others."""
    if draft.machine.role is not MachineRole.CONTROL_PLANE:
        return config
    return await _with_inline(config, has, world)


async def validate(configs: Mapping[str, Secret], world: World) -> None:
    """Let talosctl check configs, by machine.

    Raises:
        errors.Refused: One of them is wrong; everything that is wrong is said.
    """
    offline = cluster_keys.program(world)
    found = await asyncio.gather(*(offline.validate(each) for each in configs.values()))
    problems = [f"{name}: {each}" for name, one in zip(configs, found, strict=True) for each in one.problems]
    if problems:
        raise errors.Refused(
            f"talosctl refuses the machine config{'s' if len(configs) > 1 else ''}: {'; '.join(problems)}",
            hint="Nothing was applied anywhere; correct the patches of these machines.",
        )


def inline_manifests(config: Secret) -> dict[str, str]:
    """The inline manifests of a config, by name."""
    found: dict[str, str] = {}
    for value in documents(config):
        cluster = value.get("cluster")
        listed = cluster.get("inlineManifests") if isinstance(cluster, Mapping) else None
        for entry in listed if isinstance(listed, Sequence) else ():
            if isinstance(entry, Mapping) and entry.get("name"):
                found[str(entry["name"])] = str(entry.get("contents") or "")
    return found


def documents(config: Secret) -> tuple[Mapping[str, Any], ...]:
    """The documents of a config that talosctl has written."""
    try:
        values = list(yaml.load_all(config.reveal(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError):
        # It holds the cluster's keys, so that the parser's message is not passed on.
        raise errors.Refused("a machine config is no YAML") from None
    return tuple(each for each in values if isinstance(each, Mapping))


async def _with_inline(config: Secret, wanted: Inline, world: World) -> Secret:
    """A config with these inline manifests, in this order, and no others. Patches append to lists: the old ones go."""
    has = inline_manifests(config)
    if [*has.items()] == [*wanted.items()]:
        return config
    gone = [{"name": name, "$patch": "delete"} for name in has]
    new = [{"name": name, "contents": contents} for name, contents in wanted.items()]
    patches = [
        Secret(yaml.dump({"cluster": {"inlineManifests": entries}}, Dumper=yaml.CSafeDumper))
        for entries in (gone, new)
        if entries
    ]
    return await cluster_keys.program(world).patch_config(config, patches)


async def _text(patch: Patch, world: World) -> Secret:
    return patch.text if patch.text is not None else await world.resolve(patch.reference)
