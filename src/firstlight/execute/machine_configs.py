"""Machine configs out of drafts: generated, patched and validated, before any machine sees one.

There are two renditions. A cluster that was never bootstrapped begins with the inline manifests that were rendered;
later the machines keep those that they have, since one that comes back would take an object from its new owner. For the
same reason a URL of what passes to the engine is only for a machine that has it.
"""

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys, config_manifests
from firstlight.execute.config_manifests import Held
from firstlight.execute.world import World
from firstlight.model.cluster import MachineRole
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.model.secret import Secret


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
    before = manifests(config)
    return await listing(config, dataclasses.replace(before, inline={**before.inline, **rendered}), world)


async def steady(draft: MachineDraft, config: Secret, world: World, *, has: Held) -> Secret:
    """The rendition for a cluster that is there: with the inline manifests that its machines have, and no others.

    URLs are as they are declared. Only one of what passes to the engine is left out where the machine does not have it,
    in whatever version: there it was released.

    Args:
        draft: What the machine is to be.
        config: As it is declared.
        world: The run.
        has: What the machine has; for a new one, what all of the others have.
    """
    if draft.machine.role is not MachineRole.CONTROL_PLANE:
        return config

    def is_released(url: str) -> bool:
        return url in draft.passing and not any(config_manifests.is_same_but_version(url, each) for each in has.names)

    urls = {
        place: rest
        for place, declared in manifests(config).urls.items()
        if (rest := tuple(each for each in declared if not is_released(each)))
    }
    return await listing(config, dataclasses.replace(has, urls=urls), world)


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


def manifests(config: Secret) -> Held:
    """The Kubernetes manifests that a config lists."""
    return config_manifests.of(documents(config))


def inline_manifests(config: Secret) -> Mapping[str, str]:
    """The inline manifests of a config, by name."""
    return manifests(config).inline


def documents(config: Secret) -> tuple[Mapping[str, Any], ...]:
    """The documents of a config that talosctl has written."""
    try:
        values = list(yaml.load_all(config.reveal(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError):
        # It holds the cluster's keys, so that the parser's message is not passed on.
        raise errors.Refused("a machine config is no YAML") from None
    return tuple(each for each in values if isinstance(each, Mapping))


async def listing(config: Secret, wanted: Held, world: World) -> Secret:
    """A config with these manifests, and no others."""
    patches = [
        Secret(yaml.dump(each, Dumper=yaml.CSafeDumper, sort_keys=False))
        for each in config_manifests.patches(manifests(config), wanted)
    ]
    return await cluster_keys.program(world).patch_config(config, patches) if patches else config


async def _text(patch: Patch, world: World) -> Secret:
    return patch.text if patch.text is not None else await world.resolve(patch.reference)
