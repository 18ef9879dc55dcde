"""Machines of talhelper's talconfig.yaml, without talhelper: a named subset of its fields; every other one is refused.

A node has what its group has, unless it says otherwise. Patches come in talhelper's order: those of all, of the group,
of the node. What is not about a machine's config (names of files, images to boot from) is known, and changes nothing.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model import talos_names
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.place import Place
from firstlight.render.machines import draft_sheet, schematics
from firstlight.render.machines.draft_sheet import DraftSheet
from firstlight.repo import work_tree
from firstlight.repo.talos import config_files, talhelper
from firstlight.repo.talos.config_files import ConfigDocument, mapping, sequence

_TOP = {
    "clusterName", "talosVersion", "kubernetesVersion", "endpoint", "domain", "allowSchedulingOnMasters",
    "allowSchedulingOnControlPlanes", "additionalMachineCertSans", "additionalApiServerCertSans", "inlineManifests",
    "clusterPodNets", "clusterSvcNets", "cniConfig", "patches", "nodes", "imageFactory", "controlPlane", "worker",
}  # fmt: skip
_FACTORY = {"registryURL", "schematicEndpoint", "protocol", "ISOURLTmpl"}
_GROUPS = {MachineRole.CONTROL_PLANE: "controlPlane", MachineRole.WORKER: "worker"}
_UNSUPPORTED = "Say it in a patch, or let talhelper generate the configs and keep them, encrypted, as whole ones."


def talconfig_drafts(on: DraftSheet, path: str, machines: Sequence[Machine]) -> list[MachineDraft]:
    """One for each machine of the file."""
    variables = talhelper.variables(on.tree, path)
    file = config_files.read_talos_file(on.tree, path, variables=variables)
    for each in file.unknowns:
        message = f"nothing in the repo says what {each.text} is"
        on.refuse("talos-variable-unknown", message, at=Place(path, each.line), fix=draft_sheet.VARIABLES)
    found: list[MachineDraft] = []
    for document in file.documents:
        reader = _Reader(on, ConfigDocument(document.value, document, file), variables)
        reader.check()
        found += reader.drafts(machines)
    return found


class _Reader:
    """Reads one talconfig.yaml."""

    def __init__(self, on: DraftSheet, config: ConfigDocument, variables: Mapping[str, str]) -> None:
        self.on, self.config, self.variables = on, config, variables
        self.talos = config.text("talosVersion")

    def check(self) -> None:
        """Refuse every field that is not in the subset."""
        self.only(_TOP, ())
        self.only(_FACTORY, ("imageFactory",))
        for group in _GROUPS.values():
            self.only(NODE_FIELDS, (group,))
        for index, _ in self.config.items("nodes"):
            self.only(NODE_FIELDS | OWN_FIELDS, ("nodes", index))

    def only(self, known: set[str] | frozenset[str], steps: tuple[str | int, ...]) -> None:
        for key, value in mapping(self.config.get(*steps)).items():
            if str(key) not in known and value not in (None, "", [], {}, False):
                message = f"{'.'.join(map(str, (*steps, key)))} of talconfig.yaml is not supported without talhelper"
                place = self.config.place(*steps, str(key))
                self.on.refuse("talconfig-field-unsupported", message, at=place, fix=_UNSUPPORTED)

    def drafts(self, machines: Sequence[Machine]) -> Iterator[MachineDraft]:
        for index, node in self.config.items("nodes"):
            place = self.config.place("nodes", index)
            for machine in machines:
                if machine.place == place:
                    yield self.draft(machine, index, mapping(node))

    def draft(self, machine: Machine, index: int, node: Mapping[str, Any]) -> MachineDraft:
        steps = ("nodes", index)
        group = _GROUPS[machine.role]
        whole = {**mapping(self.config.get(group)), **{key: each for key, each in node.items() if _says(each)}}
        if node.get("overrideMachineCertSANs") is not True:
            whole["certSANs"] = [*sequence(node.get("certSANs")), *self.config.texts(group, "certSANs")]
        place = self.config.place(*steps)
        form = self.on.cluster.talos_contract or self.talos
        made = node_documents(whole, is_control_plane=machine.role is MachineRole.CONTROL_PLANE, talos=form)
        for problem, key in made.problems:
            own = key in node
            at = self.config.place(*(steps if own else (group,)), key)
            self.on.refuse("talconfig-field-unsupported", problem, at=at, fix=_UNSUPPORTED)
        base = draft_sheet.patch(place, self.cluster(machine), *made.documents, role=machine.role)
        return self.on.draft(
            machine,
            cluster=self.config.text("clusterName") or self.on.cluster.name,
            endpoint=self.config.text("endpoint") or self.on.endpoint,
            talos=self.talos,
            kubernetes=self.config.text("kubernetesVersion"),
            dns_domain=self.config.text("domain"),
            install_disk=str(node.get("installDisk") or ""),
            disk_selector=mapping(node.get("installDiskSelector")),
            install_image=self.image(whole, steps),
            patches=(base, *self.patches(machine, steps, node)),
        )

    def cluster(self, machine: Machine) -> dict[str, Any]:
        """What the file says of the cluster, as a machine config does."""
        said: dict[str, Any] = {}
        network = {
            "podSubnets": list(self.config.texts("clusterPodNets")),
            "serviceSubnets": list(self.config.texts("clusterSvcNets")),
            "cni": mapping(self.config.get("cniConfig")),
        }
        if network := {key: each for key, each in network.items() if each}:
            said["network"] = network
        if machine.role is MachineRole.CONTROL_PLANE:
            if any(self.config.flag(f"allowSchedulingOn{each}") for each in ("Masters", "ControlPlanes")):
                said["allowSchedulingOnControlPlanes"] = True
            if sans := list(self.config.texts("additionalApiServerCertSans")):
                said["apiServer"] = {"certSANs": sans}
            if manifests := [*self.inline_manifests()]:
                said["inlineManifests"] = manifests
        found: dict[str, Any] = {"cluster": said} if said else {}
        if sans := list(self.config.texts("additionalMachineCertSans")):
            found["machine"] = {"certSANs": sans}
        return found

    def inline_manifests(self) -> Iterator[dict[str, str]]:
        for index, entry in self.config.items("inlineManifests"):
            contents = str(mapping(entry).get("contents") or "")
            if contents.startswith("@"):
                path = self.find(contents[1:], ("inlineManifests", index))
                contents = (self.on.tree.text(path) or "") if path else ""
                if not mapping(entry).get("skipEnvsubst"):
                    contents, unknowns = config_files.substitute(contents, self.variables)
                    for each in unknowns:
                        message = f"nothing in the repo says what {each.text} is"
                        at = Place(path or "", each.line)
                        self.on.refuse("talos-variable-unknown", message, at=at, fix=draft_sheet.VARIABLES)
            yield {"name": str(mapping(entry).get("name") or ""), "contents": contents}

    def image(self, node: Mapping[str, Any], steps: tuple[str | int, ...]) -> str:
        """The installer: the one that is named, else the factory's for the schematic."""
        if not self.talos:
            if node.get("talosImageURL") or node.get("schematic"):
                message = "nothing says which Talos is to be installed"
                at = self.config.place(*steps)
                self.on.refuse("talos-version-missing", message, at=at, fix="Write talosVersion.")
            return ""
        version = self.talos.removeprefix("v")
        if url := str(node.get("talosImageURL") or ""):
            return f"{url}:v{version}"
        id = schematics.identify(mapping(node.get("schematic")))
        if id is None:
            message = "the id of this schematic is only known to the image factory"
            hint = "Write talosImageURL with the id that the factory gives for it."
            self.on.refuse("schematic-id-unknown", message, at=self.config.place(*steps, "schematic"), fix=hint)
            return ""
        factory = self.config.text("imageFactory", "registryURL") or talos_names.IMAGE_FACTORY
        is_secure = mapping(node.get("machineSpec")).get("secureboot") is True
        return schematics.installer(id, version, factory=factory, is_secure=is_secure)

    def patches(self, machine: Machine, steps: tuple[str | int, ...], node: Mapping[str, Any]) -> Iterator[DraftPatch]:
        group = (_GROUPS[machine.role],)
        yield from self.listed("patches")
        if node.get("overridePatches") is not True:
            yield from self.group(group)
        yield from self.group(steps)
        yield from self.files_of(*steps, "extraManifests")
        if node.get("overrideExtraManifests") is not True:
            yield from self.files_of(*group, "extraManifests")
        yield from self.on.declared_patches(machine)

    def group(self, steps: tuple[str | int, ...]) -> Iterator[DraftPatch]:
        """The patches of a group or a node, those of older versions of talhelper first."""
        if legacy := mapping(self.config.get(*steps, "inlinePatch")):
            yield draft_sheet.patch(self.config.place(*steps, "inlinePatch"), legacy)
        if operations := sequence(self.config.get(*steps, "configPatches")):
            place = self.config.place(*steps, "configPatches")
            value, problems = draft_sheet.as_merge_patch(operations)
            for each in problems:
                self.on.refuse("talos-json-patch-unsupported", each, at=place, fix=draft_sheet.JSON_PATCH_HINT)
            yield draft_sheet.patch(place, value)
        yield from self.listed(*steps, "patches")

    def listed(self, *steps: str | int) -> Iterator[DraftPatch]:
        """A list of patches: texts, and names of files after an @."""
        for index, entry in self.config.items(*steps):
            place = self.config.place(*steps, index)
            if not isinstance(entry, str):
                message = "talhelper takes patches as texts, and this is none"
                self.on.refuse("talhelper-patch-not-text", message, at=place, fix="Write |- before it.")
            elif entry.startswith("@"):
                yield from self.from_file(entry[1:], (*steps, index))
            else:
                found, diagnostics = draft_sheet.text_patches(entry, place)
                self.on.diagnostics += diagnostics
                yield from found

    def files_of(self, *steps: str | int) -> Iterator[DraftPatch]:
        """Files with further documents of machine config, which talhelper calls extraManifests."""
        for index, entry in self.config.items(*steps):
            yield from self.from_file(str(entry), (*steps, index))

    def from_file(self, name: str, steps: tuple[str | int, ...]) -> Iterator[DraftPatch]:
        if path := self.find(name, steps):
            yield from self.on.file(path, self.config.place(*steps), variables=self.variables)

    def find(self, name: str, steps: tuple[str | int, ...]) -> str:
        """A file beside talconfig.yaml, or from the root."""
        directory = self.config.file.path.rpartition("/")[0]
        for base in (directory, ""):
            path = work_tree.join(base, name.strip())
            if path is not None and self.on.tree.is_file(path):
                return path
        place = self.config.place(*steps)
        message = f"there is no file {name}"
        self.on.refuse("talos-file-missing", message, at=place, fix="talhelper looks beside talconfig.yaml.")
        return ""


