"""Machines of plain Talos files: whole configs, or secrets and patches, as talosctl takes them.

Which patches there are is what firstlight.yaml says; where it says nothing, those of the cluster's directory: for all,
then for the role, then for the machine, each in the order of their names.
"""

from collections.abc import Sequence

from firstlight.model.cluster import Machine
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.model.place import Place
from firstlight.render.machines.listed import INSTALLER
from firstlight.render.machines.sheet import Sheet
from firstlight.repo.talos import kinds, loose, secrets
from firstlight.repo.talos.loose import Loose


def drafts(on: Sheet, machines: Sequence[Machine]) -> list[MachineDraft]:
    """One for each."""
    paths = [each.path for each in on.cluster.files]
    found = [each for path in paths if (each := loose.read(on.tree, path)) is not None and each.configs]
    if machines and not on.endpoint and not any(each.is_whole for each in found):
        on.refuse(machines[0].place, "nothing says where the Kubernetes API is", "Write network.endpoint.")
    return [_draft(on, each, found) for each in machines]


def _draft(on: Sheet, machine: Machine, found: Sequence[Loose]) -> MachineDraft:
    mine = [each for each in found if each.machine in ("", machine.name) and each.role in (None, machine.role)]
    wholes = sorted((each for each in mine if each.is_whole), key=lambda each: not each.machine)
    base = next((each for each in wholes if _has_secrets(on, each)), None)
    patches: list[Patch] = []
    skeletons = [each for each in wholes if each is not base and base is None]
    for each in (*skeletons, *(each for each in _ordered(on, mine) if not each.is_whole)):
        patches += on.file(each.path, Place(each.path))
    patches += on.declared_patches(machine)
    whole = None
    if base is not None:
        found_whole = on.file(base.path, Place(base.path))
        whole = found_whole[0] if found_whole else None
    # Generated configs would install talosctl's own version; a patch that names an image still wins.
    image = f"{INSTALLER}:v{on.cluster.talos.removeprefix('v')}" if on.cluster.talos and whole is None else ""
    return on.draft(machine, whole=whole, patches=tuple(patches), install_image=image)


def _ordered(on: Sheet, mine: Sequence[Loose]) -> list[Loose]:
    """The patches, the most special last; where firstlight.yaml names patches, only those of single machines."""
    counted = [each for each in mine if each.machine or not on.has_declared_patches]
    return sorted(counted, key=lambda each: (bool(each.machine), each.role is not None, each.path))


def _has_secrets(on: Sheet, each: Loose) -> bool:
    """Whether a whole config is one: with the keys of the cluster, encrypted or not."""
    for document in each.file.documents:
        if kinds.of(document.value) == kinds.CONFIG:
            return secrets.is_complete(document.value)
    return False
