"""The files that firstlight.yaml names for machines: they shape these, whatever they are called."""

import collections
import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import within
from firstlight.model.component import Origin, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, SeveralSources, Source, Values
from firstlight.repo.declaration import declaration_form
from firstlight.repo.talos import document_kinds, loose_files
from firstlight.repo.work_tree import WorkTree

MachineScope = tuple[str, str]
"""A cluster, and which of its machines: all, those of a role, or one."""


def machine_files(trees: Sequence[WorkTree]) -> Mapping[str, frozenset[MachineScope]]:
    """Paths with the machines that each is for; also where the rest of a declaration is wrong."""
    found: dict[str, set[MachineScope]] = collections.defaultdict(set)
    for tree in trees:
        for document in tree.documents(declaration_form.FILE) if tree.is_file(declaration_form.FILE) else ():
            for name, cluster in within.mapping(document.value, "clusters").items():
                for path, machines in _named(cluster):
                    if isinstance(path, str):
                        found[posixpath.normpath(path)].add((str(name), machines))
    return {path: frozenset(scopes) for path, scopes in found.items()}


def _named(cluster: Any) -> Iterator[tuple[Any, str]]:
    yield from ((each, "all") for each in within.sequence(cluster, "patches"))
    for role in ("controlPlane", "worker"):
        yield from ((each, role) for each in within.sequence(cluster, role, "patches"))
    machines = within.at(cluster, "machines")
    for number, machine in enumerate(machines if isinstance(machines, list) else [machines]):
        if isinstance(machine, str):  # a talconfig.yaml, say
            yield machine, "all"
        name = within.text(machine, "name") or str(number)
        yield from ((each, f"machine {name}") for each in within.sequence(machine, "patches"))


# What platforms say of the files of their repo: which shape machines, hold values of charts, or are secret.


_COMMANDS = {
    SourceForm.HELM_COMMAND,
    SourceForm.KUBECTL_COMMAND,
    SourceForm.KUSTOMIZE_COMMAND,
    SourceForm.FLUX_COMMAND,
    SourceForm.HOOK,
}
_IN_REPO = ("sops:", "file:")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlatformFiles:
    """Paths by what they are."""

    machines: frozenset[str] = frozenset()
    declared: Mapping[str, frozenset[MachineScope]] = dataclasses.field(default_factory=dict)
    """Those of them that firstlight.yaml names, with the machines that each is for."""
    scopes: Mapping[str, frozenset[MachineScope]] = dataclasses.field(default_factory=dict)
    """Which machines the others are for."""
    machine_secrets: frozenset[str] = frozenset()
    """What ``talosctl gen secrets`` made, and the keys of administrators."""
    values: frozenset[str] = frozenset()
    holders: frozenset[tuple[str, str]] = frozenset()
    """Namespaces and names of ConfigMaps that hold values."""
    helmfiles: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()
    charts: frozenset[str] = frozenset()
    """Directories."""
    secrets: frozenset[str] = frozenset()
    """Files that references of foundation secrets lead to."""
    applied: frozenset[str] = frozenset()
    """Directories and files that are applied, and what clusters start from."""

    def is_applied(self, path: str) -> bool:
        """Whether a file is in something that is applied."""
        return "." in self.applied or any(path == each or path.startswith(f"{each}/") for each in self.applied)

    def is_for_same(self, one: str, other: str) -> bool:
        """Whether two machine configs are for the same machines; who names one by hand has to name the other, too."""
        known = self.declared if {one, other} & self.declared.keys() else self.scopes
        return known.get(one) == known.get(other)


