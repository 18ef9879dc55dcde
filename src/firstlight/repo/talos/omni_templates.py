"""Omni cluster templates, read tolerantly: what omnictl would refuse is a diagnostic, and the rest counts.

The strict reader of ``repo.omni`` is the judge: everything it refuses is an error, all at once. The facts are read from
the plain documents, so that a mistake in one place hides nothing in another.
"""

import dataclasses
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.cluster import OMNI_TEMPLATE, Machine, MachineRole
from firstlight.model.component import SourceForm
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource, Embedded, Source, Unresolved
from firstlight.repo import work_tree
from firstlight.repo.manifest import Manifest
from firstlight.repo.omni import omni_parser
from firstlight.repo.omni.go_yaml import OmniTemplateError
from firstlight.repo.talos import config_facts, config_files, config_manifests, document_kinds
from firstlight.repo.talos.cluster_declaration import ConfigPart, ConfigRank, TalosDeclaration, TalosStyle
from firstlight.repo.talos.config_facts import StatedFact
from firstlight.repo.talos.config_files import ConfigDocument, TalosFile, mapping, sequence, text_of
from firstlight.repo.talos.config_manifests import ListedManifest
from firstlight.repo.talos.embedded_yaml import Step
from firstlight.repo.work_tree import WorkTree

_MISSING = "talos-file-missing"

_ROLES = {"ControlPlane": MachineRole.CONTROL_PLANE, "Workers": MachineRole.WORKER}


def is_fragment(documents: Sequence[YamlDocument]) -> bool:
    """Whether documents belong to a template whose cluster stands elsewhere."""
    return not any(document_kinds.is_omni(each.value) and each.value["kind"] == "Cluster" for each in documents)


def read(tree: WorkTree, path: str) -> list[TalosDeclaration]:
    """The clusters of a template; one, if it is right."""
    file = TalosFile(path, tree.documents(path))
    return _Reader(tree, file).declarations()


