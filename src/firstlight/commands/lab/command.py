"""``firstlight lab``: a control plane on this machine. Each of its commands is imported when it is called."""

import click

from firstlight.cli.lazy_group import LazyGroup

_HOME = "firstlight.commands.lab.lab"
COMMANDS: dict[str, tuple[str, str]] = {
    "up": (f"{_HOME}:up", "Bring a lab up, or what is missing of it; run again, it changes nothing"),
    "down": (f"{_HOME}:down", "Stop a lab and delete everything it has, also after a crash"),
    "status": (f"{_HOME}:status", "Every part of a lab: real or simulated, what it does, what it waits for"),
    "list": (f"{_HOME}:list_labs", "All labs on this machine"),
    "logs": (f"{_HOME}:logs", "What the parts of a lab print"),
    "kubeconfig": (f"{_HOME}:kubeconfig", "Where the administrator's kubeconfig of a lab is"),
    "talosconfig": (f"{_HOME}:talosconfig", "Where the talosconfig is, if firstlight configured the machines"),
    "save": (f"{_HOME}:save", "Keep a copy of the cluster's whole state under a name"),
    "restore": (f"{_HOME}:restore", "Put a saved state back; what happened since is gone"),
    "machine": (f"{_HOME}:machine", "The machines of a lab, and their power"),
    "source": ("firstlight.commands.lab.source:source", "The Git, OCI and Helm repositories that a lab serves"),
    "fault": ("firstlight.commands.lab.fault:fault", "Faults for clients and for processes"),
    "omni": ("firstlight.commands.lab.omni:omni", "Make the cluster of an Omni template"),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def lab() -> None:
    """A real control plane with simulated nodes or machines on this machine: no Docker, no root, loopback only."""
