"""What directories and file names tell by convention: the cluster, the role, the machine."""

import posixpath
import re

from firstlight.model.cluster import MachineRole
from firstlight.repo.talos import files
from firstlight.repo.talos.machine_facts import is_address

_HOMES = {"talos", "omni", "machineconfig", "machineconfigs", "machine-config", "machine-configs"}
_PARENTS = {"clusters", "cluster", "kubernetes", "k8s", "environments", "envs", "sites"}
_NODES = {"nodes", "node", "machines", "machine", "hosts", "host"}
_CONTROL_PLANE = {"controlplane", "controlplanes", "controller", "controllers", "cp", "master", "masters", "control"}
_WORKER = {"worker", "workers", "agent", "agents"}
_STRUCTURE = {
    *_HOMES, *_PARENTS, *_NODES, *_CONTROL_PLANE, *_WORKER, "patches", "patch", "configs", "config", "clusterconfig",
    "generated", "rendered", "output", "manifests", "schematics", "schematic", "all", "global", "common", "base",
    "shared", "control-plane", "control-planes", "controlplane-patches", "templates", "extensions", "static-configs",
    "node-types", "secrets", "hack", "scripts", "bootstrap", "resources", "apps-manifests", "inline", "volumes",
}  # fmt: skip


def cluster(path: str) -> str:
    """The cluster that a file's directory names: ``talos/infra/…``, ``clusters/infra/talos/…``; else empty."""
    parts = posixpath.dirname(path).split("/")
    home = next((index for index, part in enumerate(parts) if part.lower() in _HOMES), None)
    if home is None:
        return ""
    below = parts[home + 1 :]
    if len(below) > 1 and below[0].lower() in {"clusters", "cluster"}:
        below = below[1:]
    if below and below[0].lower() not in _STRUCTURE and not is_address(below[0]):
        return below[0]
    if home > 1 and parts[home - 2].lower() in _PARENTS and parts[home - 1].lower() not in _STRUCTURE:
        return parts[home - 1]
    return ""


def is_home(path: str) -> bool:
    """Whether a file stands where Talos files are."""
    parts = [part.lower() for part in posixpath.dirname(path).split("/")]
    return any(part in _HOMES for part in parts) or "talos" in posixpath.basename(path).lower()


def role(path: str) -> MachineRole | None:
    """The role that a file's name or one of its two directories names."""
    parts = posixpath.dirname(path).split("/")[-2:]
    for part in (files.stem(path), *reversed(parts)):
        words = set(re.split(r"[-_.]|(?<=[a-z])(?=[0-9])", part.lower()))
        if words & _CONTROL_PLANE:
            return MachineRole.CONTROL_PLANE
        if words & _WORKER:
            return MachineRole.WORKER
    return None


def machine(path: str) -> str:
    """The machine that a file is for by its name or its directory; empty if they do not tell."""
    stem = files.stem(path)
    if is_address(stem):
        return stem
    parts = [part.lower() for part in posixpath.dirname(path).split("/")]
    above = posixpath.dirname(path).split("/")
    while (
        parts and parts[-1] in {*_CONTROL_PLANE, *_WORKER, "control-plane"} and len(parts) > 1 and parts[-2] in _NODES
    ):
        parts.pop()
        above.pop()
    if parts and parts[-1] in _NODES:
        return stem
    return above[-1] if len(parts) > 1 and parts[-2] in _NODES else ""


def is_below(path: str, directory: str) -> bool:
    """Whether a file stands in a directory or deeper."""
    return not directory or path.startswith(f"{directory}/")
