"""How many nodes or machines a lab is to have: what the options of ``lab up`` mean together with what is there."""

import dataclasses
import time
from pathlib import Path

import click
import msgspec

from firstlight import errors
from firstlight.cli import install_tools, screen
from firstlight.commands.lab import text as lab_text
from firstlight.lab import lab_settings
from firstlight.lab.actors import actor_table
from firstlight.lab.control_plane import control_plane_parts
from firstlight.lab.lab_settings import LabSettings
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.machines import virtual_machines
from firstlight.lab.running_lab import Lab


async def bring_up(one: Lab, wanted: LabSettings | None, *, owner: int = 0) -> LabStatus:
    """Install what the lab needs, start it, and show how far it is."""
    settings = wanted or (one.settings() if one.home.exists() else None)
    more = (virtual_machines.PROGRAM,) if settings is not None and settings.machines else ()
    programs = await install_tools.ensure(
        [
            *control_plane_parts.COMPONENTS,
            *more,
            *actor_table.installed(settings.actors if settings is not None else ()),
        ]
    )
    begun = time.time()
    with screen.Screen() as display:

        def show(state: LabStatus) -> None:
            rows = lab_text.part_rows(state.parts)
            busy = [part for part in state.parts if not part.idle]
            ready = sum(part.state == "ready" for part in busy)
            head = f"lab {one.home.name}   {ready}/{len(busy)} parts ready   {lab_text.duration(time.time() - begun)}"
            news = [f"lab {one.home.name}: {part.name} is ready" for part in state.parts if part.state == "ready"]
            display.draw([head, "", *lab_text.lines(rows), "", "Ctrl-C is safe: run again to go on"], news=news)

        return await one.up(programs, settings=wanted, progress=show, owner=owner)


@dataclasses.dataclass(frozen=True)
class LabSize:
    """The options; None for what was not given."""

    control_planes: int | None = None
    machines: int | None = None
    workers: int | None = None
    settings_file: Path | None = None


def wanted(one: Lab, size: LabSize) -> LabSettings | None:
    """The settings that the options mean: a file, or what the lab has already with other numbers."""
    if size == LabSize():
        return None
    if size.machines is not None and size.control_planes is not None:
        raise errors.UsageError(
            "--machines and --control-planes exclude each other",
            hint="Machines are bare and become nodes by way of Talos's API; --control-planes counts simulated nodes.",
        )
    if size.settings_file is not None:
        base = lab_settings.load(size.settings_file)
        if (base.nodes or base.machines) and size != LabSize(settings_file=size.settings_file):
            what = "machines" if base.machines else "nodes"
            raise errors.UsageError(
                f"{size.settings_file} declares {what}, and the command line counts them", hint="Give one of the two."
            )
        if base.nodes or base.machines:
            return base
    else:
        base = one.settings() if one.home.exists() else lab_settings.LabSettings()
    if size.machines is not None or base.machines:
        return _with_machines(one, base, size)
    return _with_nodes(one, base, size)


def actors(ctx: click.Context, param: click.Parameter, given: str | None) -> tuple[str, ...] | None:
    """The names of an option's value; none of them for ``none``, nothing if it was not given."""
    if given is None:
        return None
    names = tuple(name for each in given.split(",") if (name := each.strip()) and name != "none")
    if unknown := [name for name in names if name not in lab_settings.ACTOR_NAMES]:
        raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(lab_settings.ACTOR_NAMES)}")
    return names


def with_actors(one: Lab, sized: LabSettings | None, names: tuple[str, ...] | None) -> LabSettings | None:
    """The same settings with other actors, if some are named."""
    if names is None:
        return sized
    base = sized or (one.settings() if one.home.exists() else lab_settings.DEFAULT)
    return msgspec.structs.replace(base, actors=names)


def _with_machines(one: Lab, base: LabSettings, size: LabSize) -> LabSettings:
    if size.control_planes is not None:
        raise errors.UsageError(f"lab {one.home.name} has machines", hint="Count them with --machines and --workers.")
    default = lab_settings.LabSettings()
    if (base.pod_cidr, base.service_cidr) != (default.pod_cidr, default.service_cidr):
        raise errors.UsageError(
            "pod and service networks of a lab with machines are those of their configs",
            hint="Leave podCidr and serviceCidr out of the settings.",
        )
    planes, workers = lab_settings.counted_machines(base)
    return lab_settings.with_machines(
        base,
        control_planes=planes if size.machines is None else size.machines,
        workers=workers if size.workers is None else size.workers,
    )


def _with_nodes(one: Lab, base: LabSettings, size: LabSize) -> LabSettings:
    if base.nodes and base.nodes != lab_settings.counted(base).nodes:
        raise errors.UsageError(
            f"the nodes of lab {one.home.name} were declared one by one", hint="Change its settings file instead."
        )
    roles = [node.role for node in base.nodes or lab_settings.DEFAULT.nodes]
    return lab_settings.with_nodes(
        base,
        control_planes=roles.count("control-plane") if size.control_planes is None else size.control_planes,
        workers=roles.count("worker") if size.workers is None else size.workers,
    )