def files_of_platforms(
    platforms: Sequence[Platform], *, named: Mapping[str, frozenset[MachineScope]] | None = None
) -> PlatformFiles:
    """What platforms say together: that of the base of a diff knows files that the other has no more.

    Args:
        platforms: Before and after.
        named: The files that firstlight.yaml names for machines, with the machines that each is for.
    """
    named = named or {}
    machines: set[str] = set()
    keys: set[str] = set()
    secrets: set[str] = set()
    for platform in platforms:
        for cluster in platform.clusters:
            machines.update(each.path for each in cluster.files)
            machines.update(cluster.documents)
            machines.update(each.place.path for each in cluster.machines)
            machines.update(patch.path for each in cluster.machines for patch in each.patches)
            keys.update(path for path, held in cluster.documents.items() if document_kinds.SECRETS in held)
            keys.update(_files((cluster.talos_secrets, cluster.talosconfig)))
        secrets.update(path for each in platform.secrets for path in _files(each.data.values()))
    declared = {each.declared.path for each in platforms if each.declared}
    origins = [*_origins(platforms)]
    charts = [chart for origin in origins for chart in _charts(origin.source)]
    given = [each for chart in charts for each in chart.values]
    helmfiles = frozenset(each.place.path for each in origins if each.form is SourceForm.HELMFILE)
    held = [each.reference.split("/") for each in given if each.reference.startswith("ConfigMap/")]
    return PlatformFiles(
        machines=frozenset({*machines - declared, *named}),
        declared=named,
        scopes=_scopes(platforms),
        machine_secrets=frozenset(keys),
        values=frozenset(_values(given, origins)) - helmfiles,
        holders=frozenset({*((each[1], each[2]) for each in held if len(each) == 3), *_knowledge_named(origins)}),
        helmfiles=helmfiles,
        scripts=frozenset(each.place.path for each in origins if each.form in _COMMANDS) - declared,
        charts=frozenset(posixpath.normpath(each.name) for each in charts if not each.repository and each.name),
        secrets=frozenset(secrets),
        applied=frozenset(_applied(platforms, origins)),
    )


def _scopes(platforms: Sequence[Platform]) -> Mapping[str, frozenset[MachineScope]]:
    """Which machines the files that nobody declares are for, by who has them and by their names."""
    found: dict[str, set[MachineScope]] = collections.defaultdict(set)
    for cluster in (each for platform in platforms for each in platform.clusters):
        for path in {*(each.path for each in cluster.files), *cluster.documents}:
            found[path].add((cluster.name, str(loose_files.role_of_path(path) or "all")))
        for machine in cluster.machines:
            for patch in machine.patches:
                found[patch.path].add((cluster.name, f"machine {machine.name}"))
    return {path: frozenset(scopes) for path, scopes in found.items()}


def _values(given: Sequence[Values], origins: Sequence[Origin]) -> Iterator[str]:
    for each in given:
        template = each.place.path if each.place.path.endswith(".gotmpl") else ""
        yield from (path for path in (each.file, template) if path)
    for origin in origins:
        yield from origin.values_files


def _knowledge_named(origins: Sequence[Origin]) -> Iterator[tuple[str, str]]:
    """ConfigMaps that releases name, also where it is not known what the chart is."""
    for origin in origins:
        for each in within.sequence(origin.definition, "spec", "valuesFrom"):
            if within.text(each, "kind") == "ConfigMap":
                yield origin.namespace, within.text(each, "name")


def _applied(platforms: Sequence[Platform], origins: Sequence[Origin]) -> Iterator[str]:
    for platform in platforms:
        yield from (posixpath.normpath(each.path) for each in platform.clusters if each.path)
    for origin in origins:
        sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
        yield from (posixpath.normpath(each.path) for each in sources if isinstance(each, DirectorySource))


def _origins(platforms: Sequence[Platform]) -> Iterator[Origin]:
    for platform in platforms:
        yield from (origin for each in platform.components for origin in each.origins)
        yield from platform.unreached


def _charts(source: Source | SeveralSources) -> Iterator[ChartSource]:
    if isinstance(source, ChartSource):
        yield source
    elif isinstance(source, SeveralSources):
        for each in source.each:
            yield from _charts(each)


def _files(references: Iterable[str]) -> Iterator[str]:
    """The files of the repo that references lead to."""
    for each in references:
        if each.startswith(_IN_REPO):
            yield posixpath.normpath(each.partition(":")[2].partition("#")[0])
