"""The configs that the machines of a cluster have, in one document; they hold its secrets, and touch no disk here."""

import asyncio
import dataclasses

import yaml

from firstlight.clients import talosctl
from firstlight.execute import cluster_keys
from firstlight.execute.world import World
from firstlight.gates import machines as machine_gate
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.secret import Secret
from firstlight.observe import machines as observed
from firstlight.observe.machines import Way


@dataclasses.dataclass(frozen=True, kw_only=True)
class Held:
    """The configs of those that answer."""

    content: Secret
    """A mapping from names to configs."""
    versions: dict[str, str]
    """What these machines run, by name."""
    silent: dict[str, str]
    """Those that do not answer, and why."""


async def of(world: World) -> Held:
    """Asked of all machines at once; one that is off holds nobody up.

    Raises:
        errors.Refused: Nothing says where the keys to them are.
    """
    way = await cluster_keys.ensure(world)
    reports = await observed.look_at_all(world.cluster.machines, way)
    answers = await asyncio.gather(*(_asked(each, way) for each in reports))
    held = {each.name: given for each, given in zip(world.cluster.machines, answers, strict=True)}
    configs = {name: given[0].reveal().decode() for name, given in held.items() if isinstance(given, tuple)}
    return Held(
        content=Secret(yaml.dump(configs, Dumper=yaml.CSafeDumper, sort_keys=False)),
        versions={name: given[1] for name, given in held.items() if isinstance(given, tuple)},
        silent={name: given for name, given in held.items() if isinstance(given, str)},
    )


async def _asked(report: MachineReport, way: Way) -> tuple[Secret, str] | str:
    """The config and the version of a machine; or why not."""
    if report.standing is not Standing.OURS:
        return machine_gate.state_of(report)
    try:
        target = way.at(report.machine)
        return await way.admin.machine_config(target), (await way.admin.version(target)).tag
    except talosctl.TalosError as error:
        return error.detail
