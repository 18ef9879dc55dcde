"""``firstlight lab``: up, down, status, logs, kubeconfig, save and restore; faults are in a file of their own."""

import asyncio
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstlight import errors
from firstlight.cli import lab_size, output, screen, which_lab
from firstlight.cli.lab_fault import fault
from firstlight.cli.lab_machine import machine
from firstlight.cli.lab_omni import omni
from firstlight.cli.lab_source import source

if TYPE_CHECKING:
    from firstlight.lab.lab import Lab
    from firstlight.lab.settings import Settings
    from firstlight.model.lab_status import LabStatus


@click.group(no_args_is_help=True)
def lab() -> None:
    """A real control plane with simulated nodes or machines on this machine: no Docker, no root, loopback only."""


lab.add_command(fault)
lab.add_command(machine)
lab.add_command(omni)
lab.add_command(source)


@lab.command()
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
    "--actors", callback=lab_size.actors, metavar="NAMES",
    help="Whose real programs run beside their pods: flux, flux-operator, argocd, by commas; none for nobody's.",
)  # fmt: skip
@output.option
def up(
    name: str, control_planes: int | None, machines: int | None, workers: int | None, settings_file: Path | None,
    actors: tuple[str, ...] | None, form: str,
) -> None:  # fmt: skip
    """Bring a lab up, or what is missing of it; run again, it changes nothing."""
    from firstlight.lab import lab as labs
    from firstlight.report import lab as page

    one = labs.named(name)
    size = lab_size.Size(control_planes, machines, workers, settings_file)
    state = asyncio.run(bring_up(one, lab_size.with_actors(one, lab_size.wanted(one, size), actors)))
    if form == "json":
        _write_status(one, *asyncio.run(look(one)))
        return
    print(f"lab {name} is up   {state.loopback}   {one.home.path}")
    print("\n".join(page.next_steps(state, option="" if name == "default" else f" -n {name}")))


@lab.command()
@which_lab.option
@click.option("--keep", is_flag=True, help="Stop it, but keep its data: lab up goes on from there.")
@click.option("--all", "every", is_flag=True, help="All labs.")
@output.option
def down(name: str, keep: bool, every: bool, form: str) -> None:
    """Stop a lab and delete everything it has, also after a crash."""
    from firstlight.lab import directory
    from firstlight.lab import lab as labs

    chosen = [labs.Lab(home) for home in directory.all_labs()] if every else [labs.named(name)]
    gone = [one for one in chosen if one.home.path.exists()]
    for one in gone:
        asyncio.run(one.down(keep=keep))
    what = "stopped; its data stays" if keep else "gone"
    lines = [f"lab {one.home.name} is {what}" for one in gone]
    lines = lines or ["there are no labs" if every else f"there is no lab {name}"]
    output.answer(form, "\n".join(lines), {"labs": [one.home.name for one in gone], "kept": keep})


@lab.command()
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


@lab.command("list")
@output.option
def list_labs(form: str) -> None:
    """All labs on this machine."""
    from firstlight.lab import directory
    from firstlight.lab import lab as labs
    from firstlight.report import table

    found = [labs.Lab(home) for home in directory.all_labs()]
    if form == "json":
        output.write_json(
            {"labs": [{"name": each.home.name, "running": each.is_running(), "directory": str(each.home.path)}
                      for each in found]}
        )  # fmt: skip
        return
    rows = [[each.home.name, "running" if each.is_running() else "stopped", str(each.home.path)] for each in found]
    print("\n".join(table.render(rows)) if rows else "there are no labs; make one: firstlight lab up")


@lab.command()
@click.argument("part", required=False)
@which_lab.option
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come.")
@click.option("--lines", type=click.IntRange(0), default=50, show_default=True, help="How many of the last lines.")
def logs(part: str | None, name: str, follow: bool, lines: int) -> None:
    """What the parts of a lab print; without PART, which there are."""
    from firstlight.report import safe

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


@lab.command()
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


@lab.command()
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


@lab.command()
@click.argument("state")
@which_lab.option
@output.option
def save(state: str, name: str, form: str) -> None:
    """Keep a copy of the cluster's whole state under a name; takes some seconds."""
    asyncio.run(which_lab.running(name).save(state))
    text = f"saved; put it back: firstlight lab restore {state} -n {name}"
    output.answer(form, text, {"name": name, "saved": state})


