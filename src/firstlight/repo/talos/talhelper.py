"""talhelper's ``talconfig.yaml``: one cluster with its nodes, groups of nodes, and patches in the file or beside it.

What talhelper merges is read: ``patches`` of all nodes, then of the group, then of the node. Its ``extraManifests`` are
no manifests of Kubernetes but files with further documents of machine config. Variables are those of ``talenv.yaml``;
in ``talenv.sops.yaml`` they are encrypted, and not known.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.component import SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource
from firstlight.repo import work_tree
from firstlight.repo.talos import config_facts, config_files, config_manifests, document_kinds
from firstlight.repo.talos.cluster_declaration import ConfigPart, ConfigRank, TalosDeclaration, TalosStyle
from firstlight.repo.talos.config_facts import StatedFact
from firstlight.repo.talos.config_files import ConfigDocument, TalosFile, mapping, text_of
from firstlight.repo.talos.config_manifests import ListedManifest
from firstlight.repo.talos.embedded_yaml import Step
from firstlight.repo.work_tree import WorkTree

ADDRESSES = 1_000
"""Machines that share one config; nobody has more in a cluster."""
_ENVIRONMENTS = ("talenv.yaml", "talenv.yml", "talenv.sops.yaml", "talenv.sops.yml")
_GROUPS = {MachineRole.CONTROL_PLANE: "controlPlane", MachineRole.WORKER: "worker"}
_FIELDS = {
    "network.endpoint": "endpoint",
    "network.dns_domain": "domain",
    "talos": "talosVersion",
    "kubernetes": "kubernetesVersion",
}


def is_talconfig(path: str) -> bool:
    """Whether a file is talhelper's by its name."""
    name = posixpath.basename(path)
    return name.startswith("talconfig") and name.endswith(work_tree.YAML)


def read(tree: WorkTree, path: str) -> list[TalosDeclaration]:
    """The cluster of a talconfig.yaml."""
    variables, diagnostics = _variables(tree, posixpath.dirname(path))
    file = config_files.read_talos_file(tree, path, variables=variables)
    found = []
    for document in file.documents:
        if isinstance(document.value, Mapping):
            reader = _Reader(tree, file, document, variables)
            found.append(reader.declaration(diagnostics))
            diagnostics = []
    return found


def variables(tree: WorkTree, path: str) -> dict[str, str]:
    """What ``${NAME}`` stands for in a talconfig.yaml and the files that it names, as far as the repo tells."""
    return _variables(tree, posixpath.dirname(path))[0]


def _variables(tree: WorkTree, directory: str) -> tuple[dict[str, str], list[Diagnostic]]:
    """What the environment files beside a talconfig.yaml say."""
    variables: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for name in _ENVIRONMENTS:
        path = posixpath.join(directory, name)
        for document in tree.documents(path) if tree.is_file(path) else ():
            if document_kinds.is_encrypted(document.value):
                message = "the variables of this file are encrypted: what they stand for is not known"
                diagnostics.append(Diagnostic.unknown("talhelper-variables-encrypted", message, at=Place(path)))
            for key, value in mapping(document.value).items():
                if key != "sops" and text_of(value):
                    variables[str(key)] = text_of(value)
    return variables, diagnostics


