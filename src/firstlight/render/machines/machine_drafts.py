"""The drafts of a cluster's machines, however the repo writes them."""

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.machines import draft_sheet, schematics, talconfig_drafts
from firstlight.render.machines.draft_sheet import DraftSheet
from firstlight.repo.declaration import declaration_file, declaration_form
from firstlight.repo.talos import document_kinds, loose_files, talhelper
from firstlight.repo.talos.loose_files import LooseFile
from firstlight.repo.work_tree import WorkTree

_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_UNFIT = re.compile(r"[^a-z0-9.-]+")
MachineDrafts = tuple[tuple[MachineDraft, ...], tuple[Diagnostic, ...]]


def machine_drafts(
    platform: Platform, cluster: Cluster, *, inline: Mapping[str, str] | None = None, tree: WorkTree | None = None
) -> MachineDrafts:
    """What each machine is to be, and what stands in the way.

    Args:
        platform: The repo that was read.
        cluster: One of its clusters.
        inline: Contents of inline manifests by name, rendered anew; control planes begin with them.
        tree: The files, where they are others than those on the disk.

    Returns:
        The drafts in the order of the machines. With a diagnostic that is an ERROR they must not be used: what is not
        understood would be left out.
    """
    if cluster.omni_template:
        return (), ()  # Omni makes the configs of its machines
    tree = tree or WorkTree(platform.root)
    declaration, _ = declaration_file.read(tree)
    own = declaration.platform.clusters.get(cluster.name) if declaration else None
    rendered = {name: Secret(text) for name, text in (inline or {}).items()}
    sheet = DraftSheet(tree, cluster, own or declaration_form.ClusterSection(), declaration, rendered)
    found: dict[str, MachineDraft] = {}
    for path in dict.fromkeys(each.place.path for each in cluster.machines):
        machines = [each for each in cluster.machines if each.place.path == path]
        found |= {each.machine.name: each for each in _of_file(sheet, path, machines)}
    _check_whole(sheet, found)
    _check_endpoints(sheet, found)
    _check_names(sheet)
    made = tuple(found[each.name] for each in cluster.machines if each.name in found)
    return made, tuple(dict.fromkeys(sheet.diagnostics))


def _of_file(sheet: DraftSheet, path: str, machines: list[Machine]) -> list[MachineDraft]:
    if path == declaration_form.FILE:
        return listed_drafts(sheet, machines)
    if talhelper.is_talconfig(path):
        return talconfig_drafts.talconfig_drafts(sheet, path, machines)
    if any(each.id for each in machines):
        sheet.refuse(
            "omni-machines-mixed", "some machines are Omni's, and some are not", at=machines[0].place, fix=_OMNI
        )
        return []
    if "topf" in sheet.cluster.documents.get(path, ()):
        message = "machines of topf are not configured by firstlight yet"
        sheet.refuse("topf-not-supported", message, at=machines[0].place, fix=_TOPF)
        return []
    return plain_drafts(sheet, machines)


def _check_whole(sheet: DraftSheet, found: Mapping[str, MachineDraft]) -> None:
    """Whole configs hold the secrets, so that a talosconfig must come from elsewhere."""
    cluster = sheet.cluster
    if any(each.whole for each in found.values()) and not cluster.talosconfig and not cluster.talos_secrets:
        first = next(each.whole for each in found.values() if each.whole)
        message = "whole machine configs hold the cluster's secrets, and nothing says where a talosconfig is"
        hint = f"Write clusters.{cluster.name}.talosconfig in {declaration_form.FILE}: sops:talos/talosconfig.sops.yaml"
        sheet.refuse("talosconfig-undeclared", message, at=first.place, fix=hint)
    planes = [each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE]
    if cluster.machines and not planes:
        message = "there is no control plane among the machines"
        sheet.refuse("control-plane-missing", message, at=cluster.machines[0].place)
    for machine in cluster.machines:
        if not machine.address and not machine.id:
            message = f"nothing says at which address {machine.name} is"
            sheet.refuse("machine-address-missing", message, at=machine.place, fix="Declare its address.")


def _check_endpoints(sheet: DraftSheet, found: Mapping[str, MachineDraft]) -> None:
    """Talosctl makes no config for an address that is no URL, and says so only when it is asked for one."""
    place = sheet.cluster.said.get("network.endpoint", sheet.cluster.place)
    for endpoint in dict.fromkeys(each.endpoint for each in found.values() if each.endpoint and not each.whole):
        if problem := _no_url(endpoint):
            host, _, port = endpoint.rpartition("://")[2].rstrip("/").partition(":")
            example = f"https://{host or '10.25.10.10'}:{port if port.isdecimal() else '6443'}"
            sheet.refuse("endpoint-wrong", f"the endpoint {endpoint[:80]} {problem}", at=place, fix=f"Write {example}")


def _no_url(endpoint: str) -> str:
    """What an endpoint lacks; empty where it is the URL of an API."""
    if not endpoint.startswith("https://"):
        return "does not begin with https://"
    try:
        host = urllib.parse.urlsplit(endpoint).hostname
    except ValueError:
        host = ""
    return "" if host else "names no host"


def _check_names(sheet: DraftSheet) -> None:
    """A machine's name becomes the node's, which must be a name of DNS: Talos would leave out what does not fit."""
    for machine in sheet.cluster.machines:
        if machine.name in (machine.address, machine.id) or _HOST_NAME.fullmatch(machine.name):
            continue
        near = _UNFIT.sub("-", machine.name.lower()).strip("-.")[:63]
        hint = "Write lower-case letters, digits and -, at most 63 of them" + (f", such as {near}." if near else ".")
        message = f"{machine.name[:80]!r} is no name for a machine"
        sheet.refuse("machine-name-wrong", message, at=machine.place, fix=hint)