def _says(value: Any) -> bool:
    """Whether a node says something of its own: what is empty is the group's, as talhelper has it."""
    return value not in (None, "", [], {}, False)


# What a node of talconfig.yaml says, as documents of machine config.


NODE_FIELDS = frozenset({
    "nodeLabels", "nodeAnnotations", "nodeTaints", "machineDisks", "machineFiles", "disableSearchDomain",
    "kernelModules", "nameservers", "networkInterfaces", "extraManifests", "certSANs", "patches", "talosImageURL",
    "schematic", "machineSpec", "ingressFirewall", "extensionServices", "volumes", "userVolumes", "inlinePatch",
    "configPatches", "noSchematicValidate", "imageSchematic", "filenameTmpl",
})  # fmt: skip
"""Of groups and nodes; the last three are not about the config of a machine."""
OWN_FIELDS = frozenset({
    "hostname", "ipAddress", "controlPlane", "installDisk", "installDiskSelector", "ignoreHostname", "overridePatches",
    "overrideExtraManifests", "overrideMachineCertSANs",
})  # fmt: skip
"""Of nodes alone."""
_EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
_MACHINE = {
    "networkInterfaces": ("network", "interfaces"),
    "nameservers": ("network", "nameservers"),
    "disableSearchDomain": ("network", "disableSearchDomain"),
    "installDiskSelector": ("install", "diskSelector"),
    "machineDisks": ("disks",),
    "kernelModules": ("kernel", "modules"),
    "nodeLabels": ("nodeLabels",),
    "nodeAnnotations": ("nodeAnnotations",),
    "nodeTaints": ("nodeTaints",),
    "certSANs": ("certSANs",),
}
_SPEC = {"mode", "arch", "secureboot", "useUKI", "bootMethod", "imageSuffix"}


