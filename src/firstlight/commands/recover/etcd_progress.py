"""How far etcd's recovery is, written down on this computer: what was wiped is not wiped again once it is restored."""

import dataclasses
from pathlib import Path
from typing import Literal

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.journal import state_files

NAME = "etcd-recovery.json"
EtcdRecoveryPhase = Literal["wiping", "restoring", "restored", "done"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class EtcdRecovery:
    """One recovery."""

    source: str
    """The backup or snapshot; empty where it is what a survivor has."""
    begun: float
    planes: tuple[str, ...]
    """The control planes that answered, and are made anew."""
    phase: EtcdRecoveryPhase = "wiping"
    kept: str = ""
    """Where what was left of etcd is kept."""
    restored: float = 0.0
    """When etcd was restored: whoever is older remembers what did not happen."""
    kubelets: tuple[str, ...] = ()
    """Machines whose kubelet was restarted since."""


def path(state: Path, cluster: str) -> Path:
    """Where it is."""
    return state / cluster / NAME


def read(state: Path, cluster: str) -> EtcdRecovery | None:
    """The recovery that is not over; None where there is none.

    Raises:
        errors.Refused: It cannot be read: nobody knows what was wiped and what was restored.
    """
    place = path(state, cluster)
    try:
        found = msgspec.json.decode(state_files.read(place), type=EtcdRecovery)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise errors.Refused(
            f"{place} cannot be read: {error}", hint="It tells how far a recovery of etcd is. Delete it to begin anew."
        ) from error
    return None if found.phase == "done" else found


def write(record: EtcdRecovery, state: Path, cluster: str) -> EtcdRecovery:
    """Write it down, also through a power loss.

    Raises:
        errors.FirstlightError: It cannot be written.
    """
    place = path(state, cluster)
    try:
        state_files.enter(place)
        atomic_file.replace(place, msgspec.json.encode(record) + b"\n")
    except OSError as error:
        raise errors.FirstlightError(
            f"{place} cannot be written: {error.strerror or error}", hint="Make room, or give write permission."
        ) from error
    return record
