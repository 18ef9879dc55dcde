"""Which lab a command means: the option, and the lab that must exist."""

import click

from firstlight import errors
from firstlight.lab import lab_directory, running_lab
from firstlight.lab.running_lab import Lab


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [home.name for home in lab_directory.all_labs() if home.name.startswith(incomplete)]


option = click.option("-n", "--name", default="default", show_default=True, shell_complete=_names, help="Which lab.")


def existing(name: str) -> Lab:
    """The lab with a name, which must have been made."""
    one = running_lab.named(name)
    if not one.home.exists():
        raise errors.UsageError(f"there is no lab {name}", hint=f"Make it: firstlight lab up -n {name}")
    return one


def running(name: str) -> Lab:
    """The lab with a name, which must run."""
    one = existing(name)
    if not one.is_running():
        raise errors.LabError(
            f"lab {name} does not run", hint=f"Its data is kept. Start it: firstlight lab up -n {name}"
        )
    return one
