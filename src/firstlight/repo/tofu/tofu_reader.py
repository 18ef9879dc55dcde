"""Clusters out of the Talos provider's resources: machines, patches, versions and inline manifests.

``data talos_machine_configuration`` says what a kind of machine gets, ``talos_machine_configuration_apply`` which
machine gets it. Modules of the repo are followed with their arguments. What only a run knows makes the cluster's
configs unread, so that nothing is taken for a default.
"""

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.go_template import unknown_values
from firstlight.repo.talos import document_kinds
from firstlight.repo.talos.cluster_declaration import ConfigPart, ConfigRank, TalosDeclaration, TalosStyle
from firstlight.repo.talos.config_facts import StatedFact, is_address
from firstlight.repo.talos.config_files import ConfigDocument, TalosFile, configs_of_document
from firstlight.repo.tofu import tofu_module
from firstlight.repo.tofu.hcl_syntax import HclBlock
from firstlight.repo.tofu.hcl_values import EncodedYaml, FileText, HclDocument, UnknownValue, line_of
from firstlight.repo.tofu.tofu_module import TofuModule
from firstlight.repo.work_tree import WorkTree

CONFIGURATION = "talos_machine_configuration"
_APPLY = "talos_machine_configuration_apply"
_ROLES = {"controlplane": MachineRole.CONTROL_PLANE, "worker": MachineRole.WORKER}
_FACTS = {"network.endpoint": "cluster_endpoint", "kubernetes": "kubernetes_version", "talos": "talos_version"}


def read(tree: WorkTree) -> list[TalosDeclaration]:
    """Return the clusters that OpenTofu or Terraform makes from Talos machines."""
    paths = [path for path in tree.current_files if path.endswith(tofu_module.ENDINGS)]
    if not any(CONFIGURATION.encode() in (tree.bytes(path) or b"") for path in paths):
        return []
    directories = dict.fromkeys(posixpath.dirname(path) for path in paths)
    roots = [TofuModule(tree, directory) for directory in directories]
    inside = {each.directory for root in roots for each in root.called() if each is not root}
    found: dict[tuple[str, str], list[_Part]] = {}
    for root in roots:
        if root.directory in inside:
            continue
        for module in root.called():
            for part in _parts(module):
                found.setdefault((root.directory, part.cluster), []).append(part)
    return [_declaration(cluster, parts) for (_, cluster), parts in found.items()]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Part:
    """One ``talos_machine_configuration``, and the machines that get it."""

    module: TofuModule
    block: HclBlock
    names: Mapping[str, Any]
    cluster: str
    role: MachineRole | None
    patches: tuple[ConfigDocument, ...]
    unread: tuple[Diagnostic, ...]
    machines: tuple[Machine, ...] = ()
    own: tuple[tuple[str, ConfigDocument], ...] = ()
    """What only one machine gets, by its name."""


def _parts(module: TofuModule) -> Iterator[_Part]:
    for block in module.of("data", CONFIGURATION):
        instances = module.each_of(block)
        unread = list(module.diagnostics)
        if instances is None:
            unread.append(_unread(block, "for_each", "which machines there are is known only when OpenTofu runs"))
        for names in instances if instances is not None else [{}]:
            patches, more = _patches(module, block, "config_patches", names)
            yield _Part(
                module=module,
                block=block,
                names=names,
                cluster=module.text(block, "cluster_name", **names),
                role=_ROLES.get(module.text(block, "machine_type", **names)),
                patches=tuple(patches),
                unread=(*unread, *more),
            )


