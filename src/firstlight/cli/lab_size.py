"""How many nodes or machines a lab is to have: what the options of ``lab up`` mean together with what is there."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors

if TYPE_CHECKING:
    from firstlight.lab.lab import Lab
    from firstlight.lab.settings import Settings


@dataclasses.dataclass(frozen=True)
class Size:
    """The options; None for what was not given."""

    control_planes: int | None = None
    machines: int | None = None
    workers: int | None = None
    settings_file: Path | None = None


def wanted(one: "Lab", size: Size) -> "Settings | None":
    """The settings that the options mean: a file, or what the lab has already with other numbers."""
    from firstlight.lab import settings

    if size == Size():
        return None
    if size.machines is not None and size.control_planes is not None:
        raise errors.UsageError(
            "--machines and --control-planes exclude each other",
            hint="Machines are bare and become nodes by way of Talos's API; --control-planes counts simulated nodes.",
        )
    if size.settings_file is not None:
        base = settings.load(size.settings_file)
        if (base.nodes or base.machines) and size != Size(settings_file=size.settings_file):
            what = "machines" if base.machines else "nodes"
            raise errors.UsageError(
                f"{size.settings_file} declares {what}, and the command line counts them", hint="Give one of the two."
            )
        if base.nodes or base.machines:
            return base
    else:
        base = one.settings() if one.home.exists() else settings.Settings()
    if size.machines is not None or base.machines:
        return _with_machines(one, base, size)
    return _with_nodes(one, base, size)


def actors(ctx: click.Context, param: click.Parameter, given: str | None) -> tuple[str, ...] | None:
    """The names of an option's value; none of them for ``none``, nothing if it was not given."""
    from firstlight.lab import settings

    if given is None:
        return None
    names = tuple(name for each in given.split(",") if (name := each.strip()) and name != "none")
    if unknown := [name for name in names if name not in settings.ACTOR_NAMES]:
        raise click.BadParameter(f"{', '.join(unknown)}: there are {', '.join(settings.ACTOR_NAMES)}")
    return names


def with_actors(one: "Lab", sized: "Settings | None", names: tuple[str, ...] | None) -> "Settings | None":
    """The same settings with other actors, if some are named."""
    import msgspec

    from firstlight.lab import settings

    if names is None:
        return sized
    base = sized or (one.settings() if one.home.exists() else settings.DEFAULT)
    return msgspec.structs.replace(base, actors=names)


def _with_machines(one: "Lab", base: "Settings", size: Size) -> "Settings":
    from firstlight.lab import settings

    if size.control_planes is not None:
        raise errors.UsageError(f"lab {one.home.name} has machines", hint="Count them with --machines and --workers.")
    default = settings.Settings()
    if (base.pod_cidr, base.service_cidr) != (default.pod_cidr, default.service_cidr):
        raise errors.UsageError(
            "pod and service networks of a lab with machines are those of their configs",
            hint="Leave podCidr and serviceCidr out of the settings.",
        )
    planes, workers = settings.counted_machines(base)
    return settings.with_machines(
        base,
        control_planes=planes if size.machines is None else size.machines,
        workers=workers if size.workers is None else size.workers,
    )


def _with_nodes(one: "Lab", base: "Settings", size: Size) -> "Settings":
    from firstlight.lab import settings

    if base.nodes and base.nodes != settings.counted(base).nodes:
        raise errors.UsageError(
            f"the nodes of lab {one.home.name} were declared one by one", hint="Change its settings file instead."
        )
    roles = [node.role for node in base.nodes or settings.DEFAULT.nodes]
    return settings.with_nodes(
        base,
        control_planes=roles.count("control-plane") if size.control_planes is None else size.control_planes,
        workers=roles.count("worker") if size.workers is None else size.workers,
    )
