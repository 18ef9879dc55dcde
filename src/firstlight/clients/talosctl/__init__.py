"""talosctl as one class: a method for each command, sorted into files by what they are about."""

from firstlight.clients.talosctl.cluster_commands import ClusterCommands
from firstlight.clients.talosctl.config_commands import ConfigCommands
from firstlight.clients.talosctl.etcd_commands import EtcdCommands
from firstlight.clients.talosctl.machine_commands import FactCommands, ServiceCommands
from firstlight.clients.talosctl.machine_target import MachineTarget
from firstlight.clients.talosctl.power_commands import PowerCommands
from firstlight.clients.talosctl.resource_commands import ResourceCommands
from firstlight.clients.talosctl.talos_errors import (
    TalosAlreadyDone,
    TalosCertificateProblem,
    TalosError,
    TalosNotFound,
    TalosNotReady,
    TalosRejected,
    TalosTimedOut,
    TalosUnauthorised,
    TalosUnreachable,
    TalosUnreadable,
    TalosUnsupported,
    TalosUntrusted,
)

__all__ = [
    "MachineTarget",
    "TalosAlreadyDone",
    "TalosCertificateProblem",
    "TalosError",
    "TalosNotFound",
    "TalosNotReady",
    "TalosRejected",
    "TalosTimedOut",
    "TalosUnauthorised",
    "TalosUnreachable",
    "TalosUnreadable",
    "TalosUnsupported",
    "TalosUntrusted",
    "Talosctl",
]


class Talosctl(
    ConfigCommands, ClusterCommands, ResourceCommands, FactCommands, ServiceCommands, EtcdCommands, PowerCommands
):
    """talosctl at a path, with a talosconfig, or for machines in maintenance mode, or for offline work only."""
