"""What Omni says of a cluster: what a template would change, and how far its machines are.

Nothing of this is a secret: of what a patch holds, only the patch's name is here.
"""

import dataclasses
import enum


class OmniVerb(enum.StrEnum):
    """What a sync does to a resource of Omni."""

    CREATE = "create"
    UPDATE = "update"
    REMOVE = "remove"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFieldChange:
    """A field that is no secret, from what it is to what it becomes; empty where there is none."""

    field: str
    """As Omni writes it: ``kubernetesversion``, ``talosversion``, ``machinecount`` …"""
    was: str = ""
    becomes: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """One resource that a sync would change."""

    verb: OmniVerb
    kind: str
    """``Clusters``, ``MachineSets``, ``MachineSetNodes``, ``ConfigPatches`` …, without Omni's domain."""
    id: str
    turns: tuple[ResourceFieldChange, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMachine:
    """A machine of a cluster, as Omni sees it."""

    id: str
    stage: str
    """``RUNNING``, ``INSTALLING``, ``POWERED_OFF`` …"""
    is_control_plane: bool = False
    is_connected: bool = True
    is_up_to_date: bool = True
    """Whether it has the config that it is to have."""
    has_failed: bool = False
    """Its config could not be applied."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """How far a cluster is."""

    phase: str
    is_ready: bool
    """By Omni's own measure: a cluster without a network is not."""
    machines: tuple[ClusterMachine, ...] = ()
    checks: tuple[str, ...] | None = None
    """Checks of the control plane that fail: ``Etcd``, ``WireguardConnection``; None where nobody has checked yet."""
    upgrades: tuple[tuple[str, str], ...] = ()
    """What is upgraded, and how far: ``("Kubernetes", "Done")``."""
