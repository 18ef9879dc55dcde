"""topf's ``topf.yaml``: a cluster with its nodes; patches are found by their directories.

In the order in which they are merged: ``all/`` (``patches/`` before topf 0.2), ``control-plane/`` or ``worker/``, and
``node/HOST/``, each with everything below it. ``.tpl`` files are Go templates that see the file's fields.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.repo import work_tree
from firstlight.repo.talos import config_facts, config_files, document_kinds
from firstlight.repo.talos.cluster_declaration import ConfigPart, ConfigRank, TalosDeclaration, TalosStyle
from firstlight.repo.talos.config_facts import StatedFact
from firstlight.repo.talos.config_files import ConfigDocument, TalosFile, mapping, text_of
from firstlight.repo.work_tree import WorkTree

_ROLES = {"control-plane": MachineRole.CONTROL_PLANE, "worker": MachineRole.WORKER}
_FIELDS = {"network.endpoint": "clusterEndpoint", "talos": "talosVersion", "kubernetes": "kubernetesVersion"}
_PATCH = re.compile(r"\.ya?ml(\.tpl)?$")
_PROVIDERS = {"nodesProvider": "nodes", "dataProvider": "data of templates"}


def is_topf(path: str) -> bool:
    """Whether a file is topf's by its name."""
    return posixpath.basename(path) in {"topf.yaml", "topf.yml"}


def read(tree: WorkTree, path: str) -> list[TalosDeclaration]:
    """The cluster of a topf.yaml."""
    file = config_files.read_talos_file(tree, path)
    return [
        _Reader(tree, file, document).declaration()
        for document in file.documents
        if isinstance(document.value, Mapping)
    ]


