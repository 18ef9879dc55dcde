"""Which lab a command means: the option, and the lab that must exist."""

from typing import TYPE_CHECKING

import click

from firstlight import errors

if TYPE_CHECKING:
    from firstlight.lab.lab import Lab

option = click.option("-n", "--name", default="default", show_default=True, help="Which lab.")


def existing(name: str) -> "Lab":
    """The lab with a name, which must have been made."""
    from firstlight.lab import lab as labs

    one = labs.named(name)
    if not one.home.exists():
        raise errors.UsageError(f"there is no lab {name}", hint=f"Make it: firstlight lab up -n {name}")
    return one
