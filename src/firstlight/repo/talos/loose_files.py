"""What directories and file names tell by convention: the cluster, the role, the machine."""

import dataclasses
import posixpath
import re
from collections.abc import Iterator

from firstlight.model.cluster import MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.talos import config_facts, config_files, document_kinds
from firstlight.repo.talos.config_facts import MachineFacts, is_address
from firstlight.repo.talos.config_files import ConfigDocument, TalosFile
from firstlight.repo.work_tree import WorkTree

_HOMES = {"talos", "omni", "machineconfig", "machineconfigs", "machine-config", "machine-configs"}
_PARENTS = {"clusters", "cluster", "kubernetes", "k8s", "environments", "envs", "sites"}
_NODES = {"nodes", "node", "machines", "machine", "hosts", "host"}
_CONTROL_PLANE = {"controlplane", "controlplanes", "controller", "controllers", "cp", "master", "masters", "control"}
_WORKER = {"worker", "workers", "agent", "agents"}
_STRUCTURE = {
    *_HOMES, *_PARENTS, *_NODES, *_CONTROL_PLANE, *_WORKER, "patches", "patch", "configs", "config", "clusterconfig",
    "generated", "rendered", "output", "manifests", "schematics", "schematic", "all", "global", "common", "base",
    "shared", "control-plane", "control-planes", "controlplane-patches", "templates", "extensions", "static-configs",
    "node-types", "secrets", "hack", "scripts", "bootstrap", "resources", "apps-manifests", "inline", "volumes",
    "image", "images", "installer", "inline-manifests", "extra-manifests", "tofu", "terraform",
}  # fmt: skip


def cluster_of_path(path: str) -> str:
    """The cluster that a file's directory names: ``talos/infra/…``, ``clusters/infra/talos/…``; else empty."""
    parts = posixpath.dirname(path).split("/")
    home = next((index for index, part in enumerate(parts) if part.lower() in _HOMES), None)
    if home is None:
        return ""
    below = parts[home + 1 :]
    if len(below) > 1 and below[0].lower() in {"clusters", "cluster"}:
        below = below[1:]
    if below and below[0].lower() not in _STRUCTURE and not is_address(below[0]):
        return below[0]
    if home > 1 and parts[home - 2].lower() in _PARENTS and parts[home - 1].lower() not in _STRUCTURE:
        return parts[home - 1]
    return ""


def is_home(path: str) -> bool:
    """Whether a file stands where Talos files are."""
    parts = [part.lower() for part in posixpath.dirname(path).split("/")]
    return any(part in _HOMES for part in parts) or "talos" in posixpath.basename(path).lower()


def role_of_path(path: str) -> MachineRole | None:
    """The role that a file's name or one of its two directories names."""
    parts = posixpath.dirname(path).split("/")[-2:]
    for part in (config_files.stem(path), *reversed(parts)):
        words = set(re.split(r"[-_.]|(?<=[a-z])(?=[0-9])", part.lower()))
        if words & _CONTROL_PLANE:
            return MachineRole.CONTROL_PLANE
        if words & _WORKER:
            return MachineRole.WORKER
    return None


def machine_of_path(path: str) -> str:
    """The machine that a file is for by its name or its directory; empty if they do not tell."""
    stem = config_files.stem(path)
    if is_address(stem):
        return stem
    parts = [part.lower() for part in posixpath.dirname(path).split("/")]
    above = posixpath.dirname(path).split("/")
    while (
        parts and parts[-1] in {*_CONTROL_PLANE, *_WORKER, "control-plane"} and len(parts) > 1 and parts[-2] in _NODES
    ):
        parts.pop()
        above.pop()
    if parts and parts[-1] in _NODES:
        return stem
    return above[-1] if len(parts) > 1 and parts[-2] in _NODES else ""


def is_below(path: str, directory: str) -> bool:
    """Whether a file stands in a directory or deeper."""
    return not directory or path.startswith(f"{directory}/")


# Talos files that no tool's own file names: each with what it holds, and what its place and name tell.


_LIKELY = re.compile(
    rb"""(?mx) \n (?: ["']?(?:machine|cluster|customization|certs|trustdinfo)["']?[ ]*:
    | kind:[ ]*["']?(?:Cluster|ControlPlane|Workers|Machine)\b | apiVersion:[ ]*["']?v1alpha1["']?\s*$
    | [ ]*-[ ]*["']?(?:op|path|value)["']?[ ]*: )"""
)
"""Cheap, and true for every file that can have to do with Talos.

A line end comes first, since it is what a search finds fast: every file goes through this.
"""
_TEMPLATES = tuple(
    f"{suffix}{ending}" for suffix in work_tree.YAML for ending in (*config_files.JINJA, *config_files.GO)
)


