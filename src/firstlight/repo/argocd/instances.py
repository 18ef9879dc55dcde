"""Several installations of Argo CD in one repo: which root belongs to which, told by where the roots are written.

Applications are objects of the cluster where Argo CD runs, so two of one name cannot live in one. Where a repo has such
two, and different roots bring them, the directories in which those roots differ are taken for the names of clusters.
"""

import posixpath
from collections.abc import Mapping, Sequence

from firstlight.model.remark import Grade, Remark
from firstlight.repo.argocd.following import Node

_HOMES = {"cluster", "clusters", "environment", "environments", "env", "envs", "overlays", "sites"}
"""Directories whose directories are clusters, as people name them."""


def read(nodes: Sequence[Node]) -> tuple[Mapping[Node, str], list[Remark]]:
    """The name of the installation of each Application, empty where there is one without a name."""
    first: dict[tuple[str, bool], Node] = {}
    rivals: list[tuple[Node, Node]] = []
    for node in nodes:
        # An inline manifest is often a copy of what is in Git, for the same cluster.
        other = first.setdefault((node.id, node.root.is_inline), node)
        if other is not node:
            rivals.append((other, node))
    parents = {node.parent for node in nodes}
    roots = {node.root for pair in rivals for node in pair}
    names = _names({label(root) for root in roots})
    if not all(root in parents or root.group or _is_at_home(label(root), names) for root in roots):
        names = {}
    found = {node: _name(label(node.root), names) for node in nodes}
    remarks = [
        Remark(
            two.definition.place, Grade.WARNING, f"{two.definition.name} is there twice: also in {one.definition.place}"
        )
        for one, two in rivals
        if found[one] == found[two]
    ]
    return found, remarks


def _is_at_home(label: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> bool:
    return any(label[: len(prefix)] == prefix and set(prefix[:-1]) & _HOMES for prefix in names)


def label(root: Node) -> tuple[str, ...]:
    """The directories that tell where a root is, and its file."""
    path = root.group or posixpath.splitext(root.definition.place.path)[0]
    return tuple(path.split("/"))


def _names(labels: set[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """The directories in which the roots differ, with the names that they give."""
    if len(labels) < 2:
        return {}
    length = 0
    shortest = min(len(each) for each in labels)
    while length < shortest and len({each[length] for each in labels}) == 1:
        length += 1
    if length == shortest:
        return {}
    return {each[: length + 1]: each[length] for each in labels}


def _name(label: tuple[str, ...], names: Mapping[tuple[str, ...], str]) -> str:
    return next((name for prefix, name in names.items() if label[: len(prefix)] == prefix), "")
