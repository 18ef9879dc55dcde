"""What OpenTofu deploys into clusters: Helm releases, manifests, Secrets and Flux, as components of bootstrap.

A resource belongs to the cluster whose machines the same root module makes. Without such machines it belongs to the
clusters that the rest of the repo tells of, which is not certain.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import ComponentNeed, Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.tofu import tofu_module, tofu_resources
from firstlight.repo.tofu.hcl_syntax import HclBlock
from firstlight.repo.tofu.hcl_values import line_of, text_of
from firstlight.repo.tofu.tofu_module import TofuModule
from firstlight.repo.tofu.tofu_resources import Made
from firstlight.repo.work_tree import WorkTree

_MACHINES = "talos_machine_configuration"
_ELSEWHERE = (
    "aws_eks_cluster",
    "google_container_cluster",
    "azurerm_kubernetes_cluster",
    "digitalocean_kubernetes_cluster",
)
"""Resources that make other clusters than those of Talos."""
_COMMANDS = re.compile(
    r"\b(?:helm|kubectl|helmfile|flux|argocd|cilium)\s+(?:upgrade|install|apply|create|sync|bootstrap)\b"
)
_DEPENDS = re.compile(r"\b(?P<type>[a-z]\w*)\.(?P<name>[A-Za-z_][\w-]*)")


def read(tree: WorkTree) -> ReaderResult:
    """Return what the resources of all root modules deploy."""
    if not tofu_module.mentions(tree, *(each.encode() for each in (*tofu_resources.READERS, "local-exec"))):
        return ReaderResult()
    origins: dict[tuple[str, str], Origin] = {}
    clusters: dict[str, Cluster] = {}
    diagnostics: list[Diagnostic] = []
    for root in tofu_module.roots(tree):
        modules = list(root.called())
        blocks = {each.labels[0] for module in modules for each in module.blocks if each.labels}
        if blocks.intersection(_ELSEWHERE):
            continue
        cluster = _cluster(modules)
        for module in modules:
            for origin, made in _deployed(module, diagnostics):
                origins.setdefault((cluster, origin.id), dataclasses.replace(origin, cluster=cluster))
                if made is not None:
                    clusters.setdefault(made.path, made)
    return ReaderResult(
        clusters=tuple(clusters.values()),
        origins=tuple(origins.values()),
        diagnostics=tuple(dict.fromkeys(diagnostics)),
    )


def _cluster(modules: list[TofuModule]) -> str:
    """The cluster whose machines the modules make, if it is one."""
    names = {
        module.text(block, "cluster_name", **names)
        for module in modules
        for block in module.of("data", _MACHINES)
        for names in module.each_of(block) or [{}]
    }
    return next(iter(names)) if len(names) == 1 else ""


def _deployed(module: TofuModule, diagnostics: list[Diagnostic]) -> Iterator[Made]:
    found: dict[str, list[Made]] = {}
    written: dict[str, HclBlock] = {}
    for block in module.blocks:
        if block.type != "resource" or len(block.labels) < 2:
            continue
        _note_commands(block, diagnostics)
        reader = tofu_resources.READERS.get(block.labels[0])
        if reader is None:
            continue
        key = ".".join(block.labels[:2])
        written[key] = block
        instances = _instances(module, block)
        if instances is None:
            diagnostics.append(_unknown(block, "for_each", "how many of these there are is known only to a run"))
            continue
        for names in instances:
            made = reader(module, block, names)
            if made is None:
                diagnostics.append(_unknown(block, "name", "what this deploys is known only to a run of OpenTofu"))
            else:
                found.setdefault(key, []).append(made)
    for key, several in found.items():
        needs = tuple(_needs(written[key], found))
        for origin, cluster in several:
            yield dataclasses.replace(origin, needs=needs), cluster


def _instances(module: TofuModule, block: HclBlock) -> list[dict[str, Any]] | None:
    """The instances of a resource; one for all documents of a file, which stay together."""
    node = block.attributes.get("for_each") or block.attributes.get("count")
    if node is not None and tofu_resources.DOCUMENTS.search(text_of(node)):
        return [{}]
    return module.each_of(block)


def _needs(block: HclBlock, found: Mapping[str, list[Made]]) -> Iterator[ComponentNeed]:
    node = block.attributes.get("depends_on")
    if node is None:
        return
    for match in _DEPENDS.finditer(text_of(node)):
        for origin, _ in found.get(f"{match['type']}.{match['name']}", ()):
            yield ComponentNeed(id=origin.id, place=Place(block.path, line_of(node)), why="depends_on")


def _note_commands(block: HclBlock, diagnostics: list[Diagnostic]) -> None:
    """Say that a resource runs commands which deploy something; nothing is run to find out what."""
    for inner in block.inner:
        node = inner.attributes.get("command")
        if inner.labels[:1] == ("local-exec",) and node is not None and _COMMANDS.search(text_of(node)):
            at = Place(block.path, line_of(node))
            message = f"{'.'.join(block.labels[:2])} runs a command that deploys something"
            diagnostics.append(Diagnostic.unknown("tofu-runs-command", message, at=at))


def _unknown(block: HclBlock, name: str, message: str) -> Diagnostic:
    node = block.attributes.get(name)
    said = f"{'.'.join(block.labels[:2])}: {message}"
    return Diagnostic.unknown("tofu-value-unknown", said, at=Place(block.path, line_of(node) if node else block.line))