class _Reader:
    """Reads one talconfig.yaml."""

    def __init__(self, tree: WorkTree, file: TalosFile, document: YamlDocument, variables: Mapping[str, str]) -> None:
        self.tree, self.file, self.document, self.variables = tree, file, document, variables
        self.config = ConfigDocument(document.value, document, file)
        self.diagnostics: list[Diagnostic] = [*file.diagnostics]
        self.kinds: dict[str, tuple[str, ...]] = {file.path: ("talconfig",)}
        self.directory = posixpath.dirname(file.path)

    def declaration(self, diagnostics: list[Diagnostic]) -> TalosDeclaration:
        """What the file declares."""
        machines, parts = [], [*self.patches(ConfigRank.ALL, ("patches",))]
        for role, group in _GROUPS.items():
            parts += self.group(ConfigRank.SET, (group,), role=role)
        for index, node in self.config.items("nodes"):
            if isinstance(node, Mapping):
                if node.get("overridePatches") is True:
                    message = "the patches of the group are not for this machine, and are counted for it all the same"
                    place = self.config.place("nodes", index, "overridePatches")
                    self.diagnostics.append(Diagnostic.unknown("talhelper-group-patches-overridden", message, at=place))
                own = list(self.machines(index, node))
                machines += own
                for machine in own:
                    parts += self.group(ConfigRank.MACHINE, ("nodes", index), role=machine.role, machine=machine.name)
        for key in ("clusterName", "nodes"):
            if not self.config.get(key):
                self.diagnostics.append(
                    Diagnostic.error("talhelper-key-missing", f"{key} is missing", at=self.document.place())
                )
        return TalosDeclaration(
            cluster=self.config.text("clusterName"),
            place=self.config.place("clusterName"),
            style=TalosStyle.TALHELPER,
            machines=tuple(machines),
            facts=tuple(self.facts()),
            parts=tuple(parts),
            listed=tuple(sorted(self.inline_manifests(), key=lambda each: each.place)),
            kinds=self.kinds,
            diagnostics=(*diagnostics, *self.diagnostics),
        )

    def facts(self) -> Iterator[StatedFact]:
        """What the file says in fields of its own."""
        for field, key in _FIELDS.items():
            if text := self.config.text(key):
                yield StatedFact(field, text, self.config.place(key))
        for field, key in (("network.pods", "clusterPodNets"), ("network.services", "clusterSvcNets")):
            if texts := self.config.texts(key):
                yield StatedFact(field, texts, self.config.place(key))
        if cni := self.config.text("cniConfig", "name"):
            yield StatedFact("network.cni", cni, self.config.place("cniConfig", "name"))
        for key in ("allowSchedulingOnMasters", "allowSchedulingOnControlPlanes"):
            if (flag := self.config.flag(key)) is not None:
                yield StatedFact("schedules_on_control_planes", flag, self.config.place(key))
        for group in _GROUPS.values():
            yield from config_facts.vips(self.config, group, "networkInterfaces")
        for index, _ in self.config.items("nodes"):
            yield from config_facts.vips(self.config, "nodes", index, "networkInterfaces")

    def machines(self, index: int, node: Mapping[str, Any]) -> Iterator[Machine]:
        """The machine of a node; one for each address where several share a config."""
        role = MachineRole.CONTROL_PLANE if node.get("controlPlane") is True else MachineRole.WORKER
        group = mapping(self.config.get(_GROUPS[role]))
        schematic = node.get("schematic") or group.get("schematic")
        image = text_of(node.get("talosImageURL") or group.get("talosImageURL"))
        addresses = [each.strip() for each in text_of(node.get("ipAddress")).split(",")]
        hostname = self.config.shown(str(node.get("hostname") or ""))
        interfaces = node.get("networkInterfaces") or group.get("networkInterfaces")
        if len(addresses) > ADDRESSES:
            message = f"a node with more than {ADDRESSES} addresses: the others are left out"
            self.diagnostics.append(
                Diagnostic.error("talhelper-too-many-addresses", message, at=self.config.place("nodes", index))
            )
        for address in addresses[:ADDRESSES]:
            known = address or next(config_facts.interface_addresses(interfaces), "")
            yield Machine(
                name=known if len(addresses) > 1 else hostname or known or f"node-{index + 1}",
                role=role,
                place=self.config.place("nodes", index),
                address=known,
                install_disk=config_facts.install_disk(node, name="installDisk", selector="installDiskSelector"),
                schematic=config_facts.schematic_id(image) or (self.file.path if schematic else ""),
                extensions=config_facts.schematic_extensions(schematic),
            )

    def group(
        self, rank: ConfigRank, steps: tuple[Step, ...], *, role: MachineRole, machine: str = ""
    ) -> Iterator[ConfigPart]:
        """The config of a group of nodes, or of one."""
        yield from self.patches(rank, (*steps, "patches"), role=role, machine=machine)
        for index, entry in self.config.items(*steps, "extraManifests"):
            if isinstance(entry, str):
                yield from self.from_file(entry, (*steps, "extraManifests", index), rank, role=role, machine=machine)
        legacy = self.config.get(*steps, "inlinePatch")
        if isinstance(legacy, Mapping):
            inner = ConfigDocument(legacy, self.document, self.file, (*steps, "inlinePatch"))
            yield ConfigPart(inner, rank, role, machine)

    def patches(
        self, rank: ConfigRank, steps: tuple[Step, ...], *, role: MachineRole | None = None, machine: str = ""
    ) -> Iterator[ConfigPart]:
        """A list of patches: texts, and names of files after an @."""
        for index, entry in self.config.items(*steps):
            here = (*steps, index)
            if not isinstance(entry, str):
                message = "talhelper takes patches as texts, and this is none"
                self.diagnostics.append(
                    Diagnostic.error(
                        "talhelper-patch-not-text", message, at=self.config.place(*here), fix="Write |- before it."
                    )
                )
            elif entry.strip() and not config_files.text_of(entry.strip()):
                message = f"the patch is {self.config.shown(entry.strip())}, which only a run tells"
                self.diagnostics.append(Diagnostic.unknown("talos-template-hole", message, at=self.config.place(*here)))
            elif entry.startswith("@"):
                yield from self.from_file(entry[1:], here, rank, role=role, machine=machine)
            else:
                contents = self.config.inside(entry, *here)
                self.diagnostics += contents.diagnostics
                for document in contents.documents:
                    for each in config_files.configs_of_document(document, self.file):
                        yield ConfigPart(each, rank, role, machine)

    def from_file(
        self, name: str, steps: tuple[Step, ...], rank: ConfigRank, *, role: MachineRole | None, machine: str
    ) -> Iterator[ConfigPart]:
        """The documents of a file that the config names."""
        path = self.find(name)
        if path is None:
            message = self.config.place(*steps).describe_missing(self.config.shown(name))
            hint = "talhelper looks beside talconfig.yaml."
            self.diagnostics.append(
                Diagnostic.error("talos-file-missing", message, at=self.config.place(*steps), fix=hint)
            )
            return
        file = config_files.read_talos_file(self.tree, path, variables=self.variables)
        if path not in self.kinds:
            self.diagnostics += file.diagnostics
        self.kinds[path] = document_kinds.listed(file.documents)
        for document in file.documents:
            for each in config_files.configs_of_document(document, file):
                yield ConfigPart(each, rank, role, machine)

    def find(self, name: str) -> str | None:
        """A file beside the config, or from the root, where older versions look if they are run there."""
        for base in (self.directory, ""):
            path = work_tree.join(base, name.strip())
            if path is not None and self.tree.is_file(path):
                return path
        return None

    def inline_manifests(self) -> Iterator[ListedManifest]:
        """``inlineManifests`` of the file itself; contents may be a file after an @."""
        for index, entry in self.config.items("inlineManifests"):
            contents = mapping(entry).get("contents")
            if isinstance(contents, str) and contents.startswith("@"):
                yield self.manifest_file(index, mapping(entry), contents[1:])
        own = [each for _, each in self.config.items("inlineManifests")]
        if own:
            as_config = ConfigDocument({"cluster": {"inlineManifests": own}}, self.document, self.file, skipped=1)
            for listed in config_manifests.listed_manifests(self.tree, as_config):
                if not listed.text.startswith("@"):
                    yield listed

    def manifest_file(self, index: int, entry: Mapping[str, Any], name: str) -> ListedManifest:
        """A manifest whose contents are a file."""
        place = self.config.place("inlineManifests", index)
        path = self.find(name)
        diagnostics: tuple[Diagnostic, ...] = ()
        if path is None:
            diagnostics = (
                Diagnostic.error(
                    "talos-file-missing",
                    place.describe_missing(name),
                    at=place,
                    fix="talhelper looks beside talconfig.yaml.",
                ),
            )
        documents = self.tree.documents(path) if path else ()
        objects = [each for document in documents for each in config_manifests.objects_of_document(document)]
        return ListedManifest(
            form=SourceForm.INLINE_MANIFEST,
            name=self.config.shown(str(entry.get("name") or config_files.stem(name))),
            place=place,
            source=DirectorySource(path=path or name, kustomize=False, recurse=False),
            objects=tuple(each.id for each in objects),
            diagnostics=diagnostics,
        )
