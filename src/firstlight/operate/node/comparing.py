"""The config that a machine has against the one that it is to have: by Talos's own dry run, and field by field."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import machine_configs
from firstlight.execute.world import World
from firstlight.model.change import Field
from firstlight.model.cluster import Machine
from firstlight.model.machine_config import Applied
from firstlight.model.node import ConfigSight, Equality
from firstlight.model.secret import Secret
from firstlight.observe.machines import Way
from firstlight.operate.node.declared_configs import Declared
from firstlight.repo.changing import comparing, secrecy
from firstlight.repo.changing.comparing import ABSENT, Manner, Steps

Documents = Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compared:
    """One machine."""

    machine: Machine
    wanted: Secret
    sight: ConfigSight
    is_staged: bool = False
    """Whether it has the wanted config on its disk, and comes by it with its next boot."""

    @property
    def is_equal(self) -> bool:
        """Whether there is nothing to apply."""
        return self.sight.equality is Equality.EQUAL


async def compare(machine: Machine, declared: Declared, world: World, way: Way) -> Compared:
    """What a machine would do with the config of the repo; nothing is written.

    Raises:
        errors.Refused: The repo's config is wrong.
        talosctl.TalosError: The machine does not answer.
    """
    target = way.at(machine)
    live, kept = await _configs(machine, way)
    wanted = await declared.config(machine.name, world, has=machine_configs.manifests(live))
    now, then = machine_configs.documents(live), machine_configs.documents(wanted)
    if machine_configs.documents(kept) != now:
        # A dry run in any other mode than try would end the trial, and let what is tried stay without being kept.
        why = "it runs with another config than it has on its disk: one is being tried, or waits for a reboot"
        sight = ConfigSight(equality=Equality.PENDING, fields=fields(now, then), reason=why)
        return Compared(machine=machine, wanted=wanted, sight=sight, is_staged=machine_configs.documents(kept) == then)
    try:
        applied = await way.admin.apply_config(target, wanted, dry_run=True)
    except talosctl.Rejected as error:
        raise errors.Refused(
            f"{machine.name} does not take the config: {error.detail}", hint="Correct its patches; nothing was applied."
        ) from error
    return Compared(machine=machine, wanted=wanted, sight=_sight(applied, now, then))


async def is_settled(machine: Machine, way: Way) -> bool:
    """Whether a machine runs with what it has on its disk, as far as its Talos tells that.

    Raises:
        talosctl.TalosError: The machine does not answer.
    """
    live, kept = await _configs(machine, way)
    return machine_configs.documents(live) == machine_configs.documents(kept)


async def _configs(machine: Machine, way: Way) -> tuple[Secret, Secret]:
    """The config in force, and the one on the disk."""
    live, kept = await asyncio.gather(way.admin.machine_config(way.at(machine)), persisted(machine, way))
    return live, kept or live


async def persisted(machine: Machine, way: Way) -> Secret | None:
    """What a machine has on its disk, and boots with; None where its Talos does not tell."""
    try:
        return await way.admin.machine_config(way.at(machine), persistent=True)
    except talosctl.NotFound:
        return None


def _sight(applied: Applied, now: Documents, then: Documents) -> ConfigSight:
    if applied.diff is None:
        return ConfigSight(equality=Equality.EQUAL)
    return ConfigSight(
        equality=Equality.DIFFERENT, fields=fields(now, then), needs_reboot=applied.needs_reboot, reason=applied.reason
    )


def fields(before: Documents, after: Documents) -> tuple[Field, ...]:
    """What differs between the documents of two configs; of what is secret only that it does."""
    old, new = _by_name(before), _by_name(after)
    found: list[Field] = []
    for name in dict.fromkeys([*old, *new]):
        was, will = old.get(name), new.get(name)
        hidden = [secrecy.of_document(each, is_machine=True) for each in (was, will) if each is not None]

        def is_secret(steps: Steps, value: Any, hidden: Sequence[secrecy.IsSecret] = tuple(hidden)) -> bool:
            return _INLINE.issubset(steps) or any(each(steps, value) for each in hidden)

        differ = comparing.fields(
            ABSENT if was is None else was, ABSENT if will is None else will, manner=Manner(is_secret=is_secret)
        )
        found += [dataclasses.replace(each, steps=(*name, *each.steps)) for each in differ]
    return tuple(found)


_INLINE = frozenset({"inlineManifests", "contents"})
"""What an inline manifest holds may be a Secret."""


def _by_name(documents: Documents) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """Documents by kind and name; the oldest one has neither."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for each in documents:
        kind, name = each.get("kind"), each.get("name")
        found[tuple(str(one) for one in (kind, name) if one)] = each
    return found
