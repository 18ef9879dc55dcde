"""The config that a machine has against the one that it is to have: by Talos's own dry run, and field by field."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.commands.node.declared_configs import DeclaredConfigs
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus
from firstlight.execute import machine_configs
from firstlight.execute.world import World
from firstlight.model.change import ChangedField
from firstlight.model.cluster import Machine
from firstlight.model.machine_config import AppliedConfig
from firstlight.model.secret import Secret
from firstlight.observe.machine_survey import MachineAccess
from firstlight.repo.changes import compare_fields
from firstlight.repo.changes.compare_fields import ABSENT, FieldManner, Steps
from firstlight.repo.secrecy import secret_fields

Documents = Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigComparison:
    """One machine."""

    machine: Machine
    wanted: Secret
    sight: ConfigStatus
    is_staged: bool = False
    """Whether it has the wanted config on its disk, and comes by it with its next boot."""

    @property
    def is_equal(self) -> bool:
        """Whether there is nothing to apply."""
        return self.sight.equality is ConfigEquality.EQUAL


async def compare(machine: Machine, declared: DeclaredConfigs, world: World, way: MachineAccess) -> ConfigComparison:
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
        sight = ConfigStatus(equality=ConfigEquality.PENDING, fields=fields(now, then), reason=why)
        return ConfigComparison(
            machine=machine, wanted=wanted, sight=sight, is_staged=machine_configs.documents(kept) == then
        )
    try:
        applied = await way.admin.apply_config(target, wanted, dry_run=True)
    except talosctl.TalosRejected as error:
        raise errors.Refused(
            f"{machine.name} does not take the config: {error.detail}", hint="Correct its patches; nothing was applied."
        ) from error
    return ConfigComparison(machine=machine, wanted=wanted, sight=_sight(applied, now, then))


async def is_settled(machine: Machine, way: MachineAccess) -> bool:
    """Whether a machine runs with what it has on its disk, as far as its Talos tells that.

    Raises:
        talosctl.TalosError: The machine does not answer.
    """
    live, kept = await _configs(machine, way)
    return machine_configs.documents(live) == machine_configs.documents(kept)


async def _configs(machine: Machine, way: MachineAccess) -> tuple[Secret, Secret]:
    """The config in force, and the one on the disk."""
    live, kept = await asyncio.gather(way.admin.machine_config(way.at(machine)), persisted(machine, way))
    return live, kept or live


async def persisted(machine: Machine, way: MachineAccess) -> Secret | None:
    """What a machine has on its disk, and boots with; None where its Talos does not tell."""
    try:
        return await way.admin.machine_config(way.at(machine), persistent=True)
    except talosctl.TalosNotFound:
        return None


def _sight(applied: AppliedConfig, now: Documents, then: Documents) -> ConfigStatus:
    if applied.diff is None:
        return ConfigStatus(equality=ConfigEquality.EQUAL)
    return ConfigStatus(
        equality=ConfigEquality.DIFFERENT,
        fields=fields(now, then),
        needs_reboot=applied.needs_reboot,
        reason=applied.reason,
    )


def fields(before: Documents, after: Documents) -> tuple[ChangedField, ...]:
    """What differs between the documents of two configs; of what is secret only that it does."""
    old, new = _by_name(before), _by_name(after)
    found: list[ChangedField] = []
    for name in dict.fromkeys([*old, *new]):
        was, will = old.get(name), new.get(name)
        hidden = [secret_fields.of_document(each, is_machine=True) for each in (was, will) if each is not None]

        def is_secret(steps: Steps, value: Any, hidden: Sequence[secret_fields.IsSecret] = tuple(hidden)) -> bool:
            return _INLINE.issubset(steps) or any(each(steps, value) for each in hidden)

        differ = compare_fields.fields(
            ABSENT if was is None else was, ABSENT if will is None else will, manner=FieldManner(is_secret=is_secret)
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