@dataclasses.dataclass(frozen=True, slots=True)
class NodeDocuments:
    """Documents, and what could not be said in them: with the field that says it."""

    documents: tuple[Mapping[str, Any], ...]
    problems: tuple[tuple[str, str], ...] = ()


def node_documents(node: Mapping[str, Any], *, is_control_plane: bool, talos: str) -> NodeDocuments:
    """A node, its group's fields in it already."""
    machine: dict[str, Any] = {}
    for key, steps in _MACHINE.items():
        if value := node.get(key):
            _put(machine, steps, value)
    if machine.get("nodeLabels") and is_control_plane and not draft_sheet.is_before(talos, (1, 8)):
        # talhelper's labels take the place of the one that Talos generates.
        machine["nodeLabels"] = {**machine["nodeLabels"], **_without_excluded(machine["nodeLabels"])}
    if files := [*_files(node)]:
        machine["files"] = files
    if arguments := _kernel_arguments(node, talos):
        _put(machine, ("install", "extraKernelArgs"), arguments)
    found: list[Mapping[str, Any]] = [{"machine": machine}] if machine else []
    if node.get("hostname") and node.get("ignoreHostname") is not True:
        found.append(draft_sheet.hostname(str(node["hostname"]), talos))
    found += _firewall(mapping(node.get("ingressFirewall")))
    for key, kind in (
        ("extensionServices", "ExtensionServiceConfig"),
        ("volumes", "VolumeConfig"),
        ("userVolumes", "UserVolumeConfig"),
    ):  # fmt: skip
        found += [{"apiVersion": "v1alpha1", "kind": kind, **mapping(each)} for each in sequence(node.get(key))]
    return NodeDocuments(tuple(found), tuple(_problems(node)))


