"""``firstlight lab omni``: a lab from an Omni cluster template, with the lab in the place of Omni's server."""

import asyncio
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import install_tools, output
from firstlight.commands.lab import bring_up, which_lab
from firstlight.lab import lab_settings, running_lab
from firstlight.lab.omni import omni_configs
from firstlight.repo.omni import omni_parser


@click.command()
@click.argument("template", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@which_lab.option
@click.option(
    "--size", "sizes", multiple=True, metavar="SET=N",
    help="Machines of a set that has a machine class: control-planes, workers, or its own name.",
)  # fmt: skip
@output.option
def omni(template: Path, name: str, sizes: tuple[str, ...], form: str) -> None:
    """Make the cluster of an Omni template: its machines, its patches in Omni's order, bootstrapped.

    Omni's server is not here: that omnictl cluster template sync works is not proven by this.
    """
    asyncio.run(_omni(template, name, dict(_size(each) for each in sizes), form))


async def _omni(template: Path, name: str, sizes: dict[str, int], form: str) -> None:
    resolved = omni_configs.resolve_template(omni_parser.parse(template), sizes)
    one = running_lab.named(name)
    base = one.settings() if one.home.exists() else lab_settings.LabSettings()
    programs = await install_tools.ensure(["talosctl"])
    await bring_up.bring_up(one, omni_configs.template_settings(resolved, base))

    def say(line: str) -> None:
        click.echo(line, err=form == "json")

    notes = await omni_configs.configure_machines(one, resolved, programs["talosctl"], report=say)
    option = "" if name == "default" else f" -n {name}"
    lines = [f"lab {name} is the cluster {resolved.template.cluster.name}"]
    lines += [f"  note   {note}" for note in (*resolved.notes, *notes)]
    lines += [f"\nnext   export TALOSCONFIG=$(firstlight lab talosconfig{option})"]
    lines += [f"       export KUBECONFIG=$(firstlight lab kubeconfig{option})"]
    machines = [{"name": each.name, "uuid": each.uuid, "role": each.role} for each in resolved.machines]
    value = {
        "name": name, "cluster": resolved.template.cluster.name, "machines": machines,
        "notes": [*resolved.notes, *notes],
    }  # fmt: skip
    output.answer(form, "\n".join(lines), value)


def _size(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not (name and equals and number.isdecimal()):
        raise errors.UsageError(f"{text!r} is no size", hint="Write --size workers=3.")
    return name, int(number)
