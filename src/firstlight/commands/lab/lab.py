"""A lab as a whole: up, down, status, logs, the ways in, its state saved and restored, the power of its machines."""

import asyncio
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.clients import kube
from firstlight.commands.lab import bring_up, which_lab
from firstlight.commands.lab import text as lab_text
from firstlight.commands.lab.text import status_lines
from firstlight.drawing import safe, table
from firstlight.lab import kubelet_objects, lab_directory, lab_settings, running_lab, simulator
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.running_lab import Lab


@click.command()
@which_lab.option
@click.option("--control-planes", type=click.IntRange(0, 9), help="Simulated control-plane nodes.  [default: 1]")
@click.option(
    "--machines", type=click.IntRange(1, 9), help="Instead: bare machines for the control plane, in maintenance mode."
)
@click.option("--workers", type=click.IntRange(0, 180), help="Worker nodes, or machines.  [default: 2 nodes]")
@click.option(
    "--settings", "settings_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file that declares nodes or machines, networks, broken images, logs and exec answers (docs/lab.md).",
)  # fmt: skip
@click.option(
    "--actors", callback=bring_up.actors, metavar="NAMES",
    help=f"Run real programs beside their pods: {', '.join(lab_settings.ACTOR_NAMES)}, by commas; or none.",
)  # fmt: skip
@output.option
def up(
    name: str, control_planes: int | None, machines: int | None, workers: int | None, settings_file: Path | None,
    actors: tuple[str, ...] | None, form: str,
) -> None:  # fmt: skip
    """Bring a lab up, or what is missing of it; run again, it changes nothing."""
    one = running_lab.named(name)
    size = bring_up.LabSize(control_planes, machines, workers, settings_file)
    state = asyncio.run(bring_up.bring_up(one, bring_up.with_actors(one, bring_up.wanted(one, size), actors)))
    if form == "json":
        _write_status(one, *asyncio.run(look(one)))
        return
    print(f"lab {name} is up   {state.loopback}   {one.home.path}")
    print("\n".join(lab_text.next_steps(state, option="" if name == "default" else f" -n {name}")))


@click.command()
@which_lab.option
@click.option("--keep", is_flag=True, help="Stop it, but keep its data: lab up goes on from there.")
@click.option("--all", "every", is_flag=True, help="All labs.")
@output.option
def down(name: str, keep: bool, every: bool, form: str) -> None:
    """Stop a lab and delete everything it has, also after a crash."""
    chosen = [running_lab.Lab(home) for home in lab_directory.all_labs()] if every else [running_lab.named(name)]
    gone = [one for one in chosen if one.home.path.exists()]
    for one in gone:
        asyncio.run(one.down(keep=keep))
    what = "stopped; its data stays" if keep else "gone"
    lines = [f"lab {one.home.name} is {what}" for one in gone]
    lines = lines or ["there are no labs" if every else f"there is no lab {name}"]
    output.answer(form, "\n".join(lines), {"labs": [one.home.name for one in gone], "kept": keep})


@click.command()
@which_lab.option
@output.option
def status(name: str, form: str) -> int:
    """Every part of a lab: real or simulated, what it does, what it waits for; exit 1 if one is not ready."""
    one = which_lab.running(name)
    state, nodes = asyncio.run(look(one))
    if form == "json":
        _write_status(one, state, nodes)
    else:
        print("\n".join(status_lines(one, state, nodes)))
    return 0 if state.is_ready else errors.LabError.exit_code


@click.command("list")
@output.option
def list_labs(form: str) -> None:
    """All labs on this machine."""
    found = [running_lab.Lab(home) for home in lab_directory.all_labs()]
    if form == "json":
        output.write_json(
            {"labs": [{"name": each.home.name, "running": each.is_running(), "directory": str(each.home.path)}
                      for each in found]}
        )  # fmt: skip
        return
    rows = [[each.home.name, "running" if each.is_running() else "stopped", str(each.home.path)] for each in found]
    print("\n".join(table.render(rows)) if rows else "there are no labs; make one: firstlight lab up")


