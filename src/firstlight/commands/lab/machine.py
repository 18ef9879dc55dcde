"""``firstlight lab machine``: the power switch of virtual machines; everything else goes through Talos's own API."""

import asyncio

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.commands.lab import text as lab_text
from firstlight.commands.lab import which_lab


@click.group(no_args_is_help=True)
def machine() -> None:
    """The machines of a lab that was made with --machines: which there are, and their power."""


@machine.command("list")
@which_lab.option
@output.option
def list_machines(name: str, form: str) -> None:
    """Every machine: where talosctl reaches it, its declared address, its power, and what it has become."""
    state = asyncio.run(which_lab.running(name).status())
    if form == "json":
        output.write_json({"machines": state.machines})
        return
    if not state.machines:
        raise errors.UsageError(
            f"lab {name} has no machines", hint="Make a lab that has: firstlight lab up --machines 3"
        )
    print("\n".join(lab_text.lines(lab_text.machine_rows(state))))


@machine.command("on")
@click.argument("machine_name", metavar="NAME")
@which_lab.option
@output.option
def switch_on(machine_name: str, name: str, form: str) -> None:
    """Switch a machine on."""
    asyncio.run(which_lab.running(name).machine(machine_name, "on"))
    output.answer(form, f"{machine_name} is switched on", {"machine": machine_name, "power": "on"})


@machine.command("off")
@click.argument("machine_name", metavar="NAME")
@which_lab.option
@output.option
def switch_off(machine_name: str, name: str, form: str) -> None:
    """Pull the plug of a machine; it stays off. For an orderly end there is talosctl shutdown."""
    asyncio.run(which_lab.running(name).machine(machine_name, "off"))
    output.answer(form, f"{machine_name} is switched off", {"machine": machine_name, "power": "off"})
