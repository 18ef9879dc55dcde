"""``firstlight lab``: up, down, status, logs, kubeconfig, save and restore; faults are in a file of their own."""

import asyncio
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstlight import errors
from firstlight.cli import output, screen, which_lab
from firstlight.cli.lab_fault import fault

if TYPE_CHECKING:
    from firstlight.lab.lab import Lab
    from firstlight.lab.settings import Settings
    from firstlight.model.lab_status import LabStatus


@click.group(no_args_is_help=True)
def lab() -> None:
    """A real control plane with simulated nodes on this machine: no Docker, no root, loopback only."""


lab.add_command(fault)


@lab.command()
@which_lab.option
@click.option("--control-planes", type=click.IntRange(0, 9), help="Control-plane nodes.  [default: 1]")
@click.option("--workers", type=click.IntRange(0, 180), help="Worker nodes.  [default: 2]")
@click.option(
    "--settings", "settings_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file that declares nodes, networks, broken images, logs and exec answers (docs/lab.md).",
)  # fmt: skip
@output.option
def up(name: str, control_planes: int | None, workers: int | None, settings_file: Path | None, form: str) -> None:
    """Bring a lab up, or what is missing of it; run again, it changes nothing."""
    from firstlight.lab import lab as labs

    one = labs.named(name)
    wanted = _wanted(one, control_planes, workers, settings_file)
    state = asyncio.run(bring_up(one, wanted))
    if form == "json":
        _write_status(one, *asyncio.run(look(one)))
        return
    option = "" if name == "default" else f" -n {name}"
    print(f"lab {name} is up   {state.loopback}   {one.home.path}")
    print(f"\nnext   export KUBECONFIG=$(firstlight lab kubeconfig{option})")
    print("       kubectl get nodes           not ready until a CNI pod is ready on them")
    print(f"       firstlight lab status{option}       what is real and what is simulated")


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
    if not path.exists():
        raise errors.LabError(f"lab {name} was never up", hint=f"Bring it up: firstlight lab up -n {name}")
    output.answer(form, path.read_text() if content else str(path), {"name": name, "kubeconfig": str(path)})


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
    from firstlight.lab import control_plane
    from firstlight.report import lab as page

    programs = await installing.ensure(control_plane.COMPONENTS)
    begun = time.time()
    with screen.Screen() as display:

        def show(state: "LabStatus") -> None:
            rows = page.part_rows(state.parts)
            ready = sum(part.state == "ready" for part in state.parts)
            head = (
                f"lab {one.home.name}   {ready}/{len(state.parts)} parts ready   {page.duration(time.time() - begun)}"
            )
            news = [f"lab {one.home.name}: {part.name} is ready" for part in state.parts if part.state == "ready"]
            display.draw([head, "", *page.lines(rows), "", "Ctrl-C is safe: run again to go on"], news=news)

        return await one.up(programs, settings=wanted, progress=show, owner=owner)


def status_lines(one: "Lab", state: "LabStatus", nodes: list[dict[str, Any]] | None) -> list[str]:
    """The whole status page."""
    from firstlight.lab import simulations
    from firstlight.report import lab as page
    from firstlight.report import table

    columns = table.terminal_columns()
    memory = sum(part.memory for part in state.parts) >> 20
    ready = sum(bool(node["ready"]) for node in nodes or ())
    described = simulations.descriptions()
    return [
        f"lab {state.name}   {state.loopback}, declared as {state.declared}   {memory} MB",
        "",
        *page.lines(page.part_rows(state.parts), columns=columns),
        "",
        "simulator, what it pretends:",
        *page.lines(page.simulation_rows(described), columns=columns),
        "",
        "nodes: the API server does not answer" if nodes is None else f"nodes, {ready} of {len(nodes)} ready:",
        *page.lines([_node_row(node) for node in nodes or ()], columns=columns),
        "",
        f"everything is in {one.home.path}",
    ]  # fmt: skip


def _node_row(node: dict[str, Any]) -> list[str]:
    from firstlight.report import safe

    state = "ready" if node["ready"] else "not ready"
    return [node["name"], node["role"], node["address"], state, safe.text(node["why"])]


async def look(one: "Lab") -> "tuple[LabStatus, list[dict[str, Any]] | None]":
    """The status of the parts, and of the nodes if the API answers."""
    from firstlight.clients import kube
    from firstlight.lab import nodes as lab_nodes

    state = await one.status()
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
            "simulations": simulations.descriptions(),
            "nodes": nodes,
        }
    )


def _wanted(
    one: "Lab", control_planes: int | None, workers: int | None, settings_file: Path | None
) -> "Settings | None":
    """The settings that the options mean: a file, or what the lab has already with other numbers of nodes."""
    from firstlight.lab import settings

    if control_planes is None and workers is None and settings_file is None:
        return None
    if settings_file is not None:
        wanted = settings.load(settings_file)
        if wanted.nodes and (control_planes is not None or workers is not None):
            raise errors.UsageError(
                f"{settings_file} declares nodes, and the command line counts them", hint="Give one of the two."
            )
        if wanted.nodes:
            return wanted
    else:
        wanted = one.settings() if one.home.exists() else settings.DEFAULT
        if wanted.nodes != settings.counted(wanted).nodes:
            raise errors.UsageError(
                f"the nodes of lab {one.home.name} were declared one by one", hint="Change its settings file instead."
            )
    roles = [node.role for node in wanted.nodes or settings.DEFAULT.nodes]
    return settings.with_nodes(
        wanted,
        control_planes=roles.count("control-plane") if control_planes is None else control_planes,
        workers=roles.count("worker") if workers is None else workers,
    )