def _problems(node: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("nodeLabels", "nodeAnnotations"):
        for name, value in mapping(node.get(key)).items():
            if "{{" in str(value):
                yield f"{key} {name} is a template of talhelper, which is not rendered here", key
    for each in sequence(node.get("machineFiles")):
        if str(mapping(each).get("content") or "").startswith("@"):
            yield f"the file {mapping(each).get('path')} takes its content from another file", "machineFiles"
    spec = mapping(node.get("machineSpec"))
    if str(spec.get("mode") or "metal") != "metal":
        yield f"machineSpec.mode {spec['mode']}: only machines of metal are configured", "machineSpec"
    for key in spec.keys() - _SPEC:
        yield f"machineSpec.{key} is not supported", "machineSpec"


def _without_excluded(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {} if _EXCLUDED in labels else {_EXCLUDED: {"$patch": "delete"}}


def _files(node: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for each in sequence(node.get("machineFiles")):
        yield {key: value for key, value in mapping(each).items() if key != "skipEnvsubst"}


def _kernel_arguments(node: Mapping[str, Any], talos: str) -> list[Any]:
    """Those of the schematic, for versions of Talos that do not take them from the image."""
    if mapping(node.get("machineSpec")).get("useUKI") is True or not draft_sheet.is_before(talos, (1, 12)):
        return []
    return list(sequence(mapping(mapping(node.get("schematic")).get("customization")).get("extraKernelArgs")))


def _firewall(firewall: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not firewall:
        return []
    default = {
        "apiVersion": "v1alpha1", "kind": "NetworkDefaultActionConfig",
        "ingress": str(firewall.get("defaultAction") or "block"),
    }  # fmt: skip
    rules = [
        {"apiVersion": "v1alpha1", "kind": "NetworkRuleConfig", **mapping(each)}
        for each in sequence(firewall.get("rules"))
    ]
    return [default, *rules]


def _put(into: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    *inner, last = steps
    for step in inner:
        into = into.setdefault(step, {})
    into[last] = value
