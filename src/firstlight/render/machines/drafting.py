"""The drafts of a cluster's machines, however the repo writes them."""

import re
import urllib.parse
from collections.abc import Mapping

from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.remark import Grade, Remark
from firstlight.model.secret import Secret
from firstlight.render.machines import listed, plain, talconfig
from firstlight.render.machines.sheet import Sheet
from firstlight.repo.declaration import form
from firstlight.repo.declaration import reading as declarations
from firstlight.repo.talos import talhelper
from firstlight.repo.work_tree import WorkTree

_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_UNFIT = re.compile(r"[^a-z0-9.-]+")
Drafts = tuple[tuple[MachineDraft, ...], tuple[Remark, ...]]


def drafts(
    platform: Platform, cluster: Cluster, *, inline: Mapping[str, str] | None = None, tree: WorkTree | None = None
) -> Drafts:
    """What each machine is to be, and what stands in the way.

    Args:
        platform: The repo that was read.
        cluster: One of its clusters.
        inline: Contents of inline manifests by name, rendered anew; control planes begin with them.
        tree: The files, where they are others than those on the disk.

    Returns:
        The drafts in the order of the machines. With a remark that is an ERROR they must not be used: what is not
        understood would be left out.
    """
    if cluster.omni_template:
        return (), ()  # Omni makes the configs of its machines
    tree = tree or WorkTree(platform.root)
    declaration, _ = declarations.read(tree)
    own = declaration.platform.clusters.get(cluster.name) if declaration else None
    rendered = {name: Secret(text) for name, text in (inline or {}).items()}
    sheet = Sheet(tree, cluster, own or form.Cluster(), declaration, rendered)
    found: dict[str, MachineDraft] = {}
    for path in dict.fromkeys(each.place.path for each in cluster.machines):
        machines = [each for each in cluster.machines if each.place.path == path]
        found |= {each.machine.name: each for each in _of_file(sheet, path, machines)}
    _check_whole(sheet, found)
    _check_endpoints(sheet, found)
    _check_names(sheet)
    made = tuple(found[each.name] for each in cluster.machines if each.name in found)
    return made, tuple(dict.fromkeys(sheet.remarks))


def _of_file(sheet: Sheet, path: str, machines: list[Machine]) -> list[MachineDraft]:
    if path == form.FILE:
        return listed.drafts(sheet, machines)
    if talhelper.is_talconfig(path):
        return talconfig.drafts(sheet, path, machines)
    if any(each.id for each in machines):
        sheet.refuse(machines[0].place, "some machines are Omni's, and some are not", _OMNI)
        return []
    if "topf" in sheet.cluster.documents.get(path, ()):
        sheet.refuse(machines[0].place, "machines of topf are not configured by firstlight yet", _TOPF)
        return []
    return plain.drafts(sheet, machines)


def _check_whole(sheet: Sheet, found: Mapping[str, MachineDraft]) -> None:
    """Whole configs hold the secrets, so that a talosconfig must come from elsewhere."""
    cluster = sheet.cluster
    if any(each.whole for each in found.values()) and not cluster.talosconfig and not cluster.talos_secrets:
        first = next(each.whole for each in found.values() if each.whole)
        message = "whole machine configs hold the cluster's secrets, and nothing says where a talosconfig is"
        hint = f"Write clusters.{cluster.name}.talosconfig in {form.FILE}: sops:talos/talosconfig.sops.yaml"
        sheet.refuse(first.place, message, hint)
    planes = [each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE]
    if cluster.machines and not planes:
        sheet.refuse(cluster.machines[0].place, "there is no control plane among the machines", "")
    for machine in cluster.machines:
        if not machine.address and not machine.id:
            message = f"nothing says at which address {machine.name} is"
            sheet.remarks.append(Remark(machine.place, Grade.ERROR, message, "Declare its address."))


def _check_endpoints(sheet: Sheet, found: Mapping[str, MachineDraft]) -> None:
    """Talosctl makes no config for an address that is no URL, and says so only when it is asked for one."""
    place = sheet.cluster.said.get("network.endpoint", sheet.cluster.place)
    for endpoint in dict.fromkeys(each.endpoint for each in found.values() if each.endpoint and not each.whole):
        if problem := _no_url(endpoint):
            host, _, port = endpoint.rpartition("://")[2].rstrip("/").partition(":")
            example = f"https://{host or '10.25.10.10'}:{port if port.isdecimal() else '6443'}"
            sheet.refuse(place, f"the endpoint {endpoint[:80]} {problem}", f"Write {example}")


def _no_url(endpoint: str) -> str:
    """What an endpoint lacks; empty where it is the URL of an API."""
    if not endpoint.startswith("https://"):
        return "does not begin with https://"
    try:
        host = urllib.parse.urlsplit(endpoint).hostname
    except ValueError:
        host = ""
    return "" if host else "names no host"


def _check_names(sheet: Sheet) -> None:
    """A machine's name becomes the node's, which must be a name of DNS: Talos would leave out what does not fit."""
    for machine in sheet.cluster.machines:
        if machine.name in (machine.address, machine.id) or _HOST_NAME.fullmatch(machine.name):
            continue
        near = _UNFIT.sub("-", machine.name.lower()).strip("-.")[:63]
        hint = "Write lower-case letters, digits and -, at most 63 of them" + (f", such as {near}." if near else ".")
        sheet.refuse(machine.place, f"{machine.name[:80]!r} is no name for a machine", hint)


_OMNI = "Declare all machines of a cluster in its Omni template, or none."
_TOPF = f"Write the machines as a list in {form.FILE}, and the patches beside them."