_OMNI = "Declare all machines of a cluster in its Omni template, or none."
_TOPF = f"Write the machines as a list in {declaration_form.FILE}, and the patches beside them."


# Machines that are listed in firstlight.yaml: what is said there, and the patches that it names.


def listed_drafts(on: DraftSheet, machines: Sequence[Machine]) -> list[MachineDraft]:
    """One for each."""
    declared = {} if isinstance(on.own.machines, str) else {each.name: each for each in on.own.machines}
    if machines and not on.endpoint:
        message = "nothing says where the Kubernetes API is"
        on.refuse("endpoint-missing", message, at=machines[0].place, fix="Write network.endpoint.")
    return [_draft(on, each, declared[each.name]) for each in machines if each.name in declared]


def _draft(on: DraftSheet, machine: Machine, wish: declaration_form.MachineSection) -> MachineDraft:
    talos = on.cluster.talos
    if wish.disk and wish.disk_selector:
        message = f"{machine.name} has a disk and a diskSelector"
        on.refuse("machine-disk-twice", message, at=machine.place, fix="Write one of them.")
    image = wish.image
    if wish.schematic and not image:
        if not talos:
            message = "a schematic needs a version of Talos"
            on.refuse("talos-version-missing", message, at=machine.place, fix="Write talos: v1.13.0 for the cluster.")
        image = schematics.installer(wish.schematic, talos)
    elif not image and talos:
        image = schematics.plain_installer(talos)
    own: dict[str, Any] = {}
    if wish.disk_selector:
        own.setdefault("install", {})["diskSelector"] = dict(wish.disk_selector)
    if wish.interfaces:
        own.setdefault("network", {})["interfaces"] = list(wish.interfaces)
    base = draft_sheet.patch(
        machine.place, {"machine": own} if own else {}, _cluster(on, machine),
        draft_sheet.hostname(machine.name, on.cluster.talos_contract or talos), role=machine.role,
    )  # fmt: skip
    return on.draft(
        machine, install_disk=wish.disk, disk_selector=wish.disk_selector, install_image=image,
        patches=(base, *on.declared_patches(machine, wish.patches)),
        sans=(on.cluster.network.vip,) if on.cluster.network.vip else (),
    )  # fmt: skip


def _cluster(on: DraftSheet, machine: Machine) -> dict[str, Any]:
    """What firstlight.yaml says of the cluster; what only patches say is theirs to say."""
    network = on.own.network
    said: dict[str, Any] = {}
    if network.pods or network.services:
        nets = {"podSubnets": list(network.pods), "serviceSubnets": list(network.services)}
        said["network"] = {key: each for key, each in nets.items() if each}
    if on.own.schedules_on_control_planes is True and machine.role is MachineRole.CONTROL_PLANE:
        said["allowSchedulingOnControlPlanes"] = True
    return {"cluster": said} if said else {}


# Machines of plain Talos files: whole configs, or secrets and patches, as talosctl takes them.
#
# Which patches there are is what firstlight.yaml says; where it says nothing, those of the cluster's directory: for
# all, then for the role, then for the machine, each in the order of their names.


def plain_drafts(on: DraftSheet, machines: Sequence[Machine]) -> list[MachineDraft]:
    """One for each."""
    paths = [each.path for each in on.cluster.files]
    found = [each for path in paths if (each := loose_files.read_loose(on.tree, path)) is not None and each.configs]
    if machines and not on.endpoint and not any(each.is_whole for each in found):
        message = "nothing says where the Kubernetes API is"
        on.refuse("endpoint-missing", message, at=machines[0].place, fix="Write network.endpoint.")
    return [_plain_draft(on, each, found) for each in machines]


def _plain_draft(on: DraftSheet, machine: Machine, found: Sequence[LooseFile]) -> MachineDraft:
    mine = [each for each in found if each.machine in ("", machine.name) and each.role in (None, machine.role)]
    wholes = sorted((each for each in mine if each.is_whole), key=lambda each: not each.machine)
    base = next((each for each in wholes if _has_secrets(on, each)), None)
    patches: list[DraftPatch] = []
    skeletons = [each for each in wholes if each is not base and base is None]
    for each in (*skeletons, *(each for each in _ordered(on, mine) if not each.is_whole)):
        patches += on.file(each.path, Place(each.path))
    patches += on.declared_patches(machine)
    whole = None
    if base is not None:
        found_whole = on.file(base.path, Place(base.path))
        whole = found_whole[0] if found_whole else None
    # Generated configs would install talosctl's own version; a patch that names an image still wins.
    image = schematics.plain_installer(on.cluster.talos) if on.cluster.talos and whole is None else ""
    return on.draft(machine, whole=whole, patches=tuple(patches), install_image=image)


def _ordered(on: DraftSheet, mine: Sequence[LooseFile]) -> list[LooseFile]:
    """The patches, the most special last; where firstlight.yaml names patches, only those of single machines."""
    counted = [each for each in mine if each.machine or not on.has_declared_patches]
    return sorted(counted, key=lambda each: (bool(each.machine), each.role is not None, each.path))


def _has_secrets(on: DraftSheet, each: LooseFile) -> bool:
    """Whether a whole config is one: with the keys of the cluster, encrypted or not."""
    for document in each.file.documents:
        if document_kinds.of(document.value) == document_kinds.CONFIG:
            return document_kinds.has_secrets(document.value)
    return False