@click.command()
@click.argument("part", required=False)
@which_lab.option
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come.")
@click.option("--lines", type=click.IntRange(0), default=50, show_default=True, help="How many of the last lines.")
def logs(part: str | None, name: str, follow: bool, lines: int) -> None:
    """What the parts of a lab print; without PART, which there are."""
    one = which_lab.existing(name)
    files = {path.stem: path for path in sorted(one.home.logs.glob("*.log"))}
    if part is None:
        print("\n".join(f"{each:26}{path.stat().st_size:>12,} bytes" for each, path in files.items()))
        return
    if part not in files:
        raise errors.UsageError(f"lab {name} has no log of {part!r}", hint="There are " + ", ".join(files) + ".")
    with files[part].open(errors="replace") as file:
        for line in deque(file, lines):
            sys.stdout.write(safe.text(line))
        while follow:
            if line := file.readline():
                sys.stdout.write(safe.text(line))
                sys.stdout.flush()
            elif not one.is_running():
                return
            else:
                time.sleep(0.2)


@click.command()
@which_lab.option
@click.option("--faults", is_flag=True, help="The way through the fault proxy.")
@click.option("--content", is_flag=True, help="Print the file itself, not where it is.")
@output.option
def kubeconfig(name: str, faults: bool, content: bool, form: str) -> None:
    """Where the administrator's kubeconfig of a lab is."""
    one = which_lab.existing(name)
    path = one.home.kubeconfig_faults if faults else one.home.kubeconfig
    if not path.exists() and one.settings().machines:
        raise errors.LabError(
            f"no machine of lab {name} was bootstrapped yet",
            hint=f"Apply a config to one, then talosctl bootstrap. Where it is: firstlight lab machine list -n {name}",
        )
    if not path.exists():
        raise errors.LabError(f"lab {name} was never up", hint=f"Bring it up: firstlight lab up -n {name}")
    output.answer(form, path.read_text() if content else str(path), {"name": name, "kubeconfig": str(path)})


@click.command()
@which_lab.option
@output.option
def talosconfig(name: str, form: str) -> None:
    """Where the talosconfig is, of a lab whose machines were configured by firstlight itself."""
    one = which_lab.existing(name)
    if not one.home.talosconfig.exists():
        raise errors.LabError(
            f"lab {name} did not configure its machines itself",
            hint="Who gives them their configs has the talosconfig: talosctl gen config writes it.",
        )
    output.answer(form, str(one.home.talosconfig), {"name": name, "talosconfig": str(one.home.talosconfig)})


@click.command()
@click.argument("state")
@which_lab.option
@output.option
def save(state: str, name: str, form: str) -> None:
    """Keep a copy of the cluster's whole state under a name; takes some seconds."""
    asyncio.run(which_lab.running(name).save(state))
    text = f"saved; put it back: firstlight lab restore {state} -n {name}"
    output.answer(form, text, {"name": name, "saved": state})


@click.command()
@click.argument("state")
@which_lab.option
@output.option
def restore(state: str, name: str, form: str) -> None:
    """Put a saved state back; what happened since is gone."""
    asyncio.run(which_lab.running(name).restore(state))
    output.answer(form, f"lab {name} is as it was saved in {state}", {"name": name, "restored": state})


async def look(one: Lab) -> tuple[LabStatus, list[dict[str, Any]] | None]:
    """The status of the parts, and of the nodes if there is an API that answers."""
    state = await one.status()
    if not one.kubeconfig.exists():
        return state, None
    try:
        async with asyncio.timeout(5), kube.Client(kube.load(one.kubeconfig)) as client:
            listing = await client.list("v1", "Node")
    except (errors.ClientError, TimeoutError):
        return state, None
    return state, [kubelet_objects.node_summary(node) for node in listing.items]


def _write_status(one: Lab, state: LabStatus, nodes: list[dict[str, Any]] | None) -> None:
    output.write_json(
        {
            "name": state.name,
            "ready": state.is_ready,
            "loopback": state.loopback,
            "declared": state.declared,
            "directory": state.directory,
            "kubeconfig": str(one.kubeconfig),
            "parts": state.parts,
            "machines": state.machines,
            "followed": state.followed,
            "notes": state.notes,
            "simulations": simulator.simulation_descriptions(),
            "nodes": nodes,
        }
    )


# ``firstlight lab machine``: the power switch of virtual machines; everything else goes through Talos's own API.


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