class _Reader:
    """Reads one template."""

    def __init__(self, tree: WorkTree, file: TalosFile) -> None:
        self.tree, self.file = tree, file
        self.directory = posixpath.dirname(file.path)
        self.configs = [
            ConfigDocument(each.value, each, file) for each in file.documents if document_kinds.is_omni(each.value)
        ]
        self.kinds: dict[str, tuple[str, ...]] = {file.path: (OMNI_TEMPLATE,)}
        self.diagnostics: list[Diagnostic] = []

    def declarations(self) -> list[TalosDeclaration]:
        """One for each document of kind Cluster; the rest of the file belongs to all of them."""
        clusters = [each for each in self.configs if each.get("kind") == "Cluster"]
        self.judge()
        parts = [part for each in self.configs for part in self.parts(each)]
        machines = tuple(self.machines(parts))
        found: list[TalosDeclaration] = []
        for cluster in clusters:
            found.append(
                TalosDeclaration(
                    cluster=cluster.text("name"),
                    place=cluster.place("name"),
                    style=TalosStyle.OMNI,
                    machines=machines,
                    facts=tuple(self.facts(cluster)),
                    parts=tuple(parts),
                    listed=tuple(self.manifests(cluster)),
                    kinds=self.kinds,
                    diagnostics=tuple(self.diagnostics) if not found else (),
                )
            )
        return found

    def judge(self) -> None:
        """What omnictl would refuse."""
        text = self.tree.text(self.file.path)
        if text is None:
            return
        said = {(each.place.path, each.place.line) for each in self.tree.diagnostics}
        for problem in omni_parser.problems(text, self.file.path, files=self.named):
            if (problem.place.path, problem.place.line) in said:  # that it is not YAML is known already
                continue
            if problem.code == _MISSING:  # files with credentials are kept out of Git, and beside it on somebody's disk
                problem = dataclasses.replace(problem, severity=Severity.WARNING)
            self.diagnostics.append(problem)

    def named(self, name: str, line: int) -> tuple[str, str]:
        """A file for the strict reader."""
        path = self.find(name)
        text = None if path is None else self.tree.text(path)
        if path is None or text is None:
            hint = "omnictl looks for it where it runs: beside the template, or at the top of the repo."
            message = Place(self.file.path).describe_missing(name)
            raise OmniTemplateError(_MISSING, message, path=self.file.path, line=line, hint=hint)
        return text, path

    def find(self, name: str) -> str | None:
        """A file beside the template, or from the root, if omnictl is run there."""
        for base in (self.directory, ""):
            path = work_tree.join(base, name)
            if path is not None and self.tree.is_file(path):
                return path
        return None

    def facts(self, cluster: ConfigDocument) -> Iterator[StatedFact]:
        """What the cluster says in fields of its own."""
        for field, key in (("kubernetes", "kubernetes"), ("talos", "talos")):
            if version := cluster.text(key, "version"):
                yield StatedFact(field, version, cluster.place(key, "version"))

    def parts(self, document: ConfigDocument) -> Iterator[ConfigPart]:
        """The patches of a document."""
        kind = str(document.get("kind"))
        rank = {"Cluster": ConfigRank.ALL, "Machine": ConfigRank.MACHINE}.get(kind, ConfigRank.SET)
        machine = document.text("name") if kind == "Machine" else ""
        role = self.role_of(machine) if machine else _ROLES.get(kind)
        for index, entry in document.items("patches"):
            for each in self.patch(document, mapping(entry), ("patches", index)):
                yield ConfigPart(each, rank, role, machine)

    def patch(
        self, document: ConfigDocument, entry: Mapping[str, Any], steps: tuple[Step, ...]
    ) -> Iterator[ConfigDocument]:
        """The documents of a patch: a file, a mapping, a list of them, or a text."""
        inline = entry.get("inline")
        if isinstance(inline, Mapping):
            yield ConfigDocument(inline, document.document, self.file, (*steps, "inline"))
        elif isinstance(inline, list):
            for index, each in enumerate(inline):
                yield ConfigDocument(each, document.document, self.file, (*steps, "inline", index))
        elif isinstance(inline, str):
            for inner in document.inside(inline, *steps, "inline").documents:
                yield from config_files.configs_of_document(inner, self.file)
        path = self.find(text_of(entry.get("file"))) if text_of(entry.get("file")) else None
        if path is not None:
            file = TalosFile(path, self.tree.documents(path))
            self.kinds[path] = document_kinds.listed(file.documents)
            for outer in file.documents:
                yield from config_files.configs_of_document(outer, file)

    def role_of(self, machine: str) -> MachineRole | None:
        """The role of the set that a machine is in."""
        for each in self.configs:
            ids = [_id(entry) for entry in sequence(each.get("machines"))]
            if machine in ids:
                return _ROLES.get(str(each.get("kind")))
        return None

    def machines(self, parts: list[ConfigPart]) -> Iterator[Machine]:
        """The machines of the sets; those that Omni chooses by their class are not known."""
        special = {each.text("name"): each for each in self.configs if each.get("kind") == "Machine"}
        cluster = next((each for each in self.configs if each.get("kind") == "Cluster"), None)
        for document in self.configs:
            role = _ROLES.get(str(document.get("kind")))
            if role is None:
                continue
            if document.get("machineClass") is not None:
                self.note_class(document)
            for index, entry in document.items("machines"):
                own = special.get(_id(entry))
                sources = [each for each in (own, document, cluster) if each is not None]
                facts = config_facts.machine_facts_of(each.config for each in parts if each.reaches(role, _id(entry)))
                yield Machine(
                    name=facts.hostname or _id(entry),
                    role=role,
                    place=own.place("name") if own else document.place("machines", index),
                    address=facts.address,
                    id=_id(entry),
                    install_disk=(own.text("install", "disk") if own else "") or facts.install_disk,
                    schematic=facts.schematic,
                    extensions=next(
                        (each.texts("systemExtensions") for each in sources if each.get("systemExtensions")), ()
                    ),
                )

    def note_class(self, document: ConfigDocument) -> None:
        """Say that a set's machines are not known."""
        name, size = document.text("machineClass", "name"), document.text("machineClass", "size")
        what = "control-plane machines" if document.get("kind") == "ControlPlane" else "workers"
        count = f"{size} " if size.isdecimal() else ""
        message = f"Omni chooses {count}{what} by the machine class {name or 'without a name'}: which, only Omni knows"
        self.diagnostics.append(Diagnostic.unknown("omni-machine-class", message, at=document.place("machineClass")))

    def manifests(self, cluster: ConfigDocument) -> Iterator[ListedManifest]:
        """``kubernetes.manifests``, which Omni's server applies."""
        for index, entry in cluster.items("kubernetes", "manifests"):
            steps: tuple[Step, ...] = ("kubernetes", "manifests", index)
            yield self.manifest(cluster, mapping(entry), steps)

    def manifest(self, cluster: ConfigDocument, entry: Mapping[str, Any], steps: tuple[Step, ...]) -> ListedManifest:
        """One of them: a file, or objects in the template."""
        name = text_of(entry.get("file"))
        path = self.find(name) if name else None
        source: Source = Unresolved(text=name, reason="there is no such file")
        documents: list[YamlDocument] = []
        if path is not None:
            source = DirectorySource(path=path, kustomize=False, recurse=False)
            documents = list(self.tree.documents(path))
        elif "inline" in entry:
            document, way = cluster.way(*steps, "inline")
            source = Embedded(place=Place(document.path, document.line), steps=way)
        objects = [each for document in documents for each in config_manifests.objects_of_document(document)]
        values = [each.value for each in objects] or [mapping(each) for each in _inline_objects(cluster, steps)]
        return ListedManifest(
            form=SourceForm.EXTRA_MANIFEST,
            name=text_of(entry.get("name")) or name or f"line-{cluster.place(*steps).line}",
            place=cluster.place(*steps),
            source=source,
            objects=tuple(Manifest(each, cluster.place(*steps)).id for each in values),
            version=config_manifests.version_of(values, text_of(entry.get("name"))),
            mode=text_of(entry.get("mode")),
        )


def _id(entry: Any) -> str:
    """A machine's id; some write it as a mapping, which omnictl refuses."""
    return text_of(entry) or text_of(mapping(entry).get("id"))


def _inline_objects(cluster: ConfigDocument, steps: tuple[Step, ...]) -> list[Any]:
    value = cluster.get(*steps, "inline")
    if isinstance(value, str):
        return [each.value for each in cluster.inside(value, *steps, "inline").documents]
    return list(value) if isinstance(value, list) else [value] if isinstance(value, Mapping) else []
