"""A lab as text: which parts it has, which of them are real, and what is pretended."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.drawing import safe, table
from firstlight.lab import simulator
from firstlight.lab.lab_status import LabStatus, MachineStatus, PartStatus
from firstlight.lab.running_lab import Lab


def status_lines(one: Lab, state: LabStatus, nodes: list[dict[str, Any]] | None) -> list[str]:
    """The whole status page."""
    columns = table.terminal_columns()
    memory = sum(part.memory for part in state.parts) >> 20
    return [
        f"lab {state.name}   {state.loopback}, declared as {state.declared}   {memory} MB",
        "",
        *lines(part_rows(state.parts), columns=columns),
        *(["", "machines:", *lines(machine_rows(state), columns=columns)] if state.machines else []),
        "",
        "simulator, what it pretends:",
        *lines(simulation_rows(simulator.simulation_descriptions()), columns=columns),
        "",
        *_node_lines(state, nodes, columns=columns),
        *(["", "notes:", *(f"  {safe.text(note)}" for note in state.notes)] if state.notes else []),
        "",
        f"everything is in {one.home.path}",
    ]  # fmt: skip


def _node_lines(state: LabStatus, nodes: list[dict[str, Any]] | None, *, columns: int) -> list[str]:
    if nodes is None and state.machines and not any(each.node for each in state.machines):
        return ["nodes: none yet, since no machine has joined a cluster"]
    ready = sum(bool(node["ready"]) for node in nodes or ())
    head = "nodes: the API server does not answer" if nodes is None else f"nodes, {ready} of {len(nodes)} ready:"
    return [head, *lines([_node_row(node) for node in nodes or ()], columns=columns)]


def _node_row(node: dict[str, Any]) -> list[str]:
    state = "ready" if node["ready"] else "not ready"
    return [node["name"], node["role"], node["address"], state, safe.text(node["why"])]


MARKS = {"ready": "✔", "slowed": "✔", "starting": "▸", "unready": "✘", "stopped": "■", "failed": "✘"}


def part_rows(parts: Sequence[PartStatus], *, now: float = 0) -> list[list[str]]:
    """A row for each part: name, state, how long, real or simulated, memory, and what it is or waits for."""
    now = now or time.time()
    return [
        [
            part.name,
            f"{MARKS.get(part.state, '·')} {part.state}",
            duration(now - part.since),
            part.reality,
            f"{part.memory >> 20} MB" if part.memory else "",
            safe.text(part.detail) or part.what + (f" (restarted {part.restarts}×)" if part.restarts else ""),
        ]
        for part in parts
    ]


def machine_rows(state: LabStatus) -> list[list[str]]:
    """A row for each machine: name, where talosctl reaches it, declared address, power, and what it is."""
    return [
        [
            machine.name,
            endpoint(machine),
            machine.address,
            machine.power,
            safe.text(became(machine)) + (", whose control plane runs" if machine.name == state.followed else ""),
        ]
        for machine in state.machines
    ]


def endpoint(machine: MachineStatus) -> str:
    """Where talosctl reaches a machine; it expects port 50000 by itself."""
    return machine.endpoint.removesuffix(":50000")


def became(machine: MachineStatus) -> str:
    """What a machine has become, in words."""
    if machine.problem:
        return f"does not run: {machine.problem}"
    if machine.stage == "maintenance":
        return "maintenance mode"
    wish = f"{machine.role} {machine.node}".strip()
    return wish if machine.stage == "joined" else f"configured as {wish}, has not joined".replace(" as ,", ",")


def next_steps(state: LabStatus, *, option: str) -> list[str]:
    """What to do with a lab that has just come up.

    Args:
        state: The lab.
        option: How commands name it.
    """
    status = f"       firstlight lab status{option}       what is real and what is simulated"
    if not state.machines:
        return [
            "",
            f"next   export KUBECONFIG=$(firstlight lab kubeconfig{option})",
            "       kubectl get nodes           not ready until a CNI pod is ready on them",
            status,
        ]
    off = [f"{each.name} is off, and stays so: firstlight lab machine on {each.name}{option}" for each in state.off]
    page = ["", *lines(machine_rows(state)), "", *off, *([""] if off else [])]
    if any(machine.stage != "maintenance" for machine in state.machines):
        return [*page, f"next   export KUBECONFIG=$(firstlight lab kubeconfig{option})", status]
    first, where = state.machines[0], endpoint(state.machines[0])
    steps = [
        f"next   talosctl get disks --insecure --nodes {where}",
        f"       talosctl gen config NAME https://{state.loopback}:6443",
        f"       talosctl apply-config --insecure --nodes {where} --file controlplane.yaml",
        "           and the other machines; then, once and on one machine only:",
        f"       talosctl bootstrap --talosconfig talosconfig -e {where} -n {first.address}",
        f"       export KUBECONFIG=$(firstlight lab kubeconfig{option})",
    ]
    return [*page, *steps]


def simulation_rows(simulations: Mapping[str, str]) -> list[list[str]]:
    """A row for each thing that is pretended."""
    return [[name, what] for name, what in simulations.items()]


def lines(rows: Sequence[Sequence[str]], *, columns: int = 0) -> list[str]:
    """Rows as an indented block."""
    return table.render(rows, indent="  ", columns=columns)


def duration(seconds: float) -> str:
    """A span of time in the two units that matter."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
