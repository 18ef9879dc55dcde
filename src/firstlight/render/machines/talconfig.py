"""Machines of talhelper's talconfig.yaml, without talhelper: a named subset of its fields; every other one is refused.

A node has what its group has, unless it says otherwise. Patches come in talhelper's order: those of all, of the group,
of the node. What is not about a machine's config (names of files, images to boot from) is known, and changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.model.place import Place
from firstlight.render.machines import json_patch, patch_files, schematics, sheet, talconfig_node
from firstlight.render.machines.sheet import Sheet
from firstlight.repo import work_tree
from firstlight.repo.talos import files, talhelper
from firstlight.repo.talos.config import Config, mapping, sequence

_TOP = {
    "clusterName", "talosVersion", "kubernetesVersion", "endpoint", "domain", "allowSchedulingOnMasters",
    "allowSchedulingOnControlPlanes", "additionalMachineCertSans", "additionalApiServerCertSans", "inlineManifests",
    "clusterPodNets", "clusterSvcNets", "cniConfig", "patches", "nodes", "imageFactory", "controlPlane", "worker",
}  # fmt: skip
_FACTORY = {"registryURL", "schematicEndpoint", "protocol", "ISOURLTmpl"}
_GROUPS = {MachineRole.CONTROL_PLANE: "controlPlane", MachineRole.WORKER: "worker"}
_UNSUPPORTED = "Say it in a patch, or let talhelper generate the configs and keep them, encrypted, as whole ones."


def drafts(on: Sheet, path: str, machines: Sequence[Machine]) -> list[MachineDraft]:
    """One for each machine of the file."""
    variables = talhelper.variables(on.tree, path)
    file = files.read(on.tree, path, variables=variables)
    for each in file.unknowns:
        message = f"nothing in the repo says what {each.text} is"
        on.refuse(Place(path, each.line), message, patch_files.VARIABLES)
    found: list[MachineDraft] = []
    for document in file.documents:
        reader = _Reader(on, Config(document.value, document, file), variables)
        reader.check()
        found += reader.drafts(machines)
    return found


class _Reader:
    """Reads one talconfig.yaml."""

    def __init__(self, on: Sheet, config: Config, variables: Mapping[str, str]) -> None:
        self.on, self.config, self.variables = on, config, variables
        self.talos = config.text("talosVersion")

    def check(self) -> None:
        """Refuse every field that is not in the subset."""
        self.only(_TOP, ())
        self.only(_FACTORY, ("imageFactory",))
        for group in _GROUPS.values():
            self.only(talconfig_node.FIELDS, (group,))
        for index, _ in self.config.items("nodes"):
            self.only(talconfig_node.FIELDS | talconfig_node.OWN, ("nodes", index))

    def only(self, known: set[str] | frozenset[str], steps: tuple[str | int, ...]) -> None:
        for key, value in mapping(self.config.get(*steps)).items():
            if str(key) not in known and value not in (None, "", [], {}, False):
                message = f"{'.'.join(map(str, (*steps, key)))} of talconfig.yaml is not supported without talhelper"
                self.on.refuse(self.config.place(*steps, str(key)), message, _UNSUPPORTED)

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
        made = talconfig_node.documents(
            whole, is_control_plane=machine.role is MachineRole.CONTROL_PLANE, talos=self.talos
        )
        for problem, key in made.problems:
            own = key in node
            self.on.refuse(self.config.place(*(steps if own else (group,)), key), problem, _UNSUPPORTED)
        base = sheet.patch(place, self.cluster(machine), *made.documents)
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
                    contents, unknowns = files.substitute(contents, self.variables)
                    for each in unknowns:
                        message = f"nothing in the repo says what {each.text} is"
                        self.on.refuse(Place(path or "", each.line), message, patch_files.VARIABLES)
            yield {"name": str(mapping(entry).get("name") or ""), "contents": contents}

    def image(self, node: Mapping[str, Any], steps: tuple[str | int, ...]) -> str:
        """The installer: the one that is named, else the factory's for the schematic."""
        if not self.talos:
            if node.get("talosImageURL") or node.get("schematic"):
                place = self.config.place(*steps)
                self.on.refuse(place, "nothing says which Talos is to be installed", "Write talosVersion.")
            return ""
        version = self.talos.removeprefix("v")
        if url := str(node.get("talosImageURL") or ""):
            return f"{url}:v{version}"
        id = schematics.identify(mapping(node.get("schematic")))
        if id is None:
            message = "the id of this schematic is only known to the image factory"
            hint = "Write talosImageURL with the id that the factory gives for it."
            self.on.refuse(self.config.place(*steps, "schematic"), message, hint)
            return ""
        factory = self.config.text("imageFactory", "registryURL") or schematics.FACTORY
        is_secure = mapping(node.get("machineSpec")).get("secureboot") is True
        return schematics.installer(id, version, factory=factory, is_secure=is_secure)

    def patches(self, machine: Machine, steps: tuple[str | int, ...], node: Mapping[str, Any]) -> Iterator[Patch]:
        group = (_GROUPS[machine.role],)
        yield from self.listed("patches")
        if node.get("overridePatches") is not True:
            yield from self.group(group)
        yield from self.group(steps)
        yield from self.files_of(*steps, "extraManifests")
        if node.get("overrideExtraManifests") is not True:
            yield from self.files_of(*group, "extraManifests")
        yield from self.on.declared_patches(machine)

    def group(self, steps: tuple[str | int, ...]) -> Iterator[Patch]:
        """The patches of a group or a node, those of older versions of talhelper first."""
        if legacy := mapping(self.config.get(*steps, "inlinePatch")):
            yield sheet.patch(self.config.place(*steps, "inlinePatch"), legacy)
        if operations := sequence(self.config.get(*steps, "configPatches")):
            place = self.config.place(*steps, "configPatches")
            value, problems = json_patch.converted(operations)
            for each in problems:
                self.on.refuse(place, each, json_patch.HINT)
            yield sheet.patch(place, value)
        yield from self.listed(*steps, "patches")

    def listed(self, *steps: str | int) -> Iterator[Patch]:
        """A list of patches: texts, and names of files after an @."""
        for index, entry in self.config.items(*steps):
            place = self.config.place(*steps, index)
            if not isinstance(entry, str):
                self.on.refuse(place, "talhelper takes patches as texts, and this is none", "Write |- before it.")
            elif entry.startswith("@"):
                yield from self.from_file(entry[1:], (*steps, index))
            else:
                found, remarks = patch_files.of_text(entry, place)
                self.on.remarks += remarks
                yield from found

    def files_of(self, *steps: str | int) -> Iterator[Patch]:
        """Files with further documents of machine config, which talhelper calls extraManifests."""
        for index, entry in self.config.items(*steps):
            yield from self.from_file(str(entry), (*steps, index))

    def from_file(self, name: str, steps: tuple[str | int, ...]) -> Iterator[Patch]:
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
        self.on.refuse(place, f"there is no file {name}", "talhelper looks beside talconfig.yaml.")
        return ""


def _says(value: Any) -> bool:
    """Whether a node says something of its own: what is empty is the group's, as talhelper has it."""
    return value not in (None, "", [], {}, False)
