"""The files that firstlight.yaml names for machines: they shape these, whatever they are called."""

import collections
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import within
from firstlight.repo.declaration import form
from firstlight.repo.work_tree import WorkTree

Scope = tuple[str, str]
"""A cluster, and which of its machines: all, those of a role, or one."""


def machine_files(trees: Sequence[WorkTree]) -> Mapping[str, frozenset[Scope]]:
    """Paths with the machines that each is for; also where the rest of a declaration is wrong."""
    found: dict[str, set[Scope]] = collections.defaultdict(set)
    for tree in trees:
        for document in tree.documents(form.FILE) if tree.is_file(form.FILE) else ():
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
