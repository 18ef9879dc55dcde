"""Talos files that no tool's own file names: each with what it holds, and what its place and name tell."""

import dataclasses
import posixpath
import re
from collections.abc import Iterator

from firstlight.model.cluster import MachineRole
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo import work_tree
from firstlight.repo.talos import config, directories, facts, files, kinds, machine_facts, secrets
from firstlight.repo.talos.config import Config
from firstlight.repo.talos.files import TalosFile
from firstlight.repo.talos.machine_facts import MachineFacts
from firstlight.repo.work_tree import WorkTree

_LIKELY = re.compile(
    rb"""(?mx) \n (?: ["']?(?:machine|cluster|customization|certs|trustdinfo)["']?[ ]*:
    | kind:[ ]*["']?(?:Cluster|ControlPlane|Workers|Machine)\b | apiVersion:[ ]*["']?v1alpha1["']?\s*$
    | [ ]*-[ ]*["']?(?:op|path|value)["']?[ ]*: )"""
)
"""Cheap, and true for every file that can have to do with Talos.

A line end comes first, since it is what a search finds fast: every file goes through this.
"""
_TEMPLATES = tuple(f"{suffix}{ending}" for suffix in work_tree.YAML for ending in (*files.JINJA, *files.GO))


@dataclasses.dataclass(frozen=True, slots=True)
class Loose:
    """A file, and what it seems to be."""

    file: TalosFile
    kinds: tuple[str, ...]
    """Of its documents."""
    configs: tuple[Config, ...]
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
        return directories.cluster(self.path)

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole machine config, not a patch."""
        return kinds.CONFIG in self.kinds

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


def read(tree: WorkTree, path: str) -> Loose | None:
    """A file; None if it has nothing to do with Talos."""
    file = files.read(tree, path)
    is_near = directories.is_home(path)
    found = [(each, kinds.of(each.value, is_near=is_near)) for each in file.documents]
    talos = [(document, kind) for document, kind in found if kind]
    if not talos:
        return None
    configs = [
        each
        for document, kind in talos
        if kind not in (kinds.SCHEMATIC, kinds.SECRETS)
        for each in config.of_document(document, file)
    ]
    about = machine_facts.of(configs)
    named = next((each for each in map(facts.cluster_name, configs) if each), None)
    return Loose(
        file,
        tuple(kind for _, kind in talos),
        tuple(configs),
        about,
        named[0] if named else "",
        named[1] if named else None,
        about.hostname or directories.machine(path),
        about.role or directories.role(path),
    )


def encrypted(path: str, file: TalosFile) -> Iterator[Remark]:
    """What to say about a file that sops encrypted."""
    if any(kinds.is_encrypted(each.value) and kinds.of(each.value) != kinds.SECRETS for each in file.documents):
        message = "sops encrypted parts of this file: what they say is not known"
        yield Remark(Place(path), Grade.UNKNOWN, message)


def clients(tree: WorkTree) -> Iterator[Remark]:
    """Warnings for keys of clients that are not encrypted."""
    for path in tree.files:
        name = path.rpartition("/")[2]
        if name in {"talosconfig", "talosconfig.yaml", "talosconfig.yml"} or name.endswith(".talosconfig"):
            for document in tree.documents(path):
                yield from secrets.exposed_client(document)


def template_tools(tree: WorkTree) -> Iterator[Remark]:
    """Files of talhelper and topf that are made from templates."""
    for path in tree.files:
        name = path.rpartition("/")[2]
        if name.startswith(("talconfig.", "topf.")) and name.endswith((*files.JINJA, *files.GO)):
            message = "a template, and what is made from it is read where it is written: this one is not"
            yield Remark(Place(path), Grade.UNKNOWN, message)


def charts(tree: WorkTree) -> Iterator[Remark]:
    """Charts whose templates are machine configs, as talm has them."""
    for path in tree.files:
        chart, name = posixpath.split(path)
        if name != "Chart.yaml":
            continue
        for template in tree.below(posixpath.normpath(f"{chart}/templates"), *work_tree.YAML):
            data = tree.bytes(template)
            if data is not None and re.search(rb"(?m)^machine:\s*$", data):
                message = "a chart whose templates are machine configs, as talm has them: they are not rendered"
                yield Remark(Place(path), Grade.UNKNOWN, message)
                break