def _declaration(cluster: str, parts: list[_Part]) -> TalosDeclaration:
    config_parts: list[ConfigPart] = []
    machines: dict[str, Machine] = {}
    unread: list[Diagnostic] = []
    kinds: dict[str, tuple[str, ...]] = {}
    for part in parts:
        unread += part.unread
        kinds[part.block.path] = (CONFIGURATION,)
        single = _is_for_one(part)
        for patch in part.patches:
            kinds.setdefault(patch.document.path, (document_kinds.PATCH,))
            rank = ConfigRank.MACHINE if single else ConfigRank.SET
            config_parts.append(ConfigPart(patch, rank, part.role, single))
        for machine, patches, more in _applied(part):
            machines.setdefault(machine.name, machine)
            unread += more
            config_parts += [ConfigPart(each, ConfigRank.MACHINE, machine.role, machine.name) for each in patches]
    first = parts[0]
    if not machines:
        unread.append(_unread(first.block, "machine_type", "which machines there are is not known"))
    return TalosDeclaration(
        cluster=cluster,
        place=Place(first.block.path, first.block.line),
        style=TalosStyle.TOFU,
        machines=tuple(machines.values()),
        facts=tuple(dict.fromkeys(fact for part in parts for fact in _facts(part))),
        parts=tuple(config_parts),
        kinds=kinds,
        diagnostics=tuple(dict.fromkeys(unread)),
        unread=tuple(dict.fromkeys(unread)),
    )


def _is_for_one(part: _Part) -> str:
    """Return the machine that a configuration is for, where ``for_each`` makes one for each of them."""
    each = part.names.get("each")
    return str(each["key"]) if isinstance(each, Mapping) else ""


def _facts(part: _Part) -> Iterator[StatedFact]:
    for field, name in _FACTS.items():
        node = part.block.attributes.get(name)
        value = part.module.text(part.block, name, **part.names)
        if node is not None and value:
            yield StatedFact(field, value, Place(part.block.path, line_of(node)))


def _applied(part: _Part) -> Iterator[tuple[Machine, list[ConfigDocument], list[Diagnostic]]]:
    """Yield the machines that a configuration is applied to, each with its own patches."""
    label = part.block.labels[1] if len(part.block.labels) > 1 else ""
    for block in part.module.of("resource", _APPLY):
        node = block.attributes.get("machine_configuration_input")
        source = (node.text or b"").decode(errors="replace") if node is not None else ""
        if f"{CONFIGURATION}.{label}" not in source:
            continue
        for names in part.module.each_of(block) or []:
            key = names["each"]["key"] if "each" in names else ""
            if _is_for_one(part) and key and key != _is_for_one(part):
                continue
            address = part.module.text(block, "node", **names)
            name = str(key) or address
            patches, unread = _patches(part.module, block, "config_patches", names)
            if not name:
                continue
            yield (
                Machine(
                    name=name,
                    role=part.role or MachineRole.CONTROL_PLANE,
                    place=Place(block.path, block.line),
                    address=address if is_address(address) else "",
                ),
                patches,
                unread,
            )


def _patches(
    module: TofuModule, block: HclBlock, name: str, names: Mapping[str, Any]
) -> tuple[list[ConfigDocument], list[Diagnostic]]:
    value = module.value(block, name, **names)
    if value is None:
        return [], []
    found: list[ConfigDocument] = []
    unread: list[Diagnostic] = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, UnknownValue):
            unread.append(_unread(block, name, f"{each.source} is not known: {each.reason}"))
        else:
            documents = list(_documents(module, each, block))
            found += documents
            if not documents and each not in ("", None):
                unread.append(_unread(block, name, "a patch is not YAML"))
    return found, unread


def _documents(module: TofuModule, patch: Any, block: HclBlock) -> Iterable[ConfigDocument]:
    unknowns = tuple(module.evaluator.unknowns)
    if isinstance(patch, EncodedYaml):
        place = getattr(patch.value, "place", Place(block.path, block.line))
        document = HclDocument(place.path, place.line, 0, patch.value, "")
        file = TalosFile(place.path, (document,), unknowns, is_template=True)
        return configs_of_document(document, file)
    if not isinstance(patch, str):
        return ()
    path = patch.path if isinstance(patch, FileText) else block.path
    shift = patch.line - 1 if isinstance(patch, FileText) else block.line - 1
    contents = yaml_reader.read(("\n" * shift + patch).encode(errors="replace"), path)
    file = TalosFile(path, contents.documents, unknowns, is_template=unknown_values.has_mark(patch))
    return [config for each in contents.documents for config in configs_of_document(each, file)]


def _unread(block: HclBlock, name: str, message: str) -> Diagnostic:
    node = block.attributes.get(name)
    return Diagnostic.unknown(
        "tofu-value-unknown", message, at=Place(block.path, line_of(node) if node else block.line)
    )