class _Reader:
    """Reads one topf.yaml, and the directories beside it."""

    def __init__(self, tree: WorkTree, file: TalosFile, document: YamlDocument) -> None:
        self.tree = tree
        self.config = ConfigDocument(document.value, document, file)
        self.diagnostics: list[Diagnostic] = [*file.diagnostics]
        self.kinds: dict[str, tuple[str, ...]] = {file.path: ("topf",)}
        base = posixpath.dirname(file.path)
        self.base = base
        self.directory = work_tree.join(base, self.config.text("patchesDir") or ".") or "."

    def declaration(self) -> TalosDeclaration:
        """What the file declares."""
        for key, what in _PROVIDERS.items():
            if program := self.config.text(key):
                message = f"{what} also come from the program {program}, which is not run"
                self.diagnostics.append(Diagnostic.unknown("topf-provider-not-run", message, at=self.config.place(key)))
        machines = [
            self.machine(index, node) for index, node in self.config.items("nodes") if isinstance(node, Mapping)
        ]
        data = self.data()
        shared = "all" if self.tree.is_dir(self.below("all")) else "patches"
        parts = [*self.parts(shared, ConfigRank.ALL, data)]
        for name, role in _ROLES.items():
            parts += self.parts(name, ConfigRank.SET, data, role=role)
        for (_, node), machine in zip(self.config.items("nodes"), machines, strict=False):
            own = {**data, "Node": self.node_data(mapping(node))}
            parts += self.parts(
                f"node/{machine.name}", ConfigRank.MACHINE, own, role=machine.role, machine=machine.name
            )
        return TalosDeclaration(
            cluster=self.config.text("clusterName"),
            place=self.config.place("clusterName"),
            style=TalosStyle.TOPF,
            machines=tuple(machines),
            facts=tuple(
                StatedFact(field, self.config.text(key), self.config.place(key))
                for field, key in _FIELDS.items()
                if self.config.text(key)
            ),
            parts=tuple(parts),
            kinds=self.kinds,
            diagnostics=tuple(self.diagnostics),
        )

    def below(self, name: str) -> str:
        """A directory of patches."""
        return posixpath.normpath(posixpath.join(self.directory, name))

    def data(self) -> dict[str, Any]:
        """What templates see, nodes aside; topf calls it so."""
        fields = {
            "ClusterName": self.config.text("clusterName"),
            "ClusterEndpoint": self.config.text("clusterEndpoint"),
            "KubernetesVersion": self.config.text("kubernetesVersion"),
            "TalosVersion": self.config.text("talosVersion"),
        }
        known: dict[str, Any] = {key: value for key, value in fields.items() if value}
        return {**known, "Data": _plain(self.config.get("data"))}

    def node_data(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """What templates see of a node."""
        fields = {"Host": text_of(node.get("host")), "Role": text_of(node.get("role")), "IP": text_of(node.get("ip"))}
        return {**{key: value for key, value in fields.items() if value}, "Data": _plain(node.get("data"))}

    def machine(self, index: int, node: Mapping[str, Any]) -> Machine:
        """A machine of the list."""
        place = self.config.place("nodes", index)
        role = text_of(node.get("role"))
        if role not in _ROLES:
            message = f"{role or 'nothing'} is no role of a node" if role else "a node has no role"
            self.diagnostics.append(
                Diagnostic.error("topf-role-wrong", message, at=place, fix="Write control-plane or worker.")
            )
        schematic = text_of(node.get("schematicId")) or self.config.text("schematicId")
        extensions: tuple[str, ...] = ()
        if schematic.startswith("@"):
            schematic, extensions = self.schematic(schematic[1:], index)
        address = text_of(node.get("ip"))
        return Machine(
            name=text_of(node.get("host")) or address or f"node-{index + 1}",
            role=_ROLES.get(role, MachineRole.WORKER),
            place=place,
            address=address,
            schematic=schematic,
            extensions=extensions,
        )

    def schematic(self, name: str, index: int) -> tuple[str, tuple[str, ...]]:
        """A file that describes an image, and the extensions in it."""
        path = work_tree.join(self.base, name)
        if path is None or not self.tree.is_file(path):
            own = self.config.get("nodes", index, "schematicId") is not None
            place = self.config.place("nodes", index, "schematicId") if own else self.config.place("schematicId")
            diagnostic = Diagnostic.error(
                "talos-file-missing", place.describe_missing(name), at=place, fix="topf looks beside topf.yaml."
            )
            if diagnostic not in self.diagnostics:
                self.diagnostics.append(diagnostic)
            return name, ()
        file = config_files.read_talos_file(self.tree, path, data=self.data())
        self.kinds[path] = (document_kinds.SCHEMATIC,)
        found = [config_facts.schematic_extensions(each.value) for each in file.documents]
        return path, found[0] if found else ()

    def parts(
        self,
        name: str,
        rank: ConfigRank,
        data: Mapping[str, Any],
        *,
        role: MachineRole | None = None,
        machine: str = "",
    ) -> Iterator[ConfigPart]:
        """The patches of a directory, in the order of their names."""
        for path in sorted(self.tree.below(self.below(name))):
            if not _PATCH.search(path):
                continue
            file = config_files.read_talos_file(self.tree, path, data=data)
            found = [document_kinds.of(each.value, is_near=True) for each in file.documents]
            self.kinds[path] = document_kinds.listed(file.documents)
            self.diagnostics += file.diagnostics
            for document, kind in zip(file.documents, found, strict=True):
                if kind == document_kinds.JSON_PATCH:
                    message = "topf takes no JSON patches"
                    hint = "Write it as a part of a machine config."
                    self.diagnostics.append(Diagnostic.error("topf-json-patch", message, at=document.place(), fix=hint))
                    continue
                for each in config_files.configs_of_document(document, file):
                    yield ConfigPart(each, rank, role, machine)


def _plain(value: Any) -> dict[str, Any]:
    """Data without what is encrypted: that is not known."""
    found: dict[str, Any] = {}
    for key, each in mapping(value).items():
        if isinstance(each, Mapping):
            found[str(key)] = _plain(each)
        elif not (isinstance(each, str) and each.startswith(("ENC[", "ref+"))):
            found[str(key)] = each
    return found