@lab.command()
@click.argument("state")
@which_lab.option
@output.option
def restore(state: str, name: str, form: str) -> None:
    """Put a saved state back; what happened since is gone."""
    asyncio.run(which_lab.running(name).restore(state))
    output.answer(form, f"lab {name} is as it was saved in {state}", {"name": name, "restored": state})


async def bring_up(one: "Lab", wanted: "Settings | None", *, owner: int = 0) -> "LabStatus":
    """Install what the lab needs, start it, and show how far it is."""
    from firstlight.cli import installing
    from firstlight.lab import actors, control_plane
    from firstlight.lab import machines as lab_machines
    from firstlight.report import lab as page

    settings = wanted or (one.settings() if one.home.exists() else None)
    more = (lab_machines.PROGRAM,) if settings is not None and settings.machines else ()
    programs = await installing.ensure(
        [*control_plane.COMPONENTS, *more, *actors.installed(settings.actors if settings is not None else ())]
    )
    begun = time.time()
    with screen.Screen() as display:

        def show(state: "LabStatus") -> None:
            rows = page.part_rows(state.parts)
            busy = [part for part in state.parts if not part.idle]
            ready = sum(part.state == "ready" for part in busy)
            head = f"lab {one.home.name}   {ready}/{len(busy)} parts ready   {page.duration(time.time() - begun)}"
            news = [f"lab {one.home.name}: {part.name} is ready" for part in state.parts if part.state == "ready"]
            display.draw([head, "", *page.lines(rows), "", "Ctrl-C is safe: run again to go on"], news=news)

        return await one.up(programs, settings=wanted, progress=show, owner=owner)


def status_lines(one: "Lab", state: "LabStatus", nodes: list[dict[str, Any]] | None) -> list[str]:
    """The whole status page."""
    from firstlight.lab import simulations
    from firstlight.report import lab as page
    from firstlight.report import safe, table

    columns = table.terminal_columns()
    memory = sum(part.memory for part in state.parts) >> 20
    return [
        f"lab {state.name}   {state.loopback}, declared as {state.declared}   {memory} MB",
        "",
        *page.lines(page.part_rows(state.parts), columns=columns),
        *(["", "machines:", *page.lines(page.machine_rows(state), columns=columns)] if state.machines else []),
        "",
        "simulator, what it pretends:",
        *page.lines(page.simulation_rows(simulations.descriptions()), columns=columns),
        "",
        *_node_lines(state, nodes, columns=columns),
        *(["", "notes:", *(f"  {safe.text(note)}" for note in state.notes)] if state.notes else []),
        "",
        f"everything is in {one.home.path}",
    ]  # fmt: skip


def _node_lines(state: "LabStatus", nodes: list[dict[str, Any]] | None, *, columns: int) -> list[str]:
    from firstlight.report import lab as page

    if nodes is None and state.machines and not any(each.node for each in state.machines):
        return ["nodes: none yet, since no machine has joined a cluster"]
    ready = sum(bool(node["ready"]) for node in nodes or ())
    head = "nodes: the API server does not answer" if nodes is None else f"nodes, {ready} of {len(nodes)} ready:"
    return [head, *page.lines([_node_row(node) for node in nodes or ()], columns=columns)]


def _node_row(node: dict[str, Any]) -> list[str]:
    from firstlight.report import safe

    state = "ready" if node["ready"] else "not ready"
    return [node["name"], node["role"], node["address"], state, safe.text(node["why"])]


async def look(one: "Lab") -> "tuple[LabStatus, list[dict[str, Any]] | None]":
    """The status of the parts, and of the nodes if there is an API that answers."""
    from firstlight.clients import kube
    from firstlight.lab import nodes as lab_nodes

    state = await one.status()
    if not one.kubeconfig.exists():
        return state, None
    try:
        async with asyncio.timeout(5), kube.Client(kube.load(one.kubeconfig)) as client:
            listing = await client.list("v1", "Node")
    except (errors.ClientError, TimeoutError):
        return state, None
    return state, [lab_nodes.summary(node) for node in listing.items]


def _write_status(one: "Lab", state: "LabStatus", nodes: list[dict[str, Any]] | None) -> None:
    from firstlight.lab import simulations

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
            "simulations": simulations.descriptions(),
            "nodes": nodes,
        }
    )
