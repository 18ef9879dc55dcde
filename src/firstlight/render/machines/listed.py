"""Machines that are listed in firstlight.yaml: what is said there, and the patches that it names."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_draft import MachineDraft
from firstlight.render.machines import schematics, sheet
from firstlight.render.machines.sheet import Sheet
from firstlight.repo.declaration import form

INSTALLER = "ghcr.io/siderolabs/installer"


def drafts(on: Sheet, machines: Sequence[Machine]) -> list[MachineDraft]:
    """One for each."""
    declared = {} if isinstance(on.own.machines, str) else {each.name: each for each in on.own.machines}
    if machines and not on.endpoint:
        on.refuse(machines[0].place, "nothing says where the Kubernetes API is", "Write network.endpoint.")
    return [_draft(on, each, declared[each.name]) for each in machines if each.name in declared]


def _draft(on: Sheet, machine: Machine, wish: form.Machine) -> MachineDraft:
    talos = on.cluster.talos
    if wish.disk and wish.disk_selector:
        on.refuse(machine.place, f"{machine.name} has a disk and a diskSelector", "Write one of them.")
    image = wish.image
    if wish.schematic and not image:
        if not talos:
            on.refuse(machine.place, "a schematic needs a version of Talos", "Write talos: v1.13.0 for the cluster.")
        image = schematics.installer(wish.schematic, talos)
    elif not image and talos:
        image = f"{INSTALLER}:v{talos.removeprefix('v')}"
    own: dict[str, Any] = {}
    if wish.disk_selector:
        own.setdefault("install", {})["diskSelector"] = dict(wish.disk_selector)
    if wish.interfaces:
        own.setdefault("network", {})["interfaces"] = list(wish.interfaces)
    base = sheet.patch(
        machine.place, {"machine": own} if own else {}, _cluster(on, machine), sheet.hostname(machine.name, talos)
    )
    return on.draft(
        machine, install_disk=wish.disk, disk_selector=wish.disk_selector, install_image=image,
        patches=(base, *on.declared_patches(machine, wish.patches)),
        sans=(on.cluster.network.vip,) if on.cluster.network.vip else (),
    )  # fmt: skip


def _cluster(on: Sheet, machine: Machine) -> dict[str, Any]:
    """What firstlight.yaml says of the cluster; what only patches say is theirs to say."""
    network = on.own.network
    said: dict[str, Any] = {}
    if network.pods or network.services:
        nets = {"podSubnets": list(network.pods), "serviceSubnets": list(network.services)}
        said["network"] = {key: each for key, each in nets.items() if each}
    if on.own.schedules_on_control_planes is True and machine.role is MachineRole.CONTROL_PLANE:
        said["allowSchedulingOnControlPlanes"] = True
    return {"cluster": said} if said else {}