@dataclasses.dataclass(frozen=True, slots=True)
class LooseFile:
    """A file, and what it seems to be."""

    file: TalosFile
    kinds: tuple[str, ...]
    """Of its documents."""
    configs: tuple[ConfigDocument, ...]
    facts: MachineFacts
    name: str
    """What it calls its cluster; empty if it does not."""
    named: Place | None
    machine: str
    """The machine that it is for; empty if it is for several."""
    role: MachineRole | None

    @property
    def path(self) -> str:
        """Where it is."""
        return self.file.path

    @property
    def directory_cluster(self) -> str:
        """The cluster that its directory names."""
        return cluster_of_path(self.path)

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole machine config, not a patch."""
        return document_kinds.CONFIG in self.kinds

    @property
    def is_patch(self) -> bool:
        """Whether it has a part of a machine config."""
        return bool(self.configs)


def likely(tree: WorkTree) -> Iterator[str]:
    """Files that may have to do with Talos."""
    for path in tree.files:
        if not path.endswith((*work_tree.YAML, *_TEMPLATES)) or _is_in_chart(tree, path):
            continue
        data = tree.bytes(path)
        if data is not None and _LIKELY.search(b"\n" + data):
            yield path


def _is_in_chart(tree: WorkTree, path: str) -> bool:
    """Whether a file is a template of a Helm chart, which is no YAML before it is rendered."""
    chart, found, _ = f"/{path}".rpartition("/templates/")
    return bool(found) and tree.is_file(f"{chart}/Chart.yaml".lstrip("/"))


def read_loose(tree: WorkTree, path: str) -> LooseFile | None:
    """A file; None if it has nothing to do with Talos."""
    file = config_files.read_talos_file(tree, path)
    is_near = is_home(path)
    found = [(each, document_kinds.of(each.value, is_near=is_near)) for each in file.documents]
    talos = [(document, kind) for document, kind in found if kind]
    if not talos:
        return None
    configs = [
        each
        for document, kind in talos
        if kind not in (document_kinds.SCHEMATIC, document_kinds.SECRETS)
        for each in config_files.configs_of_document(document, file)
    ]
    about = config_facts.machine_facts_of(configs)
    named = next((each for each in map(config_facts.cluster_name, configs) if each), None)
    return LooseFile(
        file,
        tuple(kind for _, kind in talos),
        tuple(configs),
        about,
        named[0] if named else "",
        named[1] if named else None,
        about.hostname or machine_of_path(path),
        about.role or role_of_path(path),
    )


def encrypted_diagnostics(path: str, file: TalosFile) -> Iterator[Diagnostic]:
    """What to say about a file that sops encrypted."""
    if any(
        document_kinds.is_encrypted(each.value) and document_kinds.of(each.value) != document_kinds.SECRETS
        for each in file.documents
    ):
        message = "sops encrypted parts of this file: what they say is not known"
        yield Diagnostic.unknown("talos-config-encrypted", message, at=Place(path))


def client_diagnostics(tree: WorkTree) -> Iterator[Diagnostic]:
    """Warnings for keys of clients that are not encrypted."""
    for path in tree.files:
        name = path.rpartition("/")[2]
        if name in {"talosconfig", "talosconfig.yaml", "talosconfig.yml"} or name.endswith(".talosconfig"):
            for document in tree.documents(path):
                yield from document_kinds.exposed_client_keys(document)


def template_tool_diagnostics(tree: WorkTree) -> Iterator[Diagnostic]:
    """Files of talhelper and topf that are made from templates."""
    for path in tree.files:
        name = path.rpartition("/")[2]
        if name.startswith(("talconfig.", "topf.")) and name.endswith((*config_files.JINJA, *config_files.GO)):
            message = "a template, and what is made from it is read where it is written: this one is not"
            yield Diagnostic.unknown("talos-tool-file-from-template", message, at=Place(path))


def chart_diagnostics(tree: WorkTree) -> Iterator[Diagnostic]:
    """Charts whose templates are machine configs, as talm has them."""
    for path in tree.files:
        chart, name = posixpath.split(path)
        if name != "Chart.yaml":
            continue
        for template in tree.below(posixpath.normpath(f"{chart}/templates"), *work_tree.YAML):
            data = tree.bytes(template)
            if data is not None and re.search(rb"(?m)^machine:\s*$", data):
                message = "a chart whose templates are machine configs, as talm has them: they are not rendered"
                yield Diagnostic.unknown("talm-chart-not-rendered", message, at=Place(path))
                break
